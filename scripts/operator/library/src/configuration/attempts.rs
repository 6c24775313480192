// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of configurations that may have made the host fail.
//!
//! Before a configuration is applied, it is written to a file together with the
//! boot in which that happens. Once the host has run with it for a while, or is
//! shut down in an orderly way, the file is removed, for which a full disk has
//! room. A configuration that was being tried in an earlier boot and did not get
//! that far has made the host fail, as far as can be known.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

use crate::configuration::config::Config;
use crate::configuration::file_text;
use crate::host::file::{remove, replace};
use crate::host::tree::{cannot, Host, Refusal, MODULE};

/// Where the file is, without the first slash.
pub const PLACE: &str = "var/lib/amd-gpreempt/attempts.json";
/// After how many failures a configuration is not applied any more.
pub const MOST_FAILURES: u32 = 2;

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// What was applied last: the module's version, and the configuration.
    what: String,
    /// The boot in which it is being tried; none once another one is in force.
    trying: Option<String>,
    /// In how many boots it has made the host fail.
    pub failures: u32,
}

impl Attempts {
    /// What is remembered; nothing where there is no such file.
    pub fn read(host: &Host) -> Result<Attempts, Refusal> {
        let path = host.path(PLACE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Attempts::default()),
            Err(error) => return Err(cannot("read", &path, &error)),
        };
        // A host that fails may leave half a file, or other bytes: nothing is known then.
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Whether this configuration has made the host fail too often.
    pub fn is_barred(&self, host: &Host, config: &Config) -> bool {
        self.what == identity(host, config) && self.failures_by(&boot(host)) >= MOST_FAILURES
    }

    /// What is to be written before a configuration is applied, or why it must
    /// not be.
    pub fn begin(self, host: &Host, config: &Config) -> Result<Attempts, Refusal> {
        let (what, boot) = (identity(host, config), boot(host));
        let failures = match self.what == what {
            true => self.failures_by(&boot),
            false => 0,
        };
        if failures >= MOST_FAILURES {
            return Err(Refusal(format!(
                "the host failed {failures} times with this configuration, so that it is not \
                 applied: change it, or run 'gpreempt apply --again'"
            )));
        }
        Ok(Attempts {
            trying: Some(boot),
            what,
            failures,
        })
    }

    /// The host runs with what is being tried, so that nothing is held against it.
    /// What is known of one that is not being tried in this boot stays.
    pub fn good(self, host: &Host) -> Attempts {
        match self.is_tried_in(&boot(host)) {
            true => Attempts::default(),
            false => self,
        }
    }

    /// This configuration comes into force without being tried. What happens from
    /// now on is not the doing of another one.
    pub fn replaced_by(self, host: &Host, config: &Config) -> Attempts {
        if !self.is_tried_in(&boot(host)) || self.what == identity(host, config) {
            return self;
        }
        Attempts {
            trying: None,
            ..self
        }
    }

    fn is_tried_in(&self, boot: &str) -> bool {
        self.trying.as_deref() == Some(boot)
    }

    /// Failures until now, in the boot of this name.
    fn failures_by(&self, boot: &str) -> u32 {
        let ended = self.trying.as_ref().is_some_and(|tried| tried != boot);
        self.failures.saturating_add(u32::from(ended))
    }

    /// Writes it so that it is there after a failure of the host. Where there is
    /// nothing to remember there is no file, and no room is needed for that.
    pub fn write(&self, host: &Host) -> Result<(), Refusal> {
        if self.trying.is_none() && self.failures == 0 {
            return remove(&host.path(PLACE));
        }
        let text = serde_json::to_string(self).map_err(|error| Refusal(error.to_string()))?;
        replace(&host.path(PLACE), &text, 0o600)
    }
}

/// What tells attempts apart: another version of the module is another attempt.
fn identity(host: &Host, config: &Config) -> String {
    let version = host.try_read(&format!("sys/module/{MODULE}/version"));
    let version = version.unwrap_or_default();
    format!("# {}\n{}", version.trim(), file_text::toml(config))
}

fn boot(host: &Host) -> String {
    let id = host.try_read("proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine {
        directory: tempfile::TempDir,
        config: Config,
    }

    impl Machine {
        fn new() -> Machine {
            Machine {
                directory: tempfile::tempdir().unwrap(),
                config: Config::parse("mode = \"enforce\"").unwrap(),
            }
        }

        fn host(&self) -> Host {
            Host::new(self.directory.path())
        }

        fn write(&self, path: &str, text: &str) {
            replace(&self.host().path(path), text, 0o600).unwrap();
        }

        fn boot(&self, id: &str) {
            self.write("proc/sys/kernel/random/boot_id", id);
        }

        fn try_it(&self) -> Result<(), Refusal> {
            let host = self.host();
            Attempts::read(&host)?
                .begin(&host, &self.config)?
                .write(&host)
        }

        fn is_good(&self) {
            let host = self.host();
            let attempts = Attempts::read(&host).unwrap();
            attempts.good(&host).write(&host).unwrap();
        }

        fn put_into_force(&self, config: &Config) {
            let host = self.host();
            let attempts = Attempts::read(&host).unwrap();
            attempts.replaced_by(&host, config).write(&host).unwrap();
        }

        fn is_barred(&self) -> bool {
            let host = self.host();
            Attempts::read(&host)
                .unwrap()
                .is_barred(&host, &self.config)
        }
    }

    fn attempts_in(boot: &str) -> Attempts {
        Attempts {
            trying: Some(boot.into()),
            ..Attempts::default()
        }
    }

    #[test]
    fn two_boots_that_end_badly_bar_a_configuration() {
        let machine = Machine::new();
        machine.boot("a");
        machine.try_it().unwrap();
        machine.try_it().unwrap();
        assert!(!machine.is_barred(), "a reload of the module is no failure");
        machine.boot("b");
        machine.try_it().unwrap();
        machine.boot("c");
        assert!(machine.is_barred());
        let refusal = machine.try_it().unwrap_err().to_string();
        assert!(
            refusal.contains("failed 2 times") && refusal.contains("--again"),
            "{refusal}"
        );
        machine.boot("d");
        assert!(machine.try_it().is_err(), "it stays barred");
    }

    #[test]
    fn what_went_well_is_no_failure() {
        let machine = Machine::new();
        for boot in ["a", "b", "c", "d"] {
            machine.boot(boot);
            machine.try_it().unwrap();
            machine.is_good();
            assert!(!machine.host().path(PLACE).exists());
        }
        machine.boot("e");
        machine.try_it().unwrap();
        machine.boot("f");
        assert!(!machine.is_barred(), "one failure since it was good");
    }

    #[test]
    fn what_is_not_being_tried_does_not_become_good() {
        let machine = Machine::new();
        for boot in ["a", "b", "c"] {
            machine.boot(boot);
            let _ = machine.try_it();
        }
        machine.is_good();
        assert!(machine.is_barred(), "it was not applied in this boot");
    }

    #[test]
    fn what_was_replaced_is_not_to_blame_and_keeps_its_failures() {
        let machine = Machine::new();
        let other = Config::parse("mode = \"observe\"").unwrap();
        for boot in ["a", "b", "c"] {
            machine.boot(boot);
            machine.try_it().unwrap();
            machine.put_into_force(&other);
        }
        machine.try_it().unwrap();
        machine.put_into_force(&machine.config);
        machine.boot("d");
        machine.try_it().unwrap();
        machine.put_into_force(&other);
        machine.is_good();
        machine.boot("e");
        assert!(!machine.is_barred(), "it failed once, in boot c");
        machine.try_it().unwrap();
        machine.boot("f");
        assert!(machine.is_barred(), "and again in boot e");
        machine.put_into_force(&other);
        assert!(machine.is_barred(), "boot e is over");
    }

    #[test]
    fn another_configuration_or_module_is_another_attempt() {
        let mut machine = Machine::new();
        for boot in ["a", "b", "c"] {
            machine.boot(boot);
            let _ = machine.try_it();
        }
        assert!(machine.is_barred());
        machine.write("sys/module/amd_gpreempt/version", "9.9.9\n");
        assert!(!machine.is_barred());
        machine.write("sys/module/amd_gpreempt/version", "");
        assert!(machine.is_barred());
        machine.config = Config::parse("mode = \"enforce\"\n# a comment changes nothing").unwrap();
        assert!(machine.is_barred());
        machine.config = Config::parse("mode = \"observe\"").unwrap();
        machine.try_it().unwrap();
    }

    #[test]
    fn as_many_failures_as_can_be_counted_are_still_too_many() {
        let machine = Machine::new();
        machine.boot("a");
        machine.try_it().unwrap();
        let host = machine.host();
        let mut attempts = Attempts::read(&host).unwrap();
        attempts.failures = u32::MAX;
        attempts.write(&host).unwrap();
        machine.boot("b");
        assert!(machine.is_barred());
        assert!(machine.try_it().is_err());
    }

    #[test]
    fn half_a_file_is_as_none_and_an_unreadable_one_is_refused() {
        let machine = Machine::new();
        machine.write(PLACE, "");
        for damaged in [
            &b"{\"what\":\"mode"[..],
            b"",
            b"\0\0\0",
            b"\xff\xfe{}",
            b"[]",
        ] {
            fs::write(machine.host().path(PLACE), damaged).unwrap();
            assert_eq!(
                Attempts::read(&machine.host()).unwrap(),
                Attempts::default(),
                "{damaged:?}"
            );
        }
        fs::remove_file(machine.host().path(PLACE)).unwrap();
        fs::create_dir(machine.host().path(PLACE)).unwrap();
        assert!(Attempts::read(&machine.host()).is_err());
        for (attempts, what) in [
            (Attempts::default(), "cannot remove "),
            (attempts_in("a"), "cannot write "),
        ] {
            let refusal = attempts.write(&machine.host()).unwrap_err().to_string();
            assert!(refusal.starts_with(what), "{refusal}");
        }
        let left = fs::read_dir(machine.host().path("var/lib/amd-gpreempt")).unwrap();
        assert_eq!(left.count(), 1, "the new file is gone");
    }
}
