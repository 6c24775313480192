// SPDX-License-Identifier: GPL-2.0-only

//! Firmware that has not answered: whoever asks again waits for as long under the
//! driver's lock, with every program on the GPU behind it. Nothing is sent until the
//! driver has reset the GPU, which it may be told never to do.

use crate::node::site::Site;
use kernel::prelude::*;
use kfd::act::backend::Backend;
use kfd::act::transaction::Failure;
use kfd::act::transaction::Orders;
use kfd::act::transaction::Transacted;

/// Whether the firmware has not answered since the GPU was last reset.
#[derive(Default)]
pub(crate) struct Unanswered {
    /// How often the GPU had been reset then.
    since: Option<u32>,
    said: bool,
}

impl Unanswered {
    /// Whether the firmware has not answered, and the GPU was not reset since. Says so
    /// once.
    pub(crate) fn lasts(&mut self, site: Site<'_>) -> bool {
        let Some(since) = self.since else {
            return false;
        };
        if site.gpu().resets() != Some(since) {
            *self = Self::default();
            return false;
        }
        if !self.said {
            self.said = true;
            pr_err!(
                "{}: the firmware does not answer: nothing is sent until the GPU is reset, which the driver does not do by itself with amdgpu.gpu_recovery=0, or until 'armed' is written to the node's state\n",
                site
            );
        }
        true
    }

    /// Whether the firmware was last seen not to answer.
    pub(crate) fn is_so(&self) -> bool {
        self.since.is_some()
    }

    /// Notes that it does not answer, if that is why something failed.
    pub(crate) fn note(&mut self, site: Site<'_>, failure: Failure) {
        if failure.is_unanswered() {
            self.since = site.gpu().resets();
        }
    }

    /// Has orders carried out, unless nobody would answer.
    pub(crate) fn send(
        &mut self,
        site: Site<'_>,
        backend: &mut Backend<'_>,
        orders: &mut Orders<'_>,
    ) -> Transacted {
        if self.lasts(site) {
            return Err(Failure::Unanswered);
        }
        let result = site
            .with(|node| backend.transact(node, orders))
            .map_err(Failure::Away)?;
        if let Err(failure) = result {
            self.note(site, failure);
        }
        result
    }
}
