// SPDX-License-Identifier: GPL-2.0-only
//! The instructions of a pass and of a transaction, of the native build and of the
//! standalone one, in a guest with one processor whose clock counts them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use e2e_runner::cache::Cache;
use e2e_runner::guest::{Guest, FILES};
use e2e_runner::module::Module;
use e2e_runner::scenario::{Configuration, Needs};
use gpreempt_bench::load::DILATION;
use gpreempt_bench::settings::stretched;

use crate::{load, measure, say, Arguments, NEEDS, SIZES};

/// These tables begin so, and go to the end of the document.
pub const COUNTED: &str = "\n### Instructions of a pass\n";
/// So many, because builds differ by little.
const MANY_TRANSACTIONS: u64 = 200;

/// Of both builds, in one guest.
pub fn tables(
    cache: &Cache,
    configuration: &Configuration,
    arguments: &Arguments,
) -> Result<String> {
    let needs = Needs {
        one_processor: true,
        ..NEEDS
    };
    let mut guest = configuration.start(cache, &needs)?;
    let native = instructions(&mut guest, arguments.passes)?;
    guest
        .agent()
        .shell(&format!("mv {FILES}/amd_gpreempt.ko {FILES}/native.ko"))?;
    let standalone = BTreeMap::from([("amd_gpreempt.ko".to_owned(), arguments.standalone.clone())]);
    guest.add_files(&standalone, FILES)?;
    let standalone = instructions(&mut guest, arguments.passes)?;
    Ok(table_of_instructions(&native, &standalone) + &table_of_transactions(&native, &standalone))
}

/// What a pass over so many queues takes, and a transaction of them.
struct Instructions {
    queues: u64,
    look: f64,
    pass: f64,
    transaction: Option<Transaction>,
}

struct Transaction {
    /// Between taking queues off and putting them back, where all is the module's.
    edit: f64,
    whole: f64,
}

/// Of the memory sampler of the module that is in the guest's place for it, by a clock that
/// counts instructions.
fn instructions(guest: &mut Guest, wanted: u64) -> Result<Vec<Instructions>> {
    let mut rows = Vec::new();
    for queues in SIZES {
        say(&format!("instructions of a pass over {queues} queues"));
        let module = Module::load(guest, "mode=observe sampler=memory")?;
        let load = load(guest, queues)?;
        let typical = measure(guest, wanted, 0)?;
        let (look, pass) = typical
            .look_ns
            .zip(typical.pass_ns)
            .with_context(|| format!("no pass over {queues} queues"))?;
        load.kill(guest)?;
        module.unload(guest)?;
        let transaction = match queues > 2 {
            true => Some(transactions(guest, queues, wanted)?),
            false => None,
        };
        rows.push(Instructions {
            queues,
            look,
            pass,
            transaction,
        });
    }
    Ok(rows)
}

fn transactions(guest: &mut Guest, queues: u64, wanted: u64) -> Result<Transaction> {
    say(&format!("instructions of a transaction of {queues} queues"));
    let parameters = stretched(DILATION);
    let module = Module::load(guest, &format!("mode=enforce sampler=memory {parameters}"))?;
    let load = load(guest, queues)?;
    let typical = measure(guest, wanted, MANY_TRANSACTIONS)?;
    let (edit, whole) = typical
        .edit_ns
        .zip(typical.transaction_ns)
        .with_context(|| format!("no transaction of {queues} queues"))?;
    load.kill(guest)?;
    module.unload(guest)?;
    Ok(Transaction { edit, whole })
}

fn table_of_instructions(native: &[Instructions], standalone: &[Instructions]) -> String {
    let mut out = format!(
        "{COUNTED}\n\
        With the sampler `memory`:\n\n\
        | queues | reading | whole pass | the same, standalone | whole pass, standalone |\n\
        |---|---|---|---|---|\n",
    );
    for (native, standalone) in native.iter().zip(standalone) {
        out += &format!(
            "| {} | {:.0} | {:.0} | {:.0} | {:.0} ({:+.1} %) |\n",
            native.queues,
            native.look,
            native.pass,
            standalone.look,
            standalone.pass,
            100.0 * (standalone.pass / native.pass - 1.0),
        );
    }
    for pair in native.windows(2) {
        let [few, many] = pair else {
            continue;
        };
        out += &format!(
            "\nEach further queue between {} and {} costs {:.0}.\n",
            few.queues,
            many.queues,
            (many.pass - few.pass) / (many.queues - few.queues) as f64
        );
    }
    out
}

fn table_of_transactions(native: &[Instructions], standalone: &[Instructions]) -> String {
    let mut out = String::from(
        "\n### Instructions of a transaction\n\n\
        With the sampler `memory`; *edit* is what the module does while no queue is on the GPU:\n\n\
        | queues | edit | whole transaction | edit, standalone | whole transaction, standalone |\n\
        |---|---|---|---|---|\n",
    );
    for (row, standalone) in native.iter().zip(standalone) {
        let (Some(native), Some(standalone)) = (&row.transaction, &standalone.transaction) else {
            continue;
        };
        out += &format!(
            "| {} | {:.0} | {:.0} | {:.0} ({:+.1} %) | {:.0} ({:+.1} %) |\n",
            row.queues,
            native.edit,
            native.whole,
            standalone.edit,
            100.0 * (standalone.edit / native.edit - 1.0),
            standalone.whole,
            100.0 * (standalone.whole / native.whole - 1.0),
        );
    }
    out
}
