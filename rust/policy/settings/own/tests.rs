// SPDX-License-Identifier: GPL-2.0-only
//! What single GPUs have of their own, and what holds for all.

use super::*;
use crate::settings::parameter::CHOICES;
use crate::settings::parameter::NUMBERS;
use crate::settings::parameter::TIMESLICE_NAME;

type Table = PerGpu<Config<'static>, 3>;

fn gpu(number: u8) -> Address {
    Address::new(&[b'0'.saturating_add(number)]).unwrap()
}

fn text(config: &Config<'_>, name: &str) -> String {
    let mut text = String::new();
    config.write_text(name, &mut text).unwrap().unwrap();
    text
}

/// A value other than the default, for each parameter that the policy knows.
fn others() -> Vec<(&'static str, String)> {
    let mut all: Vec<_> = NUMBERS
        .iter()
        .map(|spec| (spec.name, spec.max.to_string()))
        .collect();
    all.extend([
        ("mode", "enforce".to_owned()),
        ("user_priority", "cap:3".to_owned()),
        (
            TIMESLICE_NAME,
            "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16".to_owned(),
        ),
    ]);
    all
}

#[test]
fn every_parameter_is_named_once() {
    let mut names: Vec<&str> = CHOICES.iter().map(|choice| choice.name).collect();
    names.extend(NUMBERS.iter().map(|spec| spec.name));
    names.push(TIMESLICE_NAME);
    names.sort_unstable();
    let mut all = PARAMETERS.to_vec();
    all.sort_unstable();
    assert_eq!(all, names);
    for choice in CHOICES {
        assert!(!choice.words.contains(&AS_MODULE), "{}", choice.name);
    }
}

#[test]
fn each_value_of_its_own_is_the_gpu_s_alone_until_it_is_given_up() {
    for (name, value) in others() {
        let mut table = Table::new(Config::new());
        let default = text(table.all(), name);
        assert_ne!(default, value);
        table.set_own(&gpu(1), name, &value).unwrap();
        assert_eq!(text(table.of(&gpu(1)), name), value);
        assert_eq!(text(table.of(&gpu(2)), name), default);
        assert_eq!(text(table.all(), name), default);
        assert_eq!(table.own(&gpu(1)).collect::<Vec<_>>(), [name]);
        assert_eq!(table.own(&gpu(2)).count(), 0);
        let mut rest = *table.of(&gpu(1));
        rest.set_text(name, &default).unwrap();
        assert_eq!(rest, Config::new(), "nothing but {name} differs");

        // Its own holds whatever is set for all, and what is set then holds afterwards.
        table.set(name, &value).unwrap();
        table.set(name, &default).unwrap();
        assert_eq!(text(table.of(&gpu(1)), name), value);
        table.set(name, &value).unwrap();
        table.set_own(&gpu(1), name, &default).unwrap();
        assert_eq!(text(table.of(&gpu(1)), name), default);
        assert_eq!(text(table.of(&gpu(2)), name), value);
        table.set_own(&gpu(1), name, " module\n").unwrap();
        assert_eq!(text(table.of(&gpu(1)), name), value);
        assert_eq!(table.own(&gpu(1)).count(), 0);
    }
}

#[test]
fn what_is_set_for_all_reaches_a_gpu_with_other_values_of_its_own() {
    for (name, value) in others() {
        let mut table = Table::new(Config::new());
        let other = if name == "grace_us" {
            "mode"
        } else {
            "grace_us"
        };
        let own = if name == "grace_us" { "off" } else { "7" };
        table.set_own(&gpu(1), other, own).unwrap();
        table.set(name, &value).unwrap();
        assert_eq!(text(table.of(&gpu(1)), name), value);
        assert_eq!(text(table.of(&gpu(1)), other), own);
        table.set_own(&gpu(1), name, &value).unwrap();
        table.set_own(&gpu(1), other, AS_MODULE).unwrap();
        assert_eq!(table.own(&gpu(1)).collect::<Vec<_>>(), [name]);
    }
}

#[test]
fn what_is_refused_leaves_the_old_value() {
    let mut table = Table::new(Config::new());
    table.set_own(&gpu(1), "grace_us", "7").unwrap();
    let range = SetError::OutOfRange {
        min: 0,
        max: 1_000_000,
    };
    for (name, text, error) in [
        ("grace_us", "", SetError::Invalid),
        ("grace_us", "x", SetError::Invalid),
        ("grace_us", "default", SetError::Invalid),
        ("grace_us", "1000001", range),
        ("mode", "on", SetError::Invalid),
        ("speed", "1", SetError::Unknown),
        ("speed", AS_MODULE, SetError::Unknown),
    ] {
        for number in [1, 2] {
            let refused = table.set_own(&gpu(number), name, text);
            assert_eq!(refused, Err(OwnError::Value(error)), "{name}={text}");
        }
        if text != AS_MODULE {
            assert_eq!(table.set(name, text), Err(error));
        }
    }
    assert_eq!(text(table.of(&gpu(1)), "grace_us"), "7");
    assert_eq!(table.own(&gpu(1)).collect::<Vec<_>>(), ["grace_us"]);
    assert_eq!(*table.of(&gpu(2)), Config::new());
    assert_eq!(*table.all(), Config::new());
    assert_eq!(table.own(&gpu(2)).count(), 0);
}

#[test]
fn so_many_gpus_have_room_and_those_that_give_up_make_some() {
    let mut table = Table::new(Config::new());
    let own = |table: &Table| -> Vec<String> {
        let shown = |number| text(table.of(&gpu(number)), "grace_us");
        (1..=5).map(shown).collect()
    };
    for number in 1..=3 {
        let value = number.to_string();
        table.set_own(&gpu(number), "grace_us", &value).unwrap();
    }
    let refused = table.set_own(&gpu(4), "grace_us", "4");
    assert_eq!(refused, Err(OwnError::NoRoom(3)));
    let said = OwnError::NoRoom(3).to_string();
    assert!(
        said.starts_with("3 GPUs have values of their own already"),
        "{said}"
    );
    assert_eq!(
        OwnError::Value(SetError::Invalid).to_string(),
        SetError::Invalid.to_string()
    );
    table.set_own(&gpu(4), "grace_us", AS_MODULE).unwrap();
    table.set_own(&gpu(3), "mode", "off").unwrap();
    assert_eq!(own(&table), ["1", "2", "3", "10", "10"]);

    // The first, the last and the only one make room, and disturb no other one.
    table.set_own(&gpu(1), "grace_us", AS_MODULE).unwrap();
    assert_eq!(own(&table), ["10", "2", "3", "10", "10"]);
    table.set_own(&gpu(4), "grace_us", "4").unwrap();
    table.set_own(&gpu(5), "grace_us", "5").unwrap_err();
    table.set_own(&gpu(4), "grace_us", AS_MODULE).unwrap();
    assert_eq!(own(&table), ["10", "2", "3", "10", "10"]);
    table.set_own(&gpu(2), "grace_us", AS_MODULE).unwrap();
    table.set_own(&gpu(3), "grace_us", AS_MODULE).unwrap();
    assert_eq!(table.own(&gpu(3)).collect::<Vec<_>>(), ["mode"]);
    table.set_own(&gpu(3), "mode", AS_MODULE).unwrap();
    assert_eq!(own(&table), ["10"; 5]);
    for number in 1..=3 {
        table.set_own(&gpu(number), "grace_us", "9").unwrap();
    }
    assert_eq!(own(&table), ["9", "9", "9", "10", "10"]);
}

#[test]
fn an_address_is_all_of_its_text_and_not_longer_than_there_is_room() {
    let of = |text: &str| Address::new(text.as_bytes());
    assert_ne!(of("0000:c1:00.0"), of("0000:c1:00.1"));
    assert_ne!(of("0000:c1:00.0"), of("0000:c1:00."));
    assert_eq!(of("0000:c1:00.0"), of("0000:c1:00.0"));
    assert!(of(&"0".repeat(LONGEST)).is_some());
    assert_ne!(of(&"0".repeat(LONGEST)), of(&"0".repeat(LONGEST - 1)));
    assert_eq!(of(&"0".repeat(LONGEST + 1)), None);
}
