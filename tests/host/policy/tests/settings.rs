// SPDX-License-Identifier: GPL-2.0-only
//! Parameters: their table, and values as operators write them.

use gpreempt_policy::{
    choice, Config, Nanos, Priority, SetError, AS_MODULE, CHOICES, NUMBERS, TIMESLICE_MAX,
    TIMESLICE_NAME,
};

fn text(config: &Config, name: &str) -> String {
    let mut text = String::new();
    config.write_text(name, &mut text).unwrap();
    text
}

#[test]
fn every_number_takes_its_range_and_nothing_else() {
    for spec in NUMBERS {
        let mut config = Config::new();
        assert_eq!(text(&config, spec.name), spec.default.to_string());
        assert!(spec.min <= spec.default && spec.default <= spec.max);
        let range = SetError::OutOfRange(spec.min, spec.max);
        for good in [spec.min, spec.max] {
            config.set_text(spec.name, &format!(" {good}\n")).unwrap();
            assert_eq!(*(spec.place)(&mut config.numbers), good);
            assert_eq!(text(&config, spec.name), good.to_string());
        }
        let before = config;
        for bad in [u64::from(spec.max) + 1, u64::from(u32::MAX) + 1, u64::MAX] {
            assert_eq!(config.set_text(spec.name, &bad.to_string()), Err(range));
        }
        for bad in ["", " ", "-1", "+1", "1.5", "0x10", "1 2", "ten", "\u{661}"] {
            assert_eq!(config.set_text(spec.name, bad), Err(SetError::NO_VALUE));
        }
        assert_eq!(config, before);
    }
}

#[test]
fn words_are_read_as_they_are_written() {
    let mut config = Config::new();
    for (name, words) in [
        ("mode", &["off", "observe", "enforce"][..]),
        (
            "user_priority",
            &["auto", "honour", "cap:0", "cap:15", "ignore"],
        ),
        ("sampler", &["auto", "memory", "mmio"]),
        ("backend", &["hws", "mqd"]),
        ("transaction", &["driver", "direct"]),
    ] {
        for word in words {
            config.set_text(name, word).unwrap();
            assert_eq!(text(&config, name), *word);
        }
        assert_eq!(config.set_text(name, "other"), Err(SetError::NO_VALUE));
    }
    let range = SetError::OutOfRange(0, 15);
    assert_eq!(config.set_text("user_priority", "cap:16"), Err(range));
    assert_eq!(
        config.set_text("user_priority", "cap:"),
        Err(SetError::NO_VALUE)
    );
    assert_eq!(config.set_text("other", "hws"), Err(SetError::Unknown));
    assert_eq!(config.set_text("", ""), Err(SetError::Unknown));
}

#[test]
fn timeslices_are_one_or_sixteen() {
    let mut config = Config::new();
    config.set_text(TIMESLICE_NAME, "500").unwrap();
    assert_eq!(config.timeslice(Priority::HIGHEST), Nanos(500_000));
    assert_eq!(text(&config, TIMESLICE_NAME), "500");
    let sixteen = "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15";
    config.set_text(TIMESLICE_NAME, sixteen).unwrap();
    assert_eq!(config.timeslice(Priority::NORMAL), Nanos(7_000));
    assert_eq!(text(&config, TIMESLICE_NAME), sixteen);
    for bad in [
        "",
        ",",
        "1,2",
        "1,",
        "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14",
        "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
    ] {
        assert_eq!(
            config.set_text(TIMESLICE_NAME, bad),
            Err(SetError::NO_VALUE),
            "{bad}"
        );
    }
    let range = SetError::OutOfRange(0, TIMESLICE_MAX);
    for bad in ["10000001", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,10000001"] {
        assert_eq!(config.set_text(TIMESLICE_NAME, bad), Err(range));
    }
    config.set_text(TIMESLICE_NAME, "10000000").unwrap();
}

#[test]
fn a_number_is_refused_below_and_above_its_range() {
    for spec in NUMBERS {
        let mut config = Config::new();
        let range = SetError::OutOfRange(spec.min, spec.max);
        let outside = [spec.min.checked_sub(1), spec.max.checked_add(1)];
        for value in outside.into_iter().flatten() {
            let set = config.set_text(spec.name, &value.to_string());
            assert_eq!(set, Err(range), "{}", spec.name);
        }
    }
}

#[test]
fn what_is_unknown_is_not_written() {
    let mut text = String::new();
    assert!(Config::new().write_text("other", &mut text).is_err());
    assert_eq!(text, "");
}

/// The first word is what a parameter is without a setting.
#[test]
fn a_default_comes_first() {
    for spec in CHOICES {
        assert_eq!(text(&Config::new(), spec.name), spec.words[0]);
    }
}

#[test]
fn no_mode_is_the_word_for_the_module_s() {
    for choice in CHOICES {
        assert!(!choice.words.contains(&AS_MODULE), "{}", choice.name);
    }
}

#[test]
fn every_number_has_its_unit_in_its_name() {
    for spec in NUMBERS {
        let end = spec.name.rsplit('_').next().unwrap();
        let named = ["us", "ms"].contains(&end).then_some(end);
        assert_eq!(spec.unit, named.unwrap_or_default(), "{}", spec.name);
    }
}

#[test]
fn a_word_that_is_gone_is_told_what_to_give_instead() {
    let set = |word| Config::new().set_text("backend", word);
    assert!(matches!(set("process"), Err(SetError::Gone(_))));
    assert_eq!(set("processes"), Err(SetError::NO_VALUE));
}

#[test]
fn each_word_has_its_entry() {
    for spec in CHOICES {
        assert_eq!(choice(spec.name).map(|found| found.name), Some(spec.name));
    }
    assert!(choice("none").is_none());
}
