// SPDX-License-Identifier: GPL-2.0-only
//! The order of a pass: starts first, then stops, and neither where nothing can
//! be inverted.

use crate::pass::pass::Pass;
use crate::settings::choices::Mode;
use crate::terms::decision::Arming;

impl Pass<'_, '_> {
    /// Decides what is started, then what is stopped.
    pub(crate) fn decide(&mut self) {
        if matches!(self.arming, Arming::Silent(_)) {
            return;
        }
        if self.stopped == 0 && !self.presence.inverted(self.algorithm) {
            return;
        }
        self.gather();
        if self.stopped > 0 {
            self.start_queues();
        }
        let may_stop =
            self.config.mode != Mode::Off && self.arming == Arming::Armed && !self.releasing;
        if may_stop {
            self.stop_queues();
        }
    }
}
