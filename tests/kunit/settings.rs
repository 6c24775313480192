// SPDX-License-Identifier: GPL-2.0-only

//! The parameters as the threads follow them.

use crate::fake::{expect, with_gpu};
use gpreempt_policy::{Nanos, Number};
use kernel::prelude::*;
use kfd::operator::settings::tests::{locks, put};
use kfd::operator::settings::Followed;

/// The parameter that the tests set, and what it is otherwise.
const NAME: &str = "max_stop_ms";

#[kunit_tests(amd_gpreempt_settings)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_nobody_has_changed_are_had_without_their_lock() -> Result {
        with_gpu(|gpu| {
            let gpu = gpu.ok_or(ENXIO)?.device();
            let mut followed = Followed::of(gpu);
            let stop = |followed: &mut Followed| {
                let settings = followed.now(gpu);
                settings.policy.duration(Number::MaxStop)
            };
            let default = stop(&mut followed);
            let before = locks();
            for _ in 0..1000 {
                expect(stop(&mut followed), default)?;
            }
            expect(locks() - before, 0)?;
            put(NAME, "7")?;
            let before = locks();
            for _ in 0..1000 {
                expect(stop(&mut followed), Nanos::from_millis(7))?;
            }
            expect(locks() - before, 1)?;
            let millis = default.0 / 1_000_000;
            let text = kernel::str::CString::try_from_fmt(fmt!("{millis}"))?;
            put(NAME, text.to_str().or(Err(EINVAL))?)?;
            expect(stop(&mut followed), default)
        })
    }
}
