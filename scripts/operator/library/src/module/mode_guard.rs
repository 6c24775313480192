// SPDX-License-Identifier: GPL-2.0-only
//! The modes of all GPUs as a change has seen or set them, so that it has no GPU do more again where
//! somebody else has had it do less meanwhile.

use crate::host::tree::Refusal;
use crate::module::difference::Difference;
use crate::module::kernel::{Kernel, State};
use crate::words::gpu::{activity, Modes};

/// A mode that is to be set, of one GPU or for all, or of one GPU to be given up.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'d> {
    gpu: Option<&'d str>,
    mode: Option<&'d str>,
}

impl<'d> Setting<'d> {
    /// What a difference has set so that it goes, if it is about a mode.
    pub fn wanted(difference: &'d Difference) -> Option<Setting<'d>> {
        Setting::new(difference, false)
    }

    /// What undoes that.
    pub fn before(difference: &'d Difference) -> Option<Setting<'d>> {
        Setting::new(difference, true)
    }

    fn new(difference: &'d Difference, before: bool) -> Option<Setting<'d>> {
        let (gpu, now, wanted) = match difference {
            Difference::Parameter {
                name: "mode",
                now,
                wanted,
            } => (None, Some(now), Some(wanted)),
            Difference::Own { gpu, now, wanted } => {
                (Some(gpu.as_str()), now.as_ref(), wanted.as_ref())
            }
            _ => return None,
        };
        let mode = if before { now } else { wanted };
        Some(Setting {
            gpu,
            mode: mode.map(String::as_str),
        })
    }
}

impl Modes {
    pub fn of(state: &State) -> Modes {
        let gpus = state.gpus.clone().into_iter();
        Modes {
            all: state.parameters.get("mode").cloned().unwrap_or_default(),
            own: gpus.filter_map(|(gpu, own)| Some((gpu, own?))).collect(),
        }
    }

    /// Refuses to have a GPU do more where somebody else has one do less by now.
    pub fn check(&self, kernel: &dyn Kernel, setting: Setting<'_>) -> Result<(), Refusal> {
        let now = match kernel.modes() {
            Ok(now) => now,
            // What does less is not kept from it.
            Err(_) if !self.has_more_done_by(setting) => return Ok(()),
            Err(refusal) => return Err(refusal),
        };
        if !now.has_more_done_by(setting) {
            return Ok(());
        }
        let mut gpus = self.own.keys().chain(now.own.keys());
        let does_less = |gpu| activity(now.mode(gpu)) < activity(self.mode(gpu));
        let other = match does_less(None) {
            true => Some("the mode".to_owned()),
            false => gpus
                .find(|gpu| does_less(Some(gpu)) && kernel.is_there(gpu))
                .map(|gpu| format!("the mode of GPU {gpu}")),
        };
        match other {
            None => Ok(()),
            Some(other) => Err(Refusal(format!(
                "{other} has been set meanwhile, so that none is set that does more: \
                 apply again if one should be"
            ))),
        }
    }

    /// Notes what has been set here.
    pub fn note(&mut self, setting: Setting<'_>) {
        match (setting.gpu, setting.mode) {
            (None, mode) => self.all = mode.unwrap_or_default().to_owned(),
            (Some(gpu), Some(mode)) => {
                self.own.insert(gpu.to_owned(), mode.to_owned());
            }
            (Some(gpu), None) => {
                self.own.remove(gpu);
            }
        }
    }

    fn has_more_done_by(&self, setting: Setting<'_>) -> bool {
        activity(setting.mode.unwrap_or(&self.all)) > activity(self.mode(setting.gpu))
    }

    /// The mode that one GPU has, or those that have none of their own.
    fn mode(&self, gpu: Option<&str>) -> &str {
        gpu.and_then(|gpu| self.own.get(gpu)).unwrap_or(&self.all)
    }
}
