// SPDX-License-Identifier: GPL-2.0-only
//! Where set-up has put things: kernels, programs, and room for snapshots.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use sha2::{Digest, Sha256};

use crate::built::check_module;

/// The project's cache folder.
#[derive(Clone, Debug)]
pub struct Cache(PathBuf);

/// A stock kernel of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// As in `7.3`.
    pub series: String,
    /// As in `7.3.4+deb13-amd64`.
    pub release: String,
    /// The directory with `vmlinuz` and `lib/modules`.
    pub image: PathBuf,
    /// Of an image that the script of a suite has made, the options by which it did.
    pub origin: Option<String>,
}

impl Kernel {
    /// A kernel that is not of the cache, by the directory of its image.
    pub fn at(image: &Path) -> Result<Kernel> {
        let modules = image.join("lib/modules");
        let releases: Vec<String> = fs::read_dir(&modules)
            .with_context(|| format!("cannot read {}", modules.display()))?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        let [release] = releases.as_slice() else {
            bail!(
                "{} has modules of {} kernels; give a directory with those of one",
                modules.display(),
                releases.len()
            );
        };
        Ok(Kernel {
            series: release.clone(),
            release: release.clone(),
            image: image.to_path_buf(),
            origin: None,
        })
    }

    /// Whether it was built with an option, as in `CONFIG_KASAN`, that kernels for tests
    /// alone have. Those have their configuration beside them.
    pub fn has(&self, option: &str) -> bool {
        let line = format!("{option}=y");
        let configuration = fs::read_to_string(self.image.join("config")).unwrap_or_default();
        configuration.lines().any(|each| each == line)
    }

    /// Whether its driver has a function, by the driver's type information. Of a kernel
    /// that is not of the cache, which is one for tests and new, it is believed.
    pub fn driver_has(&self, function: &str) -> bool {
        let information = self.image.with_file_name("btf").join("amdgpu.btf");
        let Ok(information) = fs::read(information) else {
            return true;
        };
        let mut names = information.split(|byte| *byte == 0);
        names.any(|name| name == function.as_bytes())
    }

    /// A module that comes with it, in the place of the one of these sources, beside its
    /// `vmlinuz`.
    pub fn own_module(&self) -> Option<PathBuf> {
        let module = self.image.join("amd_gpreempt.ko");
        module.exists().then_some(module)
    }

    /// The numbers of its series, by which kernels are ordered.
    fn age(&self) -> Vec<u32> {
        let numbers = self.series.split('.');
        numbers.map(|number| number.parse().unwrap_or(0)).collect()
    }
}

impl Cache {
    pub fn open() -> Result<Cache> {
        let path = env::var_os("AMD_GPREEMPT_CACHE").context(
            "AMD_GPREEMPT_CACHE is not set: start the runner with scripts/setup/in-root",
        )?;
        Ok(Cache(path.into()))
    }

    /// Where set-up has put the runtime for GPUs that the root's does not know.
    pub fn newer_runtime(&self) -> PathBuf {
        self.0.join("rocr")
    }

    /// The kernels of these series, or all of them, the oldest first.
    pub fn kernels(&self, series: &[String]) -> Result<Vec<Kernel>> {
        let lock = self.0.join("kernels.lock");
        let text = fs::read_to_string(&lock)
            .with_context(|| format!("cannot read {}: run 'make setup'", lock.display()))?;
        let mut all: Vec<Kernel> = text
            .lines()
            .filter_map(|line| {
                let mut fields = line.split('\t');
                let (series, release) = (fields.next()?, fields.next()?);
                Some(Kernel {
                    series: series.to_string(),
                    release: release.to_string(),
                    image: self.0.join("kernel").join(release).join("image"),
                    origin: None,
                })
            })
            .collect();
        all.sort_by_key(Kernel::age);
        if let Some(missing) = series
            .iter()
            .find(|series| !all.iter().any(|kernel| kernel.series == **series))
        {
            bail!("there is no kernel {missing} in {}", lock.display());
        }
        Ok(all
            .into_iter()
            .filter(|kernel| series.is_empty() || series.contains(&kernel.series))
            .collect())
    }

    /// The kernel of a series, whose module has to be built.
    pub fn kernel_with_module(&self, series: &str) -> Result<Kernel> {
        let mut kernels = self.kernels(&[series.to_owned()])?;
        let kernel = kernels.pop().context("no kernel")?;
        check_module(&kernel.release)?;
        Ok(kernel)
    }

    /// The directory of all snapshots.
    pub fn snapshots(&self) -> PathBuf {
        self.0.join("snapshot")
    }
}

/// The directory of the programs that were built together with this one.
fn programs() -> Result<PathBuf> {
    let own = env::current_exe().context("cannot tell where this program is")?;
    let directory = own.parent().context("this program is in no directory")?;
    Ok(directory.to_path_buf())
}

/// The directory of all that is built from the sources.
pub fn target() -> Result<PathBuf> {
    let programs = programs()?;
    let target = programs
        .parent()
        .context("this program is in no target directory")?;
    Ok(target.to_path_buf())
}

/// Where the module for a kernel is built.
pub fn module(release: &str) -> Result<PathBuf> {
    Ok(target()?
        .join("module")
        .join(release)
        .join("amd_gpreempt.ko"))
}

/// Where the module that holds up unbinding is built for a kernel.
pub fn gate(release: &str) -> Result<PathBuf> {
    Ok(target()?.join("gate").join(release).join("unbind_gate.ko"))
}

/// Where the programs in HIP are built.
pub fn clients() -> Result<PathBuf> {
    Ok(target()?.join("clients").join("clients"))
}

/// Where all that tinygrad needs in a guest is built.
pub fn tinygrad() -> Result<PathBuf> {
    Ok(target()?.join("tinygrad").join("guest"))
}

/// A program that was built together with this one.
pub fn program(name: &str) -> Result<PathBuf> {
    let path = programs()?.join(name);
    if !path.exists() {
        bail!(
            "{} is missing: build the workspace in tests/ first",
            path.display()
        );
    }
    Ok(path)
}

/// A key that differs when any part differs.
pub fn key(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .concat()
}

/// Makes a directory and those above it.
pub fn make_directory(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_at_a_place_has_the_modules_of_one_release() {
        let image = tempfile::tempdir().unwrap();
        let modules = image.path().join("lib/modules");
        assert!(Kernel::at(image.path()).is_err());
        fs::create_dir_all(modules.join("7.3.4-own")).unwrap();
        assert_eq!(Kernel::at(image.path()).unwrap().release, "7.3.4-own");
        fs::create_dir_all(modules.join("7.3.5-own")).unwrap();
        let error = Kernel::at(image.path()).unwrap_err().to_string();
        assert!(error.contains("2 kernels"), "{error}");
    }

    #[test]
    fn a_module_beside_the_kernel_comes_with_it() {
        let image = tempfile::tempdir().unwrap();
        fs::create_dir_all(image.path().join("lib/modules/7.3.4-own")).unwrap();
        let kernel = Kernel::at(image.path()).unwrap();
        assert_eq!(kernel.own_module(), None);
        let module = image.path().join("amd_gpreempt.ko");
        fs::write(&module, "").unwrap();
        assert_eq!(kernel.own_module(), Some(module));
    }

    #[test]
    fn a_key_depends_on_every_part_and_on_where_it_ends() {
        let one = key(&[b"ab", b"c"]);
        assert_eq!(one.len(), 16);
        assert_ne!(one, key(&[b"a", b"bc"]));
        assert_ne!(one, key(&[b"ab", b"d"]));
        assert_eq!(one, key(&[b"ab", b"c"]));
    }
}
