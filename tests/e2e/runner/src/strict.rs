// SPDX-License-Identifier: GPL-2.0-only
//! Strict mode of the virtual GPU, in which only the driver's flushes empty a cache of
//! translations.

use std::env;

use anyhow::{bail, Context, Result};
use vgpu_model::StaleReport;

use crate::guest::Guest;

/// `GP_STRICT=1` runs every scenario in strict mode.
pub fn always() -> bool {
    env::var_os("GP_STRICT").is_some()
}

/// What has a virtual GPU.
pub trait Gpu {
    fn set_strict(&mut self, strict: bool) -> Result<()>;
    fn stale(&mut self) -> Result<Option<StaleReport>>;
}

impl Gpu for Guest {
    fn set_strict(&mut self, strict: bool) -> Result<()> {
        self.device.set_strict(strict)
    }

    fn stale(&mut self) -> Result<Option<StaleReport>> {
        self.device.stale()
    }
}

/// Runs a scenario in strict mode, in which no access may meet a translation that the
/// driver has changed since. Where all are run so, this one is already, and what was found
/// before stays.
pub fn strictly(guest: &mut Guest, run: fn(&mut Guest) -> Result<()>) -> Result<()> {
    alone(guest, always(), run)
}

fn alone<G: Gpu>(gpu: &mut G, already: bool, run: fn(&mut G) -> Result<()>) -> Result<()> {
    if already {
        return run(gpu);
    }
    let outcome = watched(gpu, run);
    gpu.set_strict(false)?;
    outcome
}

/// Runs this in strict mode, which begins with it and stays.
pub fn watched<G: Gpu>(gpu: &mut G, run: impl FnOnce(&mut G) -> Result<()>) -> Result<()> {
    gpu.set_strict(true)?;
    let outcome = run(gpu);
    // What was found may be why it failed.
    match (gpu.stale(), outcome) {
        (Ok(Some(found)), outcome) => match (objection(&found)?, outcome) {
            (None, outcome) => outcome,
            (Some(text), Ok(())) => bail!(text),
            (Some(text), Err(error)) => Err(error.context(text)),
        },
        (Ok(None), Ok(())) => bail!("strict mode was off"),
        (Err(error), Ok(())) => Err(error).context("strict mode cannot say what it has found"),
        (_, Err(error)) => Err(error),
    }
}

fn objection(found: &StaleReport) -> Result<Option<String>> {
    if found.accesses == 0 {
        return Ok(None);
    }
    let first = serde_json::to_string_pretty(&found.first)?;
    let accesses = found.accesses;
    Ok(Some(format!(
        "{accesses} accesses met an old translation: {first}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU that has found so many since strict mode began.
    #[derive(Default)]
    struct Fake {
        found: Option<u64>,
        begun: u32,
    }

    impl Gpu for Fake {
        fn set_strict(&mut self, strict: bool) -> Result<()> {
            self.found = strict.then_some(0);
            self.begun += u32::from(strict);
            Ok(())
        }

        fn stale(&mut self) -> Result<Option<StaleReport>> {
            Ok(self.found.map(|accesses| StaleReport {
                accesses,
                ..StaleReport::default()
            }))
        }
    }

    fn said(run: fn(&mut Fake) -> Result<()>) -> String {
        let mut fake = Fake::default();
        let outcome = watched(&mut fake, run);
        assert_eq!(fake.begun, 1);
        match outcome {
            Ok(()) => "nothing".to_owned(),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn what_was_found_is_said_whatever_else_failed() {
        assert_eq!(said(|_| Ok(())), "nothing");
        assert_eq!(said(|_| bail!("it broke")), "it broke");
        let found = said(|fake| {
            fake.found = Some(3);
            Ok(())
        });
        assert!(
            found.starts_with("3 accesses met an old translation"),
            "{found}"
        );
        let both = said(|fake| {
            fake.found = Some(2);
            bail!("it broke")
        });
        assert!(both.starts_with("2 accesses met an old"), "{both}");
        assert!(both.ends_with(": it broke"), "{both}");
        assert_eq!(
            said(|fake| {
                fake.found = None;
                Ok(())
            }),
            "strict mode was off"
        );
    }

    #[test]
    fn what_was_found_before_a_part_stays_found() {
        let found = said(|fake| {
            fake.found = Some(1);
            alone(fake, true, |_| Ok(()))
        });
        assert!(found.starts_with("1 accesses met"), "{found}");
    }

    #[test]
    fn strict_mode_ends_with_the_scenario_that_wants_it() {
        let mut fake = Fake::default();
        alone(&mut fake, false, |fake| {
            assert_eq!(fake.found, Some(0));
            Ok(())
        })
        .unwrap();
        assert_eq!((fake.found, fake.begun), (None, 1));
    }
}
