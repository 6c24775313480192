// SPDX-License-Identifier: GPL-2.0-only

//! The parameters as the threads follow them.

use crate::fake::{expect, with_gpu};
use gpreempt_policy::{Mode, Nanos, MOST_GPUS};
use kernel::prelude::*;
use kfd::operator::gpu_modes::{Address, Modes, NoRoom};
use kfd::operator::settings::Followed;
use kfd::operator::settings::{set, LOCKS};

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
                Nanos::from_millis(settings.numbers.max_stop_ms)
            };
            let default = stop(&mut followed);
            let before = LOCKS.so_far();
            for _ in 0..1000 {
                expect(stop(&mut followed), default)?;
            }
            expect(LOCKS.so_far() - before, 0)?;
            set(NAME, "7")?;
            let before = LOCKS.so_far();
            for _ in 0..1000 {
                expect(stop(&mut followed), Nanos::from_millis(7))?;
            }
            expect(LOCKS.so_far() - before, 1)?;
            let millis = default.0 / 1_000_000;
            let text = kernel::str::CString::try_from_fmt(fmt!("{millis}"))?;
            set(NAME, text.to_str().or(Err(EINVAL))?)?;
            expect(stop(&mut followed), default)
        })
    }

    fn gpu(number: usize) -> Result<Address> {
        let text = kernel::str::CString::try_from_fmt(fmt!("0000:{number:02x}:00.0"))?;
        Address::new(text.to_bytes()).ok_or(EINVAL)
    }

    #[test]
    fn a_gpu_keeps_its_mode_until_it_is_given_up() -> Result {
        let mut modes = Modes::none();
        let (one, other) = (gpu(1)?, gpu(2)?);
        expect(modes.set(one, None), Ok(()))?;
        for mode in [Mode::Off, Mode::Observe, Mode::Enforce] {
            expect(modes.set(one, Some(mode)), Ok(()))?;
            expect(modes.of(one), Some(mode))?;
            expect(modes.of(other), None)?;
        }
        expect(modes.set(other, Some(Mode::Off)), Ok(()))?;
        expect(modes.set(one, None), Ok(()))?;
        expect(modes.of(one), None)?;
        expect(modes.of(other), Some(Mode::Off))
    }

    #[test]
    fn so_many_gpus_have_room_and_one_that_gives_up_makes_some() -> Result {
        let mut modes = Modes::none();
        for number in 0..MOST_GPUS {
            expect(modes.set(gpu(number)?, Some(Mode::Off)), Ok(()))?;
        }
        let late = gpu(MOST_GPUS)?;
        expect(modes.set(late, Some(Mode::Off)), Err(NoRoom))?;
        expect(modes.set(late, None), Ok(()))?;
        expect(modes.set(gpu(7)?, Some(Mode::Enforce)), Ok(()))?;
        expect(modes.set(gpu(3)?, None), Ok(()))?;
        expect(modes.set(late, Some(Mode::Observe)), Ok(()))?;
        for number in 0..MOST_GPUS {
            let mode = match number {
                3 => None,
                7 => Some(Mode::Enforce),
                _ => Some(Mode::Off),
            };
            expect(modes.of(gpu(number)?), mode)?;
        }
        expect(modes.of(late), Some(Mode::Observe))
    }

    #[test]
    fn an_address_is_all_of_its_text_and_not_longer_than_there_is_room() -> Result {
        let of = |text: &str| Address::new(text.as_bytes());
        let differ = |a: &str, b: &str| of(a).is_some() && of(a) != of(b);
        expect(differ("0000:c1:00.0", "0000:c1:00.1"), true)?;
        expect(differ("0000:c1:00.0", "0000:c1:00."), true)?;
        expect(of("000000000000000000000000").is_some(), true)?;
        expect(of("0000000000000000000000000").is_none(), true)
    }
}
