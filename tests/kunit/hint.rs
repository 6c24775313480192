// SPDX-License-Identifier: GPL-2.0-only

//! The device for hints and the watch for new queues, of each of which there is one.

use crate::fake::expect;
use kernel::prelude::*;
use kfd::kernel::hint::HintDevice;
use kfd::kernel::wake::CreationWatch;

#[kunit_tests(amd_gpreempt_hint)]
mod tests {
    use super::*;

    /// Registered twice, the device would stay in the kernel's list for ever.
    #[test]
    fn the_device_for_hints_has_one_owner() -> Result {
        let first = HintDevice::appear()?;
        expect(HintDevice::appear().err(), Some(EBUSY))?;
        drop(first);
        let second = HintDevice::appear()?;
        // Who is refused gives nothing back that is another's.
        for _ in 0..2 {
            expect(HintDevice::appear().err(), Some(EBUSY))?;
        }
        drop(second);
        HintDevice::appear().map(|_| ())
    }

    #[test]
    fn the_watch_for_new_queues_has_one_owner() -> Result {
        let first = CreationWatch::start()?;
        for _ in 0..2 {
            expect(CreationWatch::start().err(), Some(EBUSY))?;
        }
        drop(first);
        CreationWatch::start().map(|_| ())
    }
}
