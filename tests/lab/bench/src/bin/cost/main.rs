// SPDX-License-Identifier: GPL-2.0-only
//! What the module itself costs: the time of its passes, from a look to the
//! packet, its wake-ups, its memory, the instructions of both builds, and what many
//! nodes take, measured in guests and written as tables.
//!
//! All times are those of the guest's clock: this is about the CPU, which is
//! emulated. What is meant for hardware are the ratios within a run.

mod instructions;
mod latencies;
mod nodes;
mod packets;

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use clap::Parser;
use e2e_runner::background::{Background, Expect};
use e2e_runner::cache::Cache;
use e2e_runner::guest::Guest;
use e2e_runner::image::Clock;
use e2e_runner::load::{queue, Load};
use e2e_runner::module::{Module, Table};
use e2e_runner::scenario::{Configuration, Needs};
use gpreempt_bench::load::DILATION;
use gpreempt_bench::settings::stretched;
use instructions::COUNTED;
use latencies::{Latencies, Typical};
use packets::Probes;
use serde_json::{json, Value};

/// What the module itself costs.
#[derive(Parser)]
struct Arguments {
    /// The kernel series to boot.
    #[arg(long, default_value = "7.3")]
    kernel: String,
    /// How many passes to measure with each sampler.
    #[arg(long, default_value_t = 300)]
    passes: u64,
    /// The same module as a standalone build, whose instructions are counted as well.
    #[arg(long)]
    standalone: PathBuf,
    /// The document whose tables are replaced.
    #[arg(long)]
    document: PathBuf,
    /// Count instructions alone, which do not depend on what else the host does, and leave
    /// the tables before them.
    #[arg(long)]
    instructions: bool,
    /// Measure what many nodes cost alone, and leave all other tables.
    #[arg(long, conflicts_with = "instructions")]
    nodes: bool,
}

/// What follows in the document is measured.
const MARK: &str = "<!-- Below this line: written by scripts/guest/cost. -->\n";
const SAMPLERS: [&str; 3] = ["memory", "mmio", "auto"];
/// Queues on the node. ROCr has one of its own beside those of a program, so
/// that the least is two.
const SIZES: [u64; 3] = [2, 24, 128];
const ENOUGH_TRANSACTIONS: u64 = 20;
const PATIENCE: Duration = Duration::from_secs(1200);
/// A safety net against a sampler that sees no inversion.
const MOST_PASSES_FACTOR: u64 = 10;
const NEVER_NS: u64 = 1 << 50;

/// One row of the first table.
struct Row {
    queues: u64,
    sampler: &'static str,
    typical: Typical,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    ensure!(arguments.passes > 0, "--passes is 0; give at least 1");
    let document = fs::read_to_string(&arguments.document)
        .with_context(|| format!("cannot read {}", arguments.document.display()))?;
    let (text, tables) = document
        .split_once(MARK)
        .with_context(|| format!("{} has no line {MARK}", arguments.document.display()))?;
    let (timed, counted) = tables
        .split_once(COUNTED)
        .with_context(|| format!("{} has no line {COUNTED}", arguments.document.display()))?;
    let (counted, many) = match counted.find(nodes::MANY) {
        Some(at) => counted.split_at(at),
        None => (counted, ""),
    };
    let cache = Cache::open()?;
    let kernel = cache.kernel_with_module(&arguments.kernel)?;
    let configuration = Configuration {
        clock: Clock::Hurried,
        ..Configuration::new(kernel, 1)
    };
    let timed = match arguments.instructions || arguments.nodes {
        true => timed.to_owned(),
        false => timed_tables(&cache, &configuration, arguments.passes)?,
    };
    let counted = match arguments.nodes {
        true => format!("{COUNTED}{counted}"),
        false => instructions::tables(&cache, &configuration, &arguments)?,
    };
    let many = match arguments.instructions {
        true => many.to_owned(),
        false => nodes::tables(&cache, &configuration)?,
    };
    print!("{timed}{counted}{many}");
    let document = format!("{text}{MARK}{timed}{counted}{many}");
    fs::write(&arguments.document, document)?;
    Ok(())
}

/// Many queues must fit the guest's memory.
const NEEDS: Needs = Needs {
    small: true,
    ..Needs::ANY
};

fn timed_tables(cache: &Cache, configuration: &Configuration, passes: u64) -> Result<String> {
    let mut guest = configuration.start(cache, &NEEDS)?;
    let mut out = format!(
        "\nLinux {}, {passes} passes with each sampler.\n",
        configuration.kernel.release
    );
    out += &memory(&mut guest)?;
    out += &wake_ups(&mut guest)?;
    out += &self::passes(&mut guest, passes)?;
    Ok(out)
}

fn say(line: &str) {
    eprintln!("cost: {line}");
}

/// A load with so many queues: a heavy one, with more than two an urgent one, and
/// otherwise such that have nothing to do.
fn load(guest: &mut Guest, queues: u64) -> Result<Load> {
    let heavy = json!({"group": "heavy", "priority": 0, "requests": 1_000_000,
        "arrival": {"closed_loop": {"depth": 4}}});
    let urgent = json!({"group": "urgent", "priority": 15, "requests": 1_000_000,
        "start_ns": 5_000_000, "arrival": {"fixed_rate": {"period_ns": 10_000_000}}});
    let mut all = vec![queue("heavy", 3 * guest.shape.full(), 4_000_000, heavy)];
    if queues > 2 {
        all.push(queue("urgent", 1, 10_000, urgent));
        // One of each process is ROCr's own.
        all.extend((5..queues).map(idle));
    }
    start(guest, all, queues)
}

/// A queue that has nothing to do.
fn idle(number: u64) -> Value {
    let more = json!({"group": "idle", "requests": 1, "start_ns": NEVER_NS});
    queue(&format!("idle{number}"), 1, 1_000, more)
}

/// Starts a load, and waits until the module sees so many queues.
fn start(guest: &mut Guest, all: Vec<Value>, queues: u64) -> Result<Load> {
    let load = Load::start(guest, json!({"queues": all}))?;
    guest.wait_until("all queues are seen", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "queues")? == queues)
    })?;
    Ok(load)
}

/// The tables of passes, transactions and packets.
fn passes(guest: &mut Guest, wanted: u64) -> Result<String> {
    let mut rows = Vec::new();
    let mut packets = String::new();
    for queues in SIZES {
        say(&format!("passes over {queues} queues"));
        let module = Module::load(guest, &format!("mode=enforce {}", stretched(DILATION)))?;
        let load = load(guest, queues)?;
        let transactions = if queues > 2 { ENOUGH_TRANSACTIONS } else { 0 };
        for sampler in SAMPLERS {
            module.set(guest, "sampler", sampler)?;
            let typical = measure(guest, wanted, transactions)?;
            rows.push(Row {
                queues,
                sampler,
                typical,
            });
        }
        if queues == 24 {
            packets = from_look_to_packet(guest, wanted)?;
        }
        load.kill(guest)?;
        module.unload(guest)?;
    }
    Ok(table_of_passes(&rows)? + &packets)
}

/// What the module's account says of so many passes and transactions.
fn measure(guest: &mut Guest, passes: u64, transactions: u64) -> Result<Typical> {
    let before = Latencies::read(guest)?;
    let mut last = before;
    let mut intervals = Vec::new();
    guest.wait_until("there are enough passes", PATIENCE, |guest| {
        let now = Latencies::read(guest)?;
        intervals.push(now.since(&last));
        last = now;
        let added = now.since(&before);
        let enough = added.map.count >= transactions;
        Ok(added.pass.count >= passes && enough || added.pass.count >= MOST_PASSES_FACTOR * passes)
    })?;
    Ok(Typical::of(&intervals))
}

fn table_of_passes(rows: &[Row]) -> Result<String> {
    let mut out = String::from(
        "\n### One pass\n\n\
        | queues | sampler | reading | whole pass | transaction | pass / transaction |\n\
        |---|---|---|---|---|---|\n",
    );
    for row in rows {
        let typical = &row.typical;
        let pass = typical.pass_ns.context("no pass without a transaction")?;
        let transaction = typical.transaction_ns;
        out += &format!(
            "| {} | `{}` | {} | {} | {} | {} |\n",
            row.queues,
            row.sampler,
            micros(typical.look_ns),
            micros(Some(pass)),
            micros(transaction),
            transaction.map_or("-".into(), |all| format!("{:.1} %", 100.0 * pass / all)),
        );
    }
    Ok(out)
}

fn from_look_to_packet(guest: &mut Guest, passes: u64) -> Result<String> {
    say("from the look to the packet");
    let mark = guest.device.hiq_mark()?;
    let before = Table::Stats.sum(guest, "transactions")?;
    let probes = Probes::start(guest)?;
    measure(guest, passes, ENOUGH_TRANSACTIONS)?;
    let mut times = probes.finish(guest)?;
    let transactions = Table::Stats.sum(guest, "transactions")? - before;
    let packets = guest.device.hiq_mark()? - mark;
    ensure!(!times.is_empty(), "no packet followed a look");
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    Ok(format!(
        "\n### From the look to the packet\n\n\
         24 queues, sampler `auto`, {} transactions with probes on both ends:\n\n\
         | | |\n|---|---|\n\
         | shortest | {:.0} µs |\n| half below | {:.0} µs |\n| nine in ten below | {:.0} µs |\n\n\
         In that time the module made {transactions} transactions, and the device saw {packets} packets\n\
         on the HIQ.\n",
        times.len(),
        times[0],
        at(0.5),
        at(0.9),
    ))
}

fn micros(nanos: Option<f64>) -> String {
    nanos.map_or("-".into(), |nanos| format!("{:.1} µs", nanos / 1e3))
}

/// What the guest's kernel thread and the firmware's ring did in a while.
struct Quiet {
    seconds: f64,
    wakes: u64,
    passes: u64,
    packets: u64,
}

fn watch(guest: &mut Guest) -> Result<Quiet> {
    const WHILE: Duration = Duration::from_secs(10);
    let now = |guest: &mut Guest| -> Result<(f64, u64, u64, u64)> {
        let uptime = guest.agent().read_file("/proc/uptime")?;
        let uptime = uptime.split_whitespace().next().context("no uptime")?;
        let switches = guest
            .agent()
            .shell("for t in /proc/[0-9]*; do grep -q '^gp/' $t/comm 2>/dev/null && sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' $t/status; done; true")?;
        Ok((
            uptime.parse()?,
            switches
                .trim()
                .parse()
                .with_context(|| format!("the thread's switches are '{switches}'"))?,
            Table::Stats.sum(guest, "passes")?,
            guest.device.hiq_mark()?,
        ))
    };
    let before = now(guest)?;
    thread::sleep(WHILE);
    let after = now(guest)?;
    Ok(Quiet {
        seconds: after.0 - before.0,
        wakes: after.1 - before.1,
        passes: after.2 - before.2,
        packets: after.3 - before.3,
    })
}

fn wake_ups(guest: &mut Guest) -> Result<String> {
    let mut out = String::from(
        "\n### Wake-ups\n\n\
         | mode | queues | wake-ups a second | passes a second | packets on the HIQ |\n\
         |---|---|---|---|---|\n",
    );
    let mut row = |guest: &mut Guest, mode: &str, queues: &str| -> Result<()> {
        say(&format!("wake-ups with mode={mode} and {queues} queues"));
        let quiet = watch(guest)?;
        out += &format!(
            "| `{mode}` | {queues} | {:.1} | {:.1} | {} |\n",
            quiet.wakes as f64 / quiet.seconds,
            quiet.passes as f64 / quiet.seconds,
            quiet.packets
        );
        Ok(())
    };
    let module = Module::load(guest, "mode=enforce")?;
    row(guest, "enforce", "none")?;
    // One process, with ROCr's own queue.
    let idle = start(guest, (1..24).map(idle).collect(), 24)?;
    row(guest, "enforce", "24 idle")?;
    module.set(guest, "mode", "observe")?;
    row(guest, "observe", "24 idle")?;
    let hogs = hogs(guest)?;
    row(guest, "observe", "24 idle, processors busy")?;
    for hog in hogs {
        hog.stop(guest)?;
    }
    idle.kill(guest)?;
    let busy = load(guest, 24)?;
    module.set(guest, "mode", "off")?;
    guest.wait_until("nobody looks any more", PATIENCE, |guest| {
        Ok(Table::Stats.sum(guest, "queues")? == 0)
    })?;
    row(guest, "off", "24, at work")?;
    busy.kill(guest)?;
    module.unload(guest)?;
    Ok(out)
}

/// Two programs for each processor that want it all the time.
fn hogs(guest: &mut Guest) -> Result<Vec<Background>> {
    let processors: usize = guest.agent().shell("nproc")?.trim().parse()?;
    let hog = |_| Background::shell(guest, "while :; do :; done", Expect::Anything);
    (0..2 * processors).map(hog).collect()
}

/// How much memory a load of the module takes, and what of it is its file.
fn memory(guest: &mut Guest) -> Result<String> {
    const TRIES: usize = 5;
    say("memory");
    let mut taken = Vec::new();
    let mut core = String::new();
    for _ in 0..TRIES {
        let before = free(guest)?;
        let module = Module::load(guest, "mode=observe")?;
        core = guest
            .agent()
            .read_file("/sys/module/amd_gpreempt/coresize")?;
        taken.push(before.saturating_sub(free(guest)?));
        module.unload(guest)?;
    }
    taken.sort_unstable();
    let core: u64 = core.trim().parse()?;
    Ok(format!(
        "\n### Memory\n\n\
         A load with one node takes {} KiB (the middle of {TRIES} loads, by the free memory of the\n\
         guest), of which {} KiB are code and data of the module.\n",
        taken[TRIES / 2],
        core / 1024,
    ))
}

/// Free memory in KiB, with nothing left that could be freed.
fn free(guest: &mut Guest) -> Result<u64> {
    let text = guest.agent().shell(
        "sync; echo 3 > /proc/sys/vm/drop_caches; sed -n 's/^MemFree: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo",
    )?;
    text.trim()
        .parse()
        .with_context(|| format!("free memory is '{text}'"))
}
