// SPDX-License-Identifier: GPL-2.0-only
//! Text, errors, messages and everything else that has no memory of its own.

use std::fmt::Write;

use kernel::error::{from_err_ptr, from_result, to_result};
use kernel::prelude::*;
use kernel::seq_file::SeqFile;
use kernel::str::{CString, Formatter};
use kernel::sync::atomic::{Acquire, Atomic, Full, Relaxed, Release};
use kernel::time::{delay::fsleep, Delta};
use kernel::{pr_err, pr_info, pr_warn, seq_print};
use standalone::{log, pieces, with_pieces_left};

#[test]
fn a_text_for_c_ends_with_its_only_zero() {
    let text = CString::try_from_fmt(fmt!("node{}", 3)).unwrap();
    assert_eq!(text.to_bytes_with_nul(), b"node3\0");
    // SAFETY: The pointer is to the text.
    assert_eq!(unsafe { CStr::from_char_ptr(text.as_char_ptr()) }, &*text);
    let empty = CString::try_from_fmt(fmt!("")).unwrap();
    assert_eq!(empty.to_bytes_with_nul(), b"\0");
    assert_eq!(
        CString::try_from_fmt(fmt!("a{}b", '\0')).err(),
        Some(EINVAL)
    );
    drop((text, empty));
    assert_eq!(pieces(), 0);
    for left in [0, 1] {
        let refused = with_pieces_left(left, || CString::try_from_fmt(fmt!("ab{}", 4)).err());
        assert_eq!(refused, Some(ENOMEM), "with {left} pieces left");
    }
    assert_eq!(pieces(), 0);
}

#[test]
fn a_formatter_takes_what_fits() {
    let mut buffer = [b'.'; 8];
    let mut out = Formatter::new(&mut buffer);
    assert_eq!(out.write_str("12345"), Ok(()));
    assert!(out.write_str("6789").is_err());
    assert_eq!(out.bytes_written(), 5);
    assert_eq!(write!(out, "{}", 678), Ok(()));
    assert!(out.write_str("9").is_err());
    assert_eq!(out.write_str(""), Ok(()));
    assert_eq!((out.bytes_written(), &buffer), (8, b"12345678"));
}

#[test]
fn errors_have_the_numbers_of_c() {
    assert_eq!((EPERM.to_errno(), ENOTSUPP.to_errno()), (-1, -524));
    assert_eq!(Error::from_errno(-22), EINVAL);
    assert_eq!(Error::from_errno(-4095).to_errno(), -4095);
    for number in [0, 1, -4096, i32::MIN] {
        assert_eq!(Error::from_errno(number), EINVAL, "{number} is no error");
    }
    assert_eq!(
        (to_result(0), to_result(5), to_result(-5)),
        (Ok(()), Ok(()), Err(EIO))
    );
    assert_eq!(from_result(|| Ok(7)), 7);
    assert_eq!(from_result::<isize>(|| Err(ENODEV)), -19);
    assert_eq!(format!("{EINVAL:?}"), "Error(-22)");
}

#[test]
fn an_error_can_hide_in_a_pointer() {
    let pointer = |address: usize| std::ptr::without_provenance_mut::<u8>(address);
    for fine in [0, 1, 4096, usize::MAX - 4095] {
        assert_eq!(from_err_ptr(pointer(fine)), Ok(pointer(fine)));
    }
    assert_eq!(from_err_ptr(pointer(usize::MAX)), Err(EPERM));
    let last = from_err_ptr(pointer(usize::MAX - 4094));
    assert_eq!(last.err().map(Error::to_errno), Some(-4095));
}

#[test]
fn conversions_end_in_an_error() {
    fn number(value: i64) -> Result<u8> {
        Ok(u8::try_from(value)?)
    }
    assert_eq!((number(255), number(256)), (Ok(255), Err(EINVAL)));
    let memory = || -> Result<KBox<u8>> { Ok(KBox::new(1, GFP_KERNEL)?) };
    assert_eq!(with_pieces_left(0, memory).err(), Some(ENOMEM));
}

#[test]
fn a_message_is_one_piece_with_its_level() {
    pr_err!("{} of {}\n", 1, 2);
    pr_warn!("careful\n");
    pr_info!("to know\n");
    assert_eq!(log(), ["3 1 of 2\n", "4 careful\n", "6 to know\n"]);
    pr_info!("{}{}\n", "x".repeat(990), "yz");
    assert_eq!(
        log(),
        [format!("6 {}yz", "x".repeat(990))],
        "the rest is left out"
    );
}

#[test]
fn a_file_gets_all_text() {
    let mut text = String::new();
    // SAFETY: The runtime of the tests takes a string for a file, and it outlives this.
    let file = unsafe { SeqFile::from_raw((&raw mut text).cast()) };
    seq_print!(file, "{}\t{:>3}\n", "a", 5);
    seq_print!(file, "end");
    assert_eq!(text, "a\t  5\nend");
}

#[test]
fn a_sleep_is_never_shorter() {
    fsleep(Delta::from_millis(2));
    fsleep(Delta::from_micros(3));
    fsleep(Delta::from_millis(0));
    fsleep(Delta::from_millis(-1));
    fsleep(Delta::from_millis(i64::MAX));
    let longest = i64::MAX.unsigned_abs().div_ceil(1000);
    let expected = [2000, 3, 0, 0, longest].map(|us| format!("sleeps {us} us"));
    assert_eq!(log(), expected);
}

#[test]
fn numbers_change_in_one_step() {
    let number = Atomic::<u32>::new(u32::MAX);
    assert_eq!(number.fetch_add(2, Relaxed), u32::MAX);
    assert_eq!(number.load(Acquire), 1);
    number.store(5, Release);
    number.add(1, Relaxed);
    assert_eq!(number.cmpxchg(5, 9, Full), Err(6));
    assert_eq!(number.cmpxchg(6, 9, Full), Ok(6));
    assert_eq!(number.xchg(4, Relaxed), 9);
    assert_eq!(number.load(Relaxed), 4);
    let flag = Atomic::new(false);
    flag.store(true, Relaxed);
    assert!(flag.load(Full));
    assert_eq!(size_of::<Atomic<u64>>(), 8);
}
