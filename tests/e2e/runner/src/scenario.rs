// SPDX-License-Identifier: GPL-2.0
//! Scenarios: what is run in a guest, what it needs, and how it is judged.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{bail, Result};

use crate::cache::{logs, make_directory, Cache, Kernel};
use crate::checkers;
use crate::device::Shape;
use crate::guest::Guest;
use crate::image::Image;
use crate::log::objections;
use crate::machine::Console;

/// Which command runs a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// The virtual GPU with the stock driver alone.
    Vgpu,
    /// With our module.
    E2e,
}

/// On which guests a scenario makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// `amdgpu.sched_policy`.
    pub sched_policy: u32,
    /// Only on a GPU of one die.
    pub one_die: bool,
    /// A small GPU: many queues must fit the guest's memory, or video memory
    /// must fill up.
    pub small: bool,
    /// AQL read pointers that move at completion.
    pub rptr_at_completion: bool,
    /// It leaves the guest in a state that no other scenario should meet.
    pub spoils: bool,
}

impl Needs {
    /// Nothing in particular.
    pub const ANY: Needs = Needs {
        sched_policy: 0,
        one_die: false,
        small: false,
        rptr_at_completion: false,
        spoils: false,
    };
}

/// A scenario: a name, and what it does to a guest.
pub struct Scenario {
    pub suite: Suite,
    pub name: &'static str,
    pub needs: Needs,
    pub run: fn(&mut Guest) -> Result<()>,
}

/// The guests of one kernel and one number of dies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    pub kernel: Kernel,
    pub xcc: u32,
    /// How often scenarios that count on repetition repeat.
    pub cycles: u32,
}

impl Configuration {
    fn image(&self, needs: &Needs) -> Image {
        // The older kernel checks its slab caches: stray accesses of driver,
        // module and device show there.
        let append = if self.kernel.series == "7.2" {
            "slub_debug=FZPU"
        } else {
            ""
        };
        let amdgpu = match needs.sched_policy {
            0 => String::new(),
            policy => format!("sched_policy={policy}"),
        };
        Image {
            kernel: self.kernel.clone(),
            memory_mib: 4096,
            amdgpu,
            append: append.into(),
        }
    }

    fn shape(&self, needs: &Needs) -> Shape {
        let mut shape = Shape::new(self.xcc);
        shape.rptr_at_completion = needs.rptr_at_completion;
        if needs.small {
            shape.cu_per_sh = 1;
            shape.vram_mib = 512;
        }
        shape
    }

    /// A guest as a scenario with these needs wants it.
    pub fn start(&self, cache: &Cache, needs: &Needs) -> Result<Guest> {
        self.start_at(cache, needs, Console::File)
    }

    /// A guest whose console is somewhere else.
    pub fn start_at(&self, cache: &Cache, needs: &Needs, at: Console) -> Result<Guest> {
        let (image, shape) = (self.image(needs), self.shape(needs));
        Guest::start(cache, &image, &shape, self.cycles, at)
    }
}

/// How many scenarios passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u32,
    pub failed: u32,
}

/// Runs scenarios one after the other on one configuration, in as few guests as
/// can be.
pub fn run_all(cache: &Cache, configuration: &Configuration, scenarios: &[&Scenario]) -> Tally {
    let mut tally = Tally::default();
    let mut order: Vec<&&Scenario> = scenarios
        .iter()
        .filter(|scenario| !scenario.needs.one_die || configuration.xcc == 1)
        .collect();
    // Those that can share a guest follow each other.
    order.sort_by_key(|scenario| {
        let needs = scenario.needs;
        (
            needs.sched_policy,
            needs.small,
            needs.rptr_at_completion,
            needs.spoils,
        )
    });
    let mut guest: Option<Guest> = None;
    for scenario in order {
        let start = Instant::now();
        let fits = guest.as_ref().is_some_and(|guest| {
            guest.image == configuration.image(&scenario.needs)
                && guest.shape == configuration.shape(&scenario.needs)
        });
        if !fits {
            guest = None;
        }
        let outcome = run_one(cache, configuration, scenario, &mut guest);
        let name = format!(
            "{}, {} XCC: {}",
            configuration.kernel.series, configuration.xcc, scenario.name
        );
        let seconds = start.elapsed().as_secs();
        match outcome {
            Ok(()) => {
                tally.passed += 1;
                println!("ok      {name} ({seconds} s)");
            }
            Err(error) => {
                tally.failed += 1;
                println!("FAILED  {name} ({seconds} s)");
                println!(
                    "        {}",
                    format!("{error:#}").replace('\n', "\n        ")
                );
                if let Some(guest) = &mut guest {
                    if let Some(place) = keep(configuration, scenario, guest) {
                        println!("        see {}", place.display());
                    }
                }
                guest = None;
            }
        }
        if scenario.needs.spoils {
            guest = None;
        }
    }
    tally
}

fn run_one(
    cache: &Cache,
    configuration: &Configuration,
    scenario: &Scenario,
    slot: &mut Option<Guest>,
) -> Result<()> {
    let guest = match slot {
        Some(guest) => guest,
        None => slot.insert(configuration.start(cache, &scenario.needs)?),
    };
    (scenario.run)(guest)?;
    checkers::ask(guest)?;
    let (lines, expected) = guest.take_log()?;
    let bad = objections(&lines, &expected);
    if !bad.is_empty() {
        let text: Vec<&str> = bad.iter().take(20).map(|line| line.text.as_str()).collect();
        bail!("the kernel log has\n{}", text.join("\n"));
    }
    Ok(())
}

/// Keeps what a failed scenario leaves behind, as far as it can be had.
fn keep(configuration: &Configuration, scenario: &Scenario, guest: &mut Guest) -> Option<PathBuf> {
    let place = logs().ok()?.join(format!(
        "{}-{}-{}",
        configuration.kernel.series,
        configuration.xcc,
        scenario.name.replace([' ', '/', ','], "-")
    ));
    make_directory(&place).ok()?;
    for name in ["console", "gpu.log", "qemu.log"] {
        let _ = fs::copy(guest.directory().join(name), place.join(name));
    }
    if let Ok(state) = guest.device.state() {
        let _ = fs::write(place.join("state"), format!("{state:#?}"));
    }
    if let Ok(hiq) = guest.device.hiq(0) {
        let lines: Vec<String> = hiq.iter().map(|record| format!("{record:?}")).collect();
        let _ = fs::write(place.join("hiq"), lines.join("\n"));
    }
    if let Ok(trace) = guest.device.trace() {
        let _ = fs::write(place.join("trace.json"), trace.to_string());
    }
    if let Ok((lines, _)) = guest.agent().log(0) {
        let lines: Vec<String> = lines
            .iter()
            .map(|line| format!("{:.6} {}", line.time_us as f64 / 1e6, line.text))
            .collect();
        let _ = fs::write(place.join("dmesg"), lines.join("\n"));
    }
    Some(place)
}
