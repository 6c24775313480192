// SPDX-License-Identifier: GPL-2.0-only
//! What is in force in the module, and how it is changed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{chown, MetadataExt, PermissionsExt};

use nix::errno::Errno;
use nix::unistd::{Gid, Group, Uid, User};

use gpreempt_policy::AS_MODULE;

use crate::configuration::config::Access;
use crate::host::tree::{cannot, Host, Refusal, MODULE};
use crate::words::gpu::OwnModes;
use crate::words::gpu::{activity, Modes};
use crate::words::parameters::{self, Parameters};
use crate::words::rule::Rule;

/// The device by which programs give hints.
const DEVICE: &str = "dev/amd_gpreempt";

/// A rule in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForce {
    pub rule: Rule,
    /// Its cgroup is gone, so that it is for nobody.
    pub dead: bool,
}

/// What is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Those that the module has.
    pub parameters: Parameters,
    /// The GPUs that are there, each with its mode if it has one of its own.
    pub gpus: BTreeMap<String, Option<String>>,
    pub rules: Vec<InForce>,
    /// Who may give hints; none where there is no such device.
    pub access: Option<Access>,
}

/// What became of a rule that was to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is in force.
    InForce,
    /// There is no such cgroup yet; nothing has changed.
    NoCgroup,
    /// There is no such process any more; nothing has changed.
    NoProcess,
}

/// The module, in the kernel of this host or elsewhere.
pub trait Kernel {
    /// What is in force now.
    fn state(&self) -> Result<State, Refusal>;
    /// The modes that are in force now.
    fn modes(&self) -> Result<Modes, Refusal> {
        Ok(Modes::of(&self.state()?))
    }
    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), Refusal>;
    /// Gives a GPU a mode of its own, or with none the one for all again.
    fn set_own(&mut self, gpu: &str, mode: Option<&str>) -> Result<(), Refusal>;
    /// Whether a GPU is there, so that it can be given a mode.
    fn is_there(&self, gpu: &str) -> bool;
    /// Adds a rule, or replaces the one of its number.
    fn add_rule(&mut self, rule: &Rule) -> Result<Added, Refusal>;
    fn delete_rule(&mut self, id: u32) -> Result<(), Refusal>;
    /// The same access with the names that the state would show for it, since a user
    /// may be written as a number or have several names.
    fn as_shown(&self, access: &Access) -> Access {
        access.clone()
    }
    /// Says who may give hints.
    fn set_access(&mut self, access: &Access) -> Result<(), Refusal>;
}

impl Host {
    /// A parameter of the module, which must be loaded.
    pub fn parameter(&self, name: &str) -> Result<String, Refusal> {
        self.need_module()?;
        let text = self.read(&parameter_path(name))?;
        Ok(text.trim().to_owned())
    }

    /// Says why rules and the mode cannot be changed from here, if they cannot. Nothing
    /// is written for that.
    pub fn may_change(&self) -> Result<(), Refusal> {
        for file in [rules_path("add"), rules_path("del"), parameter_path("mode")] {
            let path = self.path(file);
            let opened = fs::OpenOptions::new().write(true).open(&path);
            opened.map_err(|error| cannot("write", &path, &error))?;
        }
        Ok(())
    }

    fn all_parameters(&self) -> Result<Parameters, Refusal> {
        let mut all = Parameters::new();
        for name in parameters::names() {
            // An older module does not have all of them.
            if self.path(parameter_path(name)).exists() {
                let value = self.parameter(name)?;
                all.insert(name, parameters::canonical(name, &value).unwrap_or(value));
            }
        }
        Ok(all)
    }

    /// The addresses of the GPUs that are there.
    fn addresses(&self) -> Result<Vec<String>, Refusal> {
        let folder = self.path(FOLDER);
        // A module without the folder has no GPUs to show.
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(cannot("read", &folder, &error)),
        };
        let mut all = Vec::new();
        for entry in entries {
            let name = entry
                .map_err(|error| cannot("read", &folder, &error))?
                .file_name();
            let gpu = name.to_str().and_then(|name| name.strip_prefix("gpu_"));
            all.extend(gpu.map(str::to_owned));
        }
        all.sort();
        Ok(all)
    }

    /// The GPUs that are there, each with its mode if it has one of its own.
    fn gpus(&self) -> Result<BTreeMap<String, Option<String>>, Refusal> {
        let mut all = BTreeMap::new();
        for gpu in self.addresses()? {
            let mode = match self.read(&own_path(&gpu)) {
                // It has gone meanwhile.
                Err(_) if !self.is_there(&gpu) => continue,
                read => read?.trim().to_owned(),
            };
            all.insert(gpu, Some(mode).filter(|mode| mode != AS_MODULE));
        }
        Ok(all)
    }

    /// Has the module do no more than this on any GPU that is there, and as much on those
    /// that have no mode of their own that does less. One GPU that cannot be told keeps
    /// no other from it. Returns the modes that GPUs keep of their own.
    pub fn put_mode(&mut self, wanted: &str) -> Result<OwnModes, Refusal> {
        self.set_parameter("mode", wanted)?;
        let mut kept = self.own_modes()?;
        let more = |mode: &String| activity(mode) > activity(wanted);
        let given_up: Vec<String> = kept
            .iter()
            .filter(|(_, mode)| more(mode))
            .map(|(gpu, _)| gpu.clone())
            .collect();
        let mut failures = Vec::new();
        for gpu in given_up {
            match self.set_own(&gpu, None) {
                Err(refusal) if self.is_there(&gpu) => failures.push(refusal.to_string()),
                // It has given it up, or has gone meanwhile.
                _ => {
                    kept.remove(&gpu);
                }
            }
        }
        match failures.is_empty() {
            true => Ok(kept),
            false => Err(Refusal(failures.join("; "))),
        }
    }

    /// The modes that GPUs have of their own.
    pub fn own_modes(&self) -> Result<OwnModes, Refusal> {
        let all = self.gpus()?.into_iter();
        Ok(all.filter_map(|(gpu, mode)| Some((gpu, mode?))).collect())
    }

    fn rules_in_force(&self) -> Result<Vec<InForce>, Refusal> {
        let mut all = Vec::new();
        for shown in self.rules()?.rules {
            let rule = Rule::parse(&shown.text).map_err(|error| {
                Refusal(format!(
                    "rule '{}' of the module is unknown here ({error}): \
                     take the program that belongs to the module",
                    shown.text
                ))
            })?;
            let dead = shown.dead;
            all.push(InForce { rule, dead });
        }
        Ok(all)
    }

    fn access(&self) -> Result<Option<Access>, Refusal> {
        let path = self.path(DEVICE);
        let data = match fs::metadata(&path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot("look at", &path, &error)),
        };
        Ok(Some(Access {
            owner: user_name(data.uid()),
            group: group_name(data.gid()),
            mode: data.mode() & 0o777,
        }))
    }
}

impl Kernel for Host {
    fn state(&self) -> Result<State, Refusal> {
        self.need_module()?;
        Ok(State {
            parameters: self.all_parameters()?,
            gpus: self.gpus()?,
            rules: self.rules_in_force()?,
            access: self.access()?,
        })
    }

    fn modes(&self) -> Result<Modes, Refusal> {
        Ok(Modes {
            all: self.parameter("mode")?,
            own: self.own_modes()?,
        })
    }

    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), Refusal> {
        Ok(self.write(&parameter_path(name), value)?)
    }

    fn set_own(&mut self, gpu: &str, mode: Option<&str>) -> Result<(), Refusal> {
        Ok(self.write(&own_path(gpu), mode.unwrap_or(AS_MODULE))?)
    }

    fn is_there(&self, gpu: &str) -> bool {
        self.path(gpu_path(gpu)).exists()
    }

    fn add_rule(&mut self, rule: &Rule) -> Result<Added, Refusal> {
        match self.write(&rules_path("add"), &rule.to_string()) {
            Ok(()) => Ok(Added::InForce),
            Err(failure) if failure.seen && failure.error.kind() == io::ErrorKind::NotFound => {
                Ok(Added::NoCgroup)
            }
            Err(failure) if failure.error.raw_os_error() == Some(Errno::ESRCH as i32) => {
                Ok(Added::NoProcess)
            }
            Err(failure) => Err(failure.into()),
        }
    }

    fn delete_rule(&mut self, id: u32) -> Result<(), Refusal> {
        Ok(self.write(&rules_path("del"), &id.to_string())?)
    }

    fn as_shown(&self, access: &Access) -> Access {
        let (owner, group) = (user(&access.owner), group(&access.group));
        Access {
            owner: owner.map_or_else(|_| access.owner.clone(), user_name),
            group: group.map_or_else(|_| access.group.clone(), group_name),
            mode: access.mode,
        }
    }

    fn set_access(&mut self, access: &Access) -> Result<(), Refusal> {
        let path = self.path(DEVICE);
        let (owner, group) = (user(&access.owner)?, group(&access.group)?);
        chown(&path, Some(owner), Some(group))
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(access.mode)))
            .map_err(|error| cannot("change who may open", &path, &error))
    }
}

/// The folder in which the module shows its GPUs.
const FOLDER: &str = "sys/devices/faux/amd_gpreempt";

/// The folder of a GPU.
fn gpu_path(gpu: &str) -> String {
    format!("{FOLDER}/gpu_{gpu}")
}

/// The file with the mode of one GPU.
fn own_path(gpu: &str) -> String {
    format!("{}/mode", gpu_path(gpu))
}

/// The file of a parameter.
pub fn parameter_path(name: &str) -> String {
    format!("sys/module/{MODULE}/parameters/{name}")
}

/// The file that takes rules (`add`) or their numbers (`del`).
pub fn rules_path(what: &str) -> String {
    format!("sys/devices/faux/{MODULE}/rules_{what}")
}

/// The user and the group with the number 0, also where nothing lists them.
const ROOT: &str = "root";

/// The name of a user or a group, or the number of one without a name.
fn name(number: u32, listed: Option<String>) -> String {
    match number {
        0 => ROOT.to_owned(),
        _ => listed.unwrap_or_else(|| number.to_string()),
    }
}

fn user_name(number: u32) -> String {
    let user = User::from_uid(Uid::from_raw(number)).ok().flatten();
    name(number, user.map(|user| user.name))
}

fn group_name(number: u32) -> String {
    let group = Group::from_gid(Gid::from_raw(number)).ok().flatten();
    name(number, group.map(|group| group.name))
}

fn user(name: &str) -> Result<u32, Refusal> {
    if name == ROOT {
        return Ok(0);
    }
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    match User::from_name(name) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        _ => Err(Refusal(format!(
            "[hints]: there is no user '{name}': make it with 'adduser --system {name}'"
        ))),
    }
}

fn group(name: &str) -> Result<u32, Refusal> {
    if name == ROOT {
        return Ok(0);
    }
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    match Group::from_name(name) {
        Ok(Some(group)) => Ok(group.gid.as_raw()),
        _ => Err(Refusal(format!(
            "[hints]: there is no group '{name}': make it with 'addgroup --system {name}'"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_anything_may_be_changed_is_found_out_without_changing_it() {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::new(directory.path());
        let files = [rules_path("add"), rules_path("del"), parameter_path("mode")];
        for file in &files {
            let path = host.path(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let refusal = host.may_change().unwrap_err().to_string();
            assert!(refusal.contains(file.as_str()), "{refusal}");
            fs::write(path, "as it was").unwrap();
        }
        assert_eq!(host.may_change(), Ok(()));
        for file in &files {
            assert_eq!(host.read(file).unwrap(), "as it was");
        }
    }
}
