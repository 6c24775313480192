// SPDX-License-Identifier: GPL-2.0-only
//! Which algorithm a policy's name stands for.

use crate::algorithm::algorithm::Algorithm;
use crate::algorithm::deadline::Deadline;
use crate::algorithm::fair::Fair;
use crate::algorithm::strict::Strict;
use crate::settings::choices::PolicyKind;

/// The algorithm of a policy.
pub(crate) fn of(kind: PolicyKind) -> &'static dyn Algorithm {
    match kind {
        PolicyKind::Strict => &Strict,
        PolicyKind::Fair => &Fair,
        PolicyKind::Deadline => &Deadline,
    }
}
