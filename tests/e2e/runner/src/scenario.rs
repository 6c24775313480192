// SPDX-License-Identifier: GPL-2.0-only
//! Scenarios: what is run in a guest, what it needs, and how it is judged.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{bail, Error, Result};
use vgpu_model::{Product, ReadPointer};

use crate::background;
use crate::cache::{Cache, Kernel};
use crate::checkers;
use crate::device::Shape;
use crate::failed::{keep_guest, keep_machine, Failures, NotStarted};
use crate::guest::Guest;
use crate::image::{Clock, Image};
use crate::log::objections;
use crate::machine::Console;
use crate::partitions::Partitions;
use crate::plan::{Extent, Group};
use crate::results::Results;
use crate::storm::Plan;
use crate::strict;

pub use crate::needs::Needs;

/// The option of a kernel that checks each access to memory.
const KASAN: &str = "CONFIG_KASAN";

/// How the driver is loaded for a virtual function: as where nobody says anything, since
/// there is a security processor to load firmware, and nothing to mask.
const VIRTUAL_FUNCTION: &str = "fw_load_type=-1 ip_block_mask=0xffffffff";

/// Engines for copies of a GPU that is divided, for each die: as many as the hardware has.
const COPY_ENGINES_OF_A_DIE: u32 = 2;

/// Which command runs a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// The virtual GPU with the stock driver alone.
    Vgpu,
    /// With our module.
    E2e,
    /// A storm of the seed and the length that are asked for.
    Storm,
    /// Faults of the GPU in each state of the module.
    Matrix,
    /// The same again and again, to be added up over many runs.
    Endurance,
}

impl Suite {
    /// How many of the guests each of its scenarios has, where nothing is chosen. The
    /// module may meet another driver with each; the virtual GPU is the same for all.
    pub fn extent(self) -> Extent {
        match self {
            Suite::Vgpu => Extent::Turn,
            Suite::E2e => Extent::Spread,
            _ => Extent::Everywhere,
        }
    }

    /// The name by which it is run.
    pub fn name(self) -> &'static str {
        match self {
            Suite::Vgpu => "vgpu",
            Suite::E2e => "e2e",
            Suite::Storm => "storm",
            Suite::Matrix => "matrix",
            Suite::Endurance => "endurance",
        }
    }
}

/// A scenario: a name, and what it does to a guest.
#[derive(Debug, PartialEq, Eq)]
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
    pub product: Product,
    pub xcc: u32,
    /// How often scenarios that count on repetition repeat.
    pub cycles: u32,
    /// Parameters of the module besides a scenario's own.
    pub parameters: String,
    /// What the suite of storms does.
    pub storm: Plan,
    /// That of scenarios which do not need one of their own.
    pub clock: Clock,
    /// Their GPU is a virtual function, whatever a scenario needs.
    pub virtual_function: bool,
    /// How their GPU is divided.
    pub partitions: Partitions,
}

impl Configuration {
    /// Guests that run what they are told to, with the module's defaults.
    pub fn new(kernel: Kernel, xcc: u32) -> Self {
        Self {
            kernel,
            product: Product::default(),
            xcc,
            cycles: 0,
            parameters: String::new(),
            storm: Plan::default(),
            clock: Clock::Host,
            virtual_function: false,
            partitions: Partitions::Spx,
        }
    }

    /// The dies of each node that the driver makes of the GPU.
    pub fn dies(&self) -> u32 {
        self.xcc / self.partitions.count(self.xcc)
    }

    pub(crate) fn is_virtual(&self, needs: &Needs) -> bool {
        self.virtual_function || needs.virtual_function
    }

    pub(crate) fn product_for(&self, needs: &Needs) -> Product {
        needs.product.unwrap_or(self.product)
    }

    /// The GPU, where it is not the usual one, in the words of `say`.
    fn unusual(&self, say: impl Fn(Product) -> String) -> String {
        let unusual = (self.product != Product::default()).then_some(self.product);
        unusual.map(say).unwrap_or_default()
    }

    fn image(&self, needs: &Needs) -> Image {
        let append = if self.kernel.has(KASAN) {
            // Not only the first report.
            "kasan_multi_shot"
        } else if ["6.12", "7.2"].contains(&self.kernel.series.as_str()) {
            // The older kernels check their slab caches: stray accesses of driver,
            // module and device show there.
            "slub_debug=FZPU"
        } else {
            ""
        };
        let mut amdgpu = Vec::new();
        if self.is_virtual(needs) {
            amdgpu.push(VIRTUAL_FUNCTION.to_owned());
        }
        if needs.sched_policy != 0 {
            amdgpu.push(format!("sched_policy={}", needs.sched_policy));
        }
        Image {
            kernel: self.kernel.clone(),
            product: self.product_for(needs),
            memory_mib: 4096,
            gpus: if needs.eight_gpus { 8 } else { 4 },
            amdgpu: amdgpu.join(" "),
            append: append.into(),
            processors: if needs.one_processor { 1 } else { 2 },
            clock: match self.clock {
                Clock::Host if needs.own_clock => Clock::Own,
                clock => clock,
            },
            seed: None,
            holds_us: None,
        }
    }

    pub fn shape(&self, needs: &Needs) -> Shape {
        let mut shape = Shape::new(self.xcc);
        shape.product = self.product_for(needs);
        if needs.small {
            shape.cu_per_sh = 1;
            shape.vram_mib = 512;
        }
        shape.virtual_function = self.is_virtual(needs);
        if needs.divided_memory {
            shape.memory_partitions = 4;
        }
        shape.partitions = self.partitions;
        if needs.divisible || self.partitions != Partitions::Spx {
            shape.sdma = COPY_ENGINES_OF_A_DIE * shape.xcc;
        }
        shape
    }

    /// The command that runs a scenario on these guests alone.
    fn command(&self, scenario: &Scenario) -> String {
        let Configuration { kernel, xcc, .. } = self;
        let product = self.unusual(|product| format!(" --gpu {product}"));
        let parameters = match self.parameters.as_str() {
            "" => String::new(),
            parameters => format!(" --parameters '{parameters}'"),
        };
        let suite = scenario.suite.name();
        let mut command = if let Some(origin) = &kernel.origin {
            format!("{suite} {origin}")
        // Of the others, a kernel that is not of the cache has no series.
        } else if kernel.series != kernel.release {
            format!("{suite} --kernel {}", kernel.series)
        } else {
            let memory = if kernel.has(KASAN) { "--memory " } else { "" };
            let parts: Vec<&str> = kernel.release.splitn(3, '.').take(2).collect();
            format!("debug {memory}--kernel {} {suite}", parts.join("."))
        };
        if self.virtual_function {
            command += " --virtual-function";
        }
        command += match self.clock {
            // Who wants such a clock has it without being asked.
            Clock::Own if !scenario.needs.own_clock => " --clock guest",
            Clock::Host | Clock::Own => "",
            Clock::Hurried => " --clock hurried",
        };
        if self.partitions != Partitions::Spx {
            let mode = self.partitions.mode().to_lowercase();
            command += &format!(" --partitions {mode}");
        }
        if scenario.suite == Suite::Storm {
            command += &self.storm.options();
        }
        // As a shell takes an apostrophe.
        let name = scenario.name.replace('\'', r"'\''");
        format!("scripts/test/{command} --xcc {xcc}{product}{parameters} --filter '{name}'")
    }

    /// A guest for a scenario with these needs.
    pub fn start(&self, cache: &Cache, needs: &Needs) -> Result<Guest> {
        self.start_at(cache, needs, Console::File)
    }

    /// A guest whose console is somewhere else.
    pub fn start_at(&self, cache: &Cache, needs: &Needs, at: Console) -> Result<Guest> {
        let (image, shape) = (self.image(needs), self.shape(needs));
        let start = || Guest::start(cache, &image, &shape, self.cycles, at);
        // On a busy host the driver's tests of its rings may run out of time,
        // before anything of ours is there.
        let mut guest = start().or_else(|error| {
            eprintln!("a guest is started once more: {error:#}");
            start()
        })?;
        guest.parameters.clone_from(&self.parameters);
        guest.storm = self.storm;
        Ok(guest)
    }
}

/// Where is kept what becomes of scenarios.
pub struct Kept {
    pub failures: Failures,
    pub results: Results,
}

/// How many scenarios passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u32,
    pub failed: u32,
}

/// Runs scenarios one after the other, in one guest as long as none spoils it.
pub fn run_group(cache: &Cache, kept: &Kept, group: &Group<'_>) -> Tally {
    let configuration = group.configuration;
    let mut tally = Tally::default();
    let mut guest: Option<Guest> = None;
    for scenario in &group.scenarios {
        let start = Instant::now();
        let name = format!(
            "{}, {}{} XCC: {}",
            configuration.kernel.series,
            configuration.unusual(|product| format!("{product}, ")),
            configuration.xcc,
            scenario.name
        );
        let mut outcome = run_one(cache, configuration, scenario, &mut guest);
        if outcome.is_err() && guest.as_ref().is_some_and(Guest::ended_by_emulator) {
            println!("again   {name}: QEMU ran a breakpoint that the kernel had removed");
            guest = None;
            outcome = run_one(cache, configuration, scenario, &mut guest);
        }
        let seconds = start.elapsed().as_secs();
        kept.results.add(configuration, scenario, outcome.is_ok());
        match outcome {
            Ok(()) => {
                tally.passed += 1;
                println!("ok      {name} ({seconds} s)");
            }
            Err(error) => {
                tally.failed += 1;
                let text = format!("FAILED  {name} ({seconds} s)\n{error:#}\n");
                let kept = match keep(&kept.failures, &name, &error, guest.as_mut()) {
                    Ok(place) => format!("what it left is in {}", place.display()),
                    Err(error) => format!("what it left is not kept: {error:#}"),
                };
                let again = configuration.command(scenario);
                let text = format!("{text}{kept}\nto run it again: {again}");
                // In one piece, because other guests print as well.
                println!("{}", text.replace('\n', "\n        "));
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
    Partitions::restore(guest)?;
    guest
        .device
        .set_read_pointer(if scenario.needs.rptr_at_completion {
            ReadPointer::Completion
        } else {
            ReadPointer::Launch
        })?;
    if strict::always() {
        strict::watched(guest, scenario.run)?;
    } else {
        (scenario.run)(guest)?;
    }
    background::end_all(guest)?;
    if scenario.suite == Suite::Vgpu {
        check_registers(guest)?;
    }
    check_log(guest)?;
    checkers::ask(guest)
}

/// Refuses what the kernel has said since the last call, if it should not have.
pub fn check_log(guest: &mut Guest) -> Result<()> {
    let (lines, expected) = guest.take_log()?;
    let bad = objections(&lines, &expected);
    if !bad.is_empty() {
        let text: Vec<&str> = bad.iter().take(20).map(|line| line.text.as_str()).collect();
        bail!("the kernel log has\n{}", text.join("\n"));
    }
    Ok(())
}

/// Keeps what a failed scenario leaves behind, and returns where.
fn keep(
    failures: &Failures,
    name: &str,
    error: &Error,
    guest: Option<&mut Guest>,
) -> Result<PathBuf> {
    let place = failures.place(name)?;
    fs::write(place.join("failure"), format!("{name}\n{error:?}\n"))?;
    if let Some(guest) = guest {
        keep_guest(guest, &place);
    } else if let Some(NotStarted { directory, .. }) = error.downcast_ref() {
        keep_machine(directory.path(), &place);
    }
    Ok(place)
}

/// Refuses accesses of the stock driver to registers that the model does not know.
fn check_registers(guest: &mut Guest) -> Result<()> {
    let registers = guest.device.registers()?;
    let unknown: Vec<String> = registers
        .iter()
        .filter(|register| register.name.is_none())
        .map(|register| format!("{:?} {:#06x}", register.block, register.register))
        .collect();
    if !unknown.is_empty() {
        bail!(
            "the driver accesses {} registers that are not in the model's known.txt: {}",
            unknown.len(),
            unknown.join(", ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command for a scenario on a kernel with that name, or on an image.
    fn command(series: &str, origin: Option<&str>) -> String {
        command_by(Clock::Host, series, origin)
    }

    fn command_by(clock: Clock, series: &str, origin: Option<&str>) -> String {
        let kernel = Kernel {
            series: series.into(),
            release: "7.3.4".into(),
            image: PathBuf::new(),
            origin: origin.map(str::to_owned),
        };
        let scenario = Scenario {
            suite: Suite::E2e,
            name: "all's well",
            needs: Needs::ANY,
            run: |_| Ok(()),
        };
        let configuration = Configuration {
            clock,
            ..Configuration::new(kernel, 8)
        };
        configuration.command(&scenario)
    }

    #[test]
    fn a_failed_scenario_is_run_again_as_it_was() {
        assert_eq!(
            command("7.3", None),
            "scripts/test/e2e --kernel 7.3 --xcc 8 --filter 'all'\\''s well'"
        );
        assert_eq!(
            command_by(Clock::Own, "7.3", None),
            "scripts/test/e2e --kernel 7.3 --clock guest --xcc 8 --filter 'all'\\''s well'"
        );
        assert_eq!(
            command("7.3.4", None),
            "scripts/test/debug --kernel 7.3 e2e --xcc 8 --filter 'all'\\''s well'"
        );
    }

    #[test]
    fn with_the_driver_that_it_has_met() {
        assert_eq!(
            command("7.3.4", Some("--kernel 7.3 --driver '/a b'")),
            "scripts/test/e2e --kernel 7.3 --driver '/a b' --xcc 8 --filter 'all'\\''s well'"
        );
    }
}
