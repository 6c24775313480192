// SPDX-License-Identifier: GPL-2.0-only

//! What each failure of a transaction means: every one of them with every errno
//! that the driver gives for it, and with some that it does not.

use crate::fake::layout::*;
use crate::fake::{expect, failed, put, with_node, Fake};
use gpreempt_policy::FailureKind::{self, Broken, Passing, Rebuilt};
use kernel::prelude::*;
use kfd::act::failure::Failure;
use kfd::driver::gpu::Away;

const EIO: u32 = 5;
const ENOMEM: u32 = 12;
const EFAULT: u32 = 14;
const EBUSY: u32 = 16;
const ENODEV: u32 = 19;
const EINVAL: u32 = 22;
const ETIME: u32 = 62;
const ENOTSUPP: u32 = 524;

/// A failure, the errno that tables show of it, and what it means.
const MEANINGS: &[(Failure, u32, FailureKind)] = &[
    (Failure::Away(Away::Reset), EIO, Rebuilt),
    (Failure::Away(Away::NoAccess), ENODEV, Rebuilt),
    (Failure::Away(Away::NoKfd), ENODEV, Rebuilt),
    (Failure::Away(Away::Halted), EBUSY, Passing),
    (Failure::Away(Away::Misfit), EINVAL, Broken),
    (Failure::Misfit, EINVAL, Broken),
    (Failure::Inexact, EINVAL, Broken),
    (Failure::Unmap(ETIME), ETIME, Rebuilt),
    (Failure::Unmap(EIO), EIO, Broken),
    (Failure::Unmap(ENOMEM), ENOMEM, Broken),
    (Failure::Unmap(EBUSY), EBUSY, Broken),
    (Failure::Unmap(ENODEV), ENODEV, Broken),
    (Failure::Unmap(ENOTSUPP), ENOTSUPP, Broken),
    (Failure::Map(ETIME), ETIME, Broken),
    (Failure::Map(EIO), EIO, Broken),
    (Failure::Map(ENOMEM), ENOMEM, Broken),
    (Failure::Single(ETIME), ETIME, Broken),
    (Failure::Single(EIO), EIO, Broken),
    (Failure::Single(EFAULT), EFAULT, Broken),
    (Failure::Reset(EIO), EIO, Rebuilt),
    (Failure::Unanswered, ETIME, Rebuilt),
];

#[kunit_tests(amd_gpreempt_failure)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_one_meaning() -> Result {
        for &(failure, errno, kind) in MEANINGS {
            let found = (failure.errno(), failure.kind());
            if found != (errno, kind) {
                return failed(fmt!("{failure:?}: {found:?}"));
            }
            expect(failure.is_passing(), kind == Passing)?;
        }
        Ok(())
    }

    /// Whoever takes these for a rebuild forgets queues that stay stopped.
    #[test]
    fn firmware_that_does_not_answer_rebuilds_nothing() -> Result {
        for failure in [Failure::Unmap(ETIME), Failure::Unanswered] {
            expect(failure.is_rebuilt(), false)?;
        }
        expect(Failure::Reset(EIO).is_rebuilt(), true)
    }

    /// Of what was not sent, nobody knows whether it would have been answered.
    #[test]
    fn only_what_was_waited_for_is_unanswered() -> Result {
        for (failure, unanswered) in [
            (Failure::Unmap(ETIME), true),
            (Failure::Map(ETIME), false),
            (Failure::Single(ETIME), false),
            (Failure::Unanswered, false),
        ] {
            expect(failure.is_unanswered(), unanswered)?;
        }
        Ok(())
    }

    #[test]
    fn a_refusal_during_a_reset_is_the_resets() -> Result {
        for (error, resetting, expected) in [
            (-5, true, Failure::Reset(EIO)),
            (-5, false, Failure::Map(EIO)),
            (-12, true, Failure::Map(ENOMEM)),
            (-62, true, Failure::Map(ETIME)),
        ] {
            with_node(|node| {
                let domain = Fake::now().reset_domain;
                let flag = u32::from(resetting);
                put(domain, AMDGPU_RESET_DOMAIN_IN_GPU_RESET, flag);
                expect(Failure::of_driver(node, error, Failure::Map), expected)
            })?;
        }
        Ok(())
    }

    #[test]
    fn without_the_hardware_scheduler_it_is_single_queues_that_fail() -> Result {
        with_node(|node| {
            put(
                Fake::now().dqm,
                DEVICE_QUEUE_MANAGER_SCHED_POLICY,
                KFD_SCHED_POLICY_NO_HWS as u32,
            );
            for (error, expected) in [
                (-62, Failure::Single(ETIME)),
                (-14, Failure::Single(EFAULT)),
            ] {
                expect(Failure::of_driver(node, error, Failure::Unmap), expected)?;
            }
            Ok(())
        })
    }
}
