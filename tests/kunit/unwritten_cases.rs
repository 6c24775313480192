// SPDX-License-Identifier: GPL-2.0-only

//! For how long it is waited before a transaction for packets that are not written yet.

use crate::fake::expect;
use crate::node::unwritten::{Found, Unwritten};
use gpreempt_policy::Nanos;
use kernel::prelude::*;

const fn micros(micros: u32) -> Nanos {
    Nanos::from_micros(micros)
}

const TOOK: Option<Nanos> = Some(micros(200));

#[kunit_tests(amd_gpreempt_unwritten)]
mod tests {
    use super::*;

    #[test]
    fn it_may_be_waited_as_long_as_four_transactions_take() -> Result {
        for (took, longest) in [
            (None, 1_000),
            (Some(0), 0),
            (Some(200), 800),
            (Some(5_000), 20_000),
            (Some(5_001), 20_000),
            (Some(u32::MAX), 20_000),
        ] {
            let took = took.map(micros);
            let mut unwritten = Unwritten::default();
            expect(unwritten.may_wait(micros(7), took), micros(longest))?;
        }
        Ok(())
    }

    #[test]
    fn what_was_waited_comes_back_sixteen_times_as_slowly() -> Result {
        let mut unwritten = Unwritten::default();
        let mut may_wait = |at, time| {
            let most = unwritten.may_wait(micros(at), TOOK);
            unwritten.note(micros(time));
            most
        };
        expect(may_wait(0, 800), micros(800))?;
        // Nothing comes back of the time that was waited itself.
        expect(may_wait(800, 0), micros(0))?;
        expect(may_wait(1_600, 50), micros(50))?;
        expect(may_wait(1_650, 0), micros(0))?;
        expect(may_wait(14_450, 0), micros(800))?;
        expect(may_wait(u32::MAX, 0), micros(800))
    }

    #[test]
    fn no_more_is_owed_than_can_be_waited() -> Result {
        let mut unwritten = Unwritten::default();
        unwritten.may_wait(micros(0), TOOK);
        unwritten.note(Nanos::SECOND);
        let soon = Nanos::SECOND.after(micros(16 * 20_000));
        expect(unwritten.may_wait(soon, TOOK), micros(800))
    }

    #[test]
    fn it_is_waited_until_all_is_written_or_no_longer() -> Result {
        let mut looks = 0;
        let mut written_at = |look| {
            looks = 0;
            let any = || {
                looks += 1;
                looks < look
            };
            let mut unwritten = Unwritten::default();
            // For as long as firmware takes that is very slow.
            let found = unwritten.wait(Some(Nanos::SECOND), any);
            (found, looks)
        };
        expect(written_at(1), (Found::Written, 1))?;
        expect(written_at(2), (Found::WaitedFor, 2))?;
        expect(written_at(3), (Found::WaitedFor, 3))?;
        expect(written_at(u32::MAX).0, Found::Unwritten)?;
        let mut unwritten = Unwritten::default();
        expect(unwritten.wait(Some(Nanos::ZERO), || true), Found::Unwritten)
    }
}
