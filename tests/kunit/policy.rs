// SPDX-License-Identifier: GPL-2.0-only

//! The policy as the kernel compiles it: the same source and the same cases as
//! on the host, with the kernel's flags, overflow checks and target.
//!
//! Each case is a test of its own.  Their list is data and `#[kunit_tests]` wants
//! functions, so one function is made for each number.

use gpreempt_policy::{LevelSlot, Parts, ProcessSlot, QueueSlot, Storage, TenantSlot, LEVELS};
use kernel::bindings;
use kernel::prelude::*;

/// The cases and what plays them, shared with the host's tests as text.
#[allow(unreachable_pub)]
mod cases {
    include!("../host/policy/src/bench.rs");
    include!("../host/policy/src/cases.rs");
}
use cases::{Bench, CASES};

/// Storage of a scheduler in kernel vectors.
struct Vectors {
    queues: KVec<QueueSlot>,
    processes: KVec<ProcessSlot>,
    tenants: KVec<TenantSlot>,
    levels: KVec<LevelSlot>,
}

impl Vectors {
    fn new(queues: usize) -> Result<Self> {
        Ok(Self {
            queues: KVec::from_elem(QueueSlot::default(), queues, GFP_KERNEL)?,
            processes: KVec::from_elem(ProcessSlot::default(), queues, GFP_KERNEL)?,
            tenants: KVec::from_elem(TenantSlot::default(), queues, GFP_KERNEL)?,
            levels: KVec::from_elem(LevelSlot::default(), LEVELS, GFP_KERNEL)?,
        })
    }
}

impl Storage for Vectors {
    fn parts(&mut self) -> Parts<'_> {
        Parts {
            queues: &mut self.queues,
            processes: &mut self.processes,
            tenants: &mut self.tenants,
            levels: &mut self.levels,
        }
    }
}

/// Plays one case and says what went otherwise than written.
fn play(number: usize) -> Result {
    let case = CASES.get(number).ok_or(EINVAL)?;
    Bench::new(Vectors::new(16)?).play(case).map_err(|failure| {
        // Indented, as the notes of a test are.
        kernel::kunit::err(fmt!(
            "    # {}: line {}, look {}: {} {:?}\n",
            failure.case,
            failure.line,
            failure.look,
            failure.what,
            failure.got
        ));
        EINVAL
    })
}

/// The number of tests that there is room for.
const ROOM: usize = 256;
const _: () = assert!(
    CASES.len() < ROOM,
    "there are more cases than KUnit tests for them"
);

/// One test, if there is a case of that number, and the end of the list if not.
struct Test<const NUMBER: usize>;

impl<const NUMBER: usize> Test<NUMBER> {
    /// The name of the case, ended by zeros.
    const NAME: [u8; 128] = {
        let mut name = [0; 128];
        if NUMBER < CASES.len() {
            let text = CASES[NUMBER].name.as_bytes();
            assert!(text.len() < name.len(), "the name of a case is too long");
            let mut at = 0;
            while at < text.len() {
                name[at] = text[at];
                at += 1;
            }
        }
        name
    };

    const CASE: bindings::kunit_case = if NUMBER < CASES.len() {
        match CStr::from_bytes_until_nul(&Self::NAME) {
            Ok(name) => kernel::kunit::kunit_case(name, Self::run),
            Err(_) => panic!("the name does not end"),
        }
    } else {
        // SAFETY: It is a structure of C's, and zeros in it are the end of a list.
        unsafe { core::mem::zeroed() }
    };

    /// # Safety
    ///
    /// KUnit calls it, in a test.
    unsafe extern "C" fn run(_test: *mut bindings::kunit) {
        let played = play(NUMBER);
        kernel::kunit_assert!("policy", c"tests/kunit/policy.rs", 0, played.is_ok());
    }
}

macro_rules! sixteen {
    ($row:literal) => {
        sixteen!($row: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($row:literal: $($column:literal)*) => {
        [$(Test::<{ 16 * $row + $column }>::CASE),*]
    };
}

/// All tests, and the empty one that ends the list.
static mut TESTS: [[bindings::kunit_case; 16]; ROOM / 16] = [
    sixteen!(0),
    sixteen!(1),
    sixteen!(2),
    sixteen!(3),
    sixteen!(4),
    sixteen!(5),
    sixteen!(6),
    sixteen!(7),
    sixteen!(8),
    sixteen!(9),
    sixteen!(10),
    sixteen!(11),
    sixteen!(12),
    sixteen!(13),
    sixteen!(14),
    sixteen!(15),
];

kernel::kunit_unsafe_test_suite!(amd_gpreempt_policy, TESTS);
