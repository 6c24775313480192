// SPDX-License-Identifier: GPL-2.0-only
//! Which accesses strict mode finds.

use super::*;

/// In strict mode, with a page that was read and one that was written.
fn strict(dies: u32) -> (Fixture, Space) {
    let mut f = fixture();
    directories(&mut f);
    f.memory.set_strict(Some(dies));
    f.entry(ROOT + 3 * PAGE, 5, 0x20_0000 | RW);
    f.entry(ROOT + 3 * PAGE, 6, 0x3000 | RW | SYSTEM);
    let space = process(0);
    f.memory.read_u32(space, 5 * PAGE).unwrap();
    f.memory.write_u32(space, 6 * PAGE, 1).unwrap();
    (f, space)
}

fn stale(f: &Fixture) -> u64 {
    f.memory.stale().unwrap().accesses
}

#[test]
fn a_page_that_went_away_is_stale_for_what_it_was_used_for() {
    let (mut f, space) = strict(1);
    f.entry(ROOT + 3 * PAGE, 5, 0);
    assert!(f.memory.write_u32(space, 5 * PAGE, 1).is_err());
    assert_eq!(stale(&f), 0, "nobody has written to it before");
    assert!(f.memory.read_u32(space, 5 * PAGE + 8).is_err());
    assert!(f.memory.read_u32(space, 5 * PAGE + 8).is_err());
    assert_eq!(stale(&f), 1, "an entry that was missed counts once");
    f.entry(ROOT + 3 * PAGE, 6, 0x3000 | VALID | READABLE | SYSTEM);
    f.memory.read_u32(space, 6 * PAGE).unwrap();
    assert!(f.memory.write_u32(space, 6 * PAGE, 1).is_err());
    assert_eq!(stale(&f), 2);
    let report = f.memory.stale().unwrap();
    let first = &report.first[0];
    assert_eq!(
        (first.table, first.address, first.write),
        (ROOT, 5 * PAGE + 8, false)
    );
    assert_eq!(
        (first.cached.as_str(), first.now.as_str()),
        ("video memory 0x200000", "nothing")
    );
    assert_eq!(report.first[1].cached, "guest memory 0x3000");
}

#[test]
fn a_page_that_comes_needs_no_flush() {
    let (mut f, space) = strict(1);
    assert!(f.memory.read_u32(space, 7 * PAGE).is_err());
    f.entry(ROOT + 3 * PAGE, 7, 0x20_1000 | RW);
    f.memory.read_u32(space, 7 * PAGE).unwrap();
    assert_eq!(stale(&f), 0);
}

#[test]
fn big_pages_are_cached_by_where_they_were_used() {
    let (mut f, space) = strict(1);
    f.entry(ROOT + 2 * PAGE, 1, 0x40_0000 | RW);
    f.memory.read_u32(space, 0x20_0000 + 3 * PAGE + 4).unwrap();
    f.memory.read_u32(space, 0x20_0000 + 3 * PAGE + 8).unwrap();
    assert_eq!(stale(&f), 0);
    f.entry(ROOT + 2 * PAGE, 1, 0x60_0000 | RW);
    f.memory.read_u32(space, 0x20_0000 + 4 * PAGE).unwrap();
    assert_eq!(stale(&f), 0);
    f.memory.read_u32(space, 0x20_0000 + 3 * PAGE).unwrap();
    assert_eq!(stale(&f), 1);
    assert_eq!(
        f.memory.stale().unwrap().first[0].now,
        "video memory 0x603000"
    );
}

#[test]
fn what_is_forgotten_is_not_stale() {
    type Forget = fn(&mut Memory);
    let ways: [(Forget, u64); 7] = [
        (|_| (), 1),
        (|memory| memory.flush(None, &[ROOT | VALID], 0), 0),
        (|memory| memory.flush(None, &[ROOT | VALID], 1), 1),
        (
            |memory| (0..2).for_each(|die| memory.flush(None, &[ROOT + PAGE], die)),
            1,
        ),
        (|memory| memory.forget_translations(), 0),
        (|memory| memory.give_table(ROOT | VALID, 7), 0),
        (|memory| memory.set_strict(Some(2)), 0),
    ];
    for (way, (forget, expected)) in ways.into_iter().enumerate() {
        let (mut f, space) = strict(2);
        forget(&mut f.memory);
        f.entry(ROOT + 3 * PAGE, 5, 0x20_1000 | RW);
        f.memory.read_u32(space, 5 * PAGE).unwrap();
        assert_eq!(stale(&f), expected, "way {way}");
    }
}

#[test]
fn each_die_keeps_what_it_was_not_told_to_forget() {
    let (mut f, first) = strict(2);
    let second = process(1);
    let read = |f: &Fixture, space| f.memory.read_u32(space, 5 * PAGE).map(|_| ()).unwrap();
    let lead = |f: &mut Fixture, page: u64| {
        f.entry(ROOT + 3 * PAGE, 5, (0x20_0000 + page * PAGE) | RW);
    };
    read(&f, second);
    // One die after the other is told, and goes on at once.
    lead(&mut f, 1);
    f.memory.flush(None, &[ROOT], 0);
    read(&f, first);
    assert_eq!(stale(&f), 0, "the first die was told");
    f.memory.flush(None, &[ROOT], 1);
    read(&f, second);
    assert_eq!(stale(&f), 0, "the second die was told");
    // What a die was told before a change says nothing about the change.
    f.memory.flush(None, &[ROOT], 1);
    read(&f, second);
    lead(&mut f, 2);
    f.memory.flush(None, &[ROOT], 0);
    read(&f, first);
    assert_eq!(stale(&f), 0);
    read(&f, second);
    assert_eq!(stale(&f), 1, "the second die was told before the change");
}

#[test]
fn the_memory_hub_forgets_what_every_die_was_told_since() {
    let (mut f, _) = strict(2);
    let root = ROOT | VALID;
    let via = Via::MemoryHub;
    let hub = Space::Process { root, via };
    let mut page = 0;
    // What is told, before the hub uses the page once more and after the table changed.
    for (before, after, expected) in [
        (&[][..], &[][..], 1),
        (&[], &[0], 1),
        (&[], &[0, 1], 0),
        (&[0], &[1], 1),
        (&[0, 1], &[], 1),
    ] {
        f.memory.read_u32(hub, 5 * PAGE).unwrap();
        let so_far = stale(&f);
        before
            .iter()
            .for_each(|die| f.memory.flush(None, &[ROOT], *die));
        f.memory.read_u32(hub, 5 * PAGE).unwrap();
        page += PAGE;
        f.entry(ROOT + 3 * PAGE, 5, (0x20_0000 + page) | RW);
        after
            .iter()
            .for_each(|die| f.memory.flush(None, &[ROOT], *die));
        f.memory.read_u32(hub, 5 * PAGE).unwrap();
        assert_eq!(stale(&f) - so_far, expected, "{before:?} {after:?}");
    }
}

#[test]
fn the_scheduler_keeps_no_translation() {
    let (mut f, _) = strict(1);
    let root = ROOT | VALID;
    let via = Via::Firmware;
    let firmware = Space::Process { root, via };
    f.memory.read_u32(firmware, 5 * PAGE).unwrap();
    f.entry(ROOT + 3 * PAGE, 5, 0x20_1000 | RW);
    f.memory.read_u32(firmware, 5 * PAGE).unwrap();
    assert_eq!(stale(&f), 0);
}

#[test]
fn every_page_of_an_access_is_checked() {
    // In pages of their own, and in a big one.
    for big in [false, true] {
        let (mut f, space) = strict(1);
        let big_page = |f: &mut Fixture, at: u64| f.entry(ROOT + 2 * PAGE, 1, at | RW);
        big_page(&mut f, 0x40_0000);
        for page in 16..20 {
            f.entry(ROOT + 3 * PAGE, page, (0x20_0000 + page * PAGE) | RW);
        }
        let start = if big { 0x20_0000 } else { 16 * PAGE };
        // The last byte of a page, two whole ones, and the first of another.
        let mut bytes = vec![0; 2 * PAGE as usize + 2];
        let from = start + PAGE - 1;
        f.memory.write(space, from, &bytes).unwrap();
        match big {
            true => big_page(&mut f, 0x60_0000),
            false => (16..20).for_each(|page| {
                f.entry(ROOT + 3 * PAGE, page, (0x30_0000 + page * PAGE) | RW);
            }),
        }
        for page in 0..4 {
            f.memory.read_u32(space, start + page * PAGE).unwrap();
            assert_eq!(stale(&f), page + 1, "big: {big}");
        }
        // And those that an access meets.
        let (mut f, space) = strict(1);
        big_page(&mut f, 0x40_0000);
        for page in 0..4 {
            f.memory.read_u32(space, 0x20_0000 + page * PAGE).unwrap();
        }
        big_page(&mut f, 0x60_0000);
        f.memory
            .read(space, 0x20_0000 + PAGE - 1, &mut bytes)
            .unwrap();
        assert_eq!(stale(&f), 4);
        let told = f.memory.stale().unwrap().first;
        let pages: Vec<u64> = told.iter().map(|access| access.address / PAGE).collect();
        assert_eq!(pages, [512, 513, 514, 515]);
        assert_eq!(told[3].now, "video memory 0x603000");
    }
}

#[test]
fn nothing_is_kept_of_a_process_without_an_address_space() {
    let (mut f, space) = strict(2);
    f.memory.give_table(ROOT | VALID, 7);
    assert_eq!(kept(&f), 0);
    f.memory.read_u32(space, 5 * PAGE).unwrap();
    f.memory.read_u32(process(1), 5 * PAGE).unwrap();
    f.memory.take_tables(8);
    assert_eq!(kept(&f), 2, "another process");
    f.memory.take_tables(7);
    assert_eq!(kept(&f), 0);
    // Its number owns nothing any more.
    f.memory.read_u32(space, 5 * PAGE).unwrap();
    f.memory.flush(Some(7), &[], 0);
    assert_eq!(kept(&f), 1);
}

fn kept(f: &Fixture) -> usize {
    f.memory.cached()
}

#[test]
fn what_a_process_owns_is_found_by_its_number() {
    let (mut f, space) = strict(1);
    f.memory.give_table(ROOT | VALID, 7);
    f.memory.read_u32(space, 5 * PAGE).unwrap();
    for (pasid, expected) in [(8, 1), (7, 1), (8, 2)] {
        f.memory.flush(Some(pasid), &[], 0);
        let page = 0x20_0000 + u64::from(f.memory.vram_read(0x10) + 1) * PAGE;
        f.memory
            .vram_write(0x10, &(f.memory.vram_read(0x10) + 1).to_le_bytes());
        f.entry(ROOT + 3 * PAGE, 5, page | RW);
        f.memory.read_u32(space, 5 * PAGE).unwrap();
        assert_eq!(stale(&f), expected, "{pasid}");
    }
}

#[test]
fn there_is_an_end_to_what_is_told() {
    let (mut f, space) = strict(1);
    for page in 0..150u64 {
        f.entry(ROOT + 3 * PAGE, 5, (0x30_0000 + page * PAGE) | RW);
        f.memory.read_u32(space, 5 * PAGE).unwrap();
    }
    let report = f.memory.stale().unwrap();
    assert_eq!((report.accesses, report.first.len()), (150, 100));
}
