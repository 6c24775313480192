// SPDX-License-Identifier: GPL-2.0-only

//! KUnit: its tables, how a test fails, and what tests print.

use crate::bindings;
use core::{fmt, fmt::Write};
use kernel::ffi::{c_char, c_uint, CStr};
use kernel::str::Formatter;

/// As much as is printed at once.
const LONGEST: usize = 512;

/// Calls a function with a text for C. A part of it that does not fit is left out.
fn with_text(arguments: fmt::Arguments<'_>, print: impl FnOnce(*const c_char, c_uint)) {
    let mut bytes = [0; LONGEST];
    let mut text = Formatter::new(&mut bytes);
    let _ = text.write_fmt(arguments);
    let length = text.bytes_written();
    print(bytes.as_ptr(), c_uint::try_from(length).unwrap_or(0));
}

fn print(level: u8, arguments: fmt::Arguments<'_>) {
    with_text(arguments, |text, length| {
        // SAFETY: So many bytes are there.
        unsafe { bindings::gp_kunit_print(level, text, length) }
    });
}

/// Prints an error among the results.
pub fn err(arguments: fmt::Arguments<'_>) {
    print(b'3', arguments);
}

/// Prints something to know among the results.
pub fn info(arguments: fmt::Arguments<'_>) {
    print(b'6', arguments);
}

/// Has the test of this thread fail, which goes on.
pub fn fail(why: fmt::Arguments<'_>) {
    with_text(why, |text, length| {
        // SAFETY: So many bytes are there, and the test is the one that runs, if any does.
        unsafe { bindings::gp_kunit_fail(bindings::gp_kunit_current_test(), text, length) }
    });
}

/// What a test can return.
pub trait TestResult {
    /// Whether it is to pass.
    fn is_ok(&self) -> bool;
}

impl TestResult for () {
    fn is_ok(&self) -> bool {
        true
    }
}

impl<T, E> TestResult for Result<T, E> {
    fn is_ok(&self) -> bool {
        self.is_ok()
    }
}

/// Takes what a test has returned.
pub fn report(result: impl TestResult) {
    if !result.is_ok() {
        fail(format_args!("it has returned an error"));
    }
}

/// An entry of the list of a suite.
pub const fn kunit_case(
    name: &'static CStr,
    run: unsafe extern "C" fn(*mut bindings::kunit),
) -> bindings::kunit_case {
    bindings::kunit_case {
        run: Some(run),
        name: name.as_ptr().cast(),
        ..bindings::kunit_case::END
    }
}

/// Has KUnit's own tables stand where those of Rust do.
#[doc(hidden)]
pub fn hand_over() {
    // SAFETY: It is called once, when the module is loaded, before anybody else has seen the
    // tables.
    unsafe { bindings::gp_kunit_hand_over() }
}

/// Fails the test unless a condition holds. Unlike the kernel's own it goes on then, and it
/// finds out by itself where it is.
#[macro_export]
macro_rules! kunit_assert {
    ($name:literal, $file:literal, $diff:expr, $condition:expr $(,)?) => {
        if !$condition {
            $crate::kunit::fail(::core::format_args!(
                "{}:{}: {} does not hold",
                ::core::file!(),
                ::core::line!(),
                ::core::stringify!($condition),
            ));
        }
    };
}

/// A suite of a list of tests, which a [`kunit_case::END`](bindings::kunit_case::END) ends.
/// That it is compiled standalone is a part of its name.
#[macro_export]
macro_rules! kunit_unsafe_test_suite {
    ($name:ident, $cases:ident) => {
        const _: () = {
            const NAME: &::core::ffi::CStr = $crate::str::terminated(
                ::core::concat!(::core::stringify!($name), "_standalone\0").as_bytes(),
            );

            static mut SUITE: $crate::bindings::kunit_suite = $crate::bindings::kunit_suite {
                name: NAME.as_ptr().cast(),
                cases: (&raw mut $cases).cast(),
                room: [0; 126],
            };

            // Where the kernel looks for the suites of a module.
            #[used(compiler)]
            #[link_section = ".kunit_test_suites"]
            static mut ENTRY: *mut $crate::bindings::kunit_suite = &raw mut SUITE;
        };
    };
}
