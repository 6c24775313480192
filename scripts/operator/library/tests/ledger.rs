// SPDX-License-Identifier: GPL-2.0-only
//! The sums of workloads: none goes back, none is counted twice, and their number is
//! bounded.

use std::collections::BTreeMap;

use gpreempt_operator::host::ledger::{Amount, Ledger, Node, Queue, Sighting};
use gpreempt_operator::host::workload::{Kind, Workload};
use proptest::prelude::*;

fn workload(name: &str) -> Workload {
    Workload {
        kind: Kind::Unit,
        name: name.to_owned(),
    }
}

fn amount(run_ns: u64, stops: u64) -> Amount {
    Amount {
        run_ns,
        stopped_ns: 0,
        stops,
    }
}

fn sighting(name: &str, pid: i64, amount: Amount) -> Sighting {
    let node = ("g".to_owned(), 0);
    Sighting {
        queue: Queue {
            node,
            pid,
            queue: 1,
        },
        workload: workload(name),
        amount,
    }
}

fn sums(ledger: &Ledger) -> BTreeMap<Option<String>, u64> {
    let named = ledger.named();
    let named = named.map(|(own, _, amount)| (Some(own.name.clone()), amount.run_ns));
    let others = ledger.others().map(|(_, amount)| (None, amount.run_ns));
    named.chain(others).collect()
}

#[test]
fn what_a_queue_had_stays_when_it_is_gone_and_another_has_its_number() {
    let mut ledger = Ledger::default();
    let own = Some("a".to_owned());
    for (look, expected) in [
        (vec![sighting("a", 1, amount(10, 1))], 10),
        (vec![sighting("a", 1, amount(30, 1))], 30),
        (vec![], 30),
        (vec![sighting("a", 1, amount(5, 0))], 35),
        (vec![sighting("a", 1, amount(5, 0))], 35),
        // One number is smaller: it is another queue, and all of it is new.
        (vec![sighting("a", 1, amount(2, 9))], 37),
    ] {
        ledger.add(&look, 2);
        assert_eq!(sums(&ledger)[&own], expected, "{look:?}");
    }
}

#[test]
fn a_name_goes_to_one_that_is_twice_as_busy_or_when_its_owner_is_gone() {
    let mut ledger = Ledger::default();
    let shown = |ledger: &Ledger, name: &str| ledger.is_shown(&workload(name));
    ledger.add(&[sighting("a", 1, amount(1000, 0))], 1);
    ledger.add(
        &[
            sighting("a", 1, amount(2000, 0)),
            sighting("b", 2, amount(1990, 0)),
        ],
        1,
    );
    assert!(shown(&ledger, "a") && !shown(&ledger, "b"));
    assert_eq!(sums(&ledger)[&None], 1990);
    ledger.add(
        &[
            sighting("a", 1, amount(2000, 0)),
            sighting("b", 2, amount(9000, 0)),
        ],
        1,
    );
    assert!(shown(&ledger, "b") && !shown(&ledger, "a"));
    // What it had before it had a name stays with the others.
    assert_eq!(sums(&ledger)[&Some("b".into())], 7010);
    ledger.add(&[sighting("c", 3, amount(1, 0))], 1);
    assert!(shown(&ledger, "c") && !shown(&ledger, "b"));
    ledger.add(&[sighting("c", 3, amount(1, 0))], 0);
    assert!(!shown(&ledger, "c"));
}

#[test]
fn the_sums_survive_being_written_and_read() {
    let mut ledger = Ledger::default();
    ledger.add(
        &[
            sighting("a", 1, amount(10, 1)),
            sighting("b", 2, amount(3, 0)),
        ],
        1,
    );
    let text = serde_json::to_string(&ledger).unwrap();
    let mut again: Ledger = serde_json::from_str(&text).unwrap();
    again.add(&[sighting("a", 1, amount(11, 1))], 1);
    assert_eq!(
        sums(&again),
        BTreeMap::from([(Some("a".into()), 11), (None, 3)])
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_sum_goes_back_and_everything_is_counted_once(
        looks in prop::collection::vec(prop::collection::vec((0u8..24, 0u64..1000), 0..12), 1..60),
        most in 0usize..4,
    ) {
        let mut ledger = Ledger::default();
        let mut queues: BTreeMap<u8, u64> = BTreeMap::new();
        let mut highest: BTreeMap<Option<String>, u64> = BTreeMap::new();
        let mut had = 0;
        for look in looks {
            let before = std::mem::take(&mut queues);
            for (number, more) in look {
                let old = before.get(&number).copied().unwrap_or(0);
                let now = queues.entry(number).or_insert(old);
                *now += more;
                had += more;
            }
            let look: Vec<Sighting> = queues
                .iter()
                .map(|(number, had)| {
                    sighting(&format!("{}", number % 8), i64::from(*number), amount(*had, 0))
                })
                .collect();
            ledger.add(&look, most);
            let sums = sums(&ledger);
            prop_assert!(sums.len() <= most + 1);
            for (name, sum) in &sums {
                let highest = highest.entry(name.clone()).or_default();
                prop_assert!(sum >= highest, "{name:?}: {sum} after {highest}");
                *highest = *sum;
            }
            // Fewer than are ever forgotten, so that whoever lost its name had its highest.
            prop_assert_eq!(highest.values().sum::<u64>(), had);
        }
    }

    #[test]
    fn what_is_remembered_is_bounded(names in 1usize..400) {
        let mut ledger = Ledger::default();
        for number in 0..names {
            let one = sighting(&format!("{number}"), 1, amount(1, 0));
            ledger.add(&[one], 2);
        }
        let text = serde_json::to_value(&ledger).unwrap();
        prop_assert!(text["accounts"].as_array().unwrap().len() <= 33);
        let _: Vec<(&Node, Amount)> = ledger.others().collect();
    }
}
