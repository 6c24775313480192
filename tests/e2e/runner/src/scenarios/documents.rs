// SPDX-License-Identifier: GPL-2.0-only
//! Documents, modinfo and the running module say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{bail, ensure, Context, Result};
use serde_json::Value;

use super::preemption::{inversion, wait_for_heavy, UNBOUNDED};
use crate::agent::errno;
use crate::cache;
use crate::guest::Guest;
use crate::load::Load;
use crate::module::Module;
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "parameters are as documents and modinfo say",
        needs: Needs::ONCE,
        run: parameters,
    },
    Scenario {
        suite: Suite::E2e,
        name: "files and tracepoints are those of the documents",
        needs: Needs {
            whole: true,
            ..Needs::ONCE
        },
        run: files,
    },
];

const PARAMETERS: &str = include_str!("../../../../../docs/parameters.md");
const MANUAL: &str = include_str!("../../../../../docs/man/amd_gpreempt.4");
const ABI_PARAMETERS: &str =
    include_str!("../../../../../docs/ABI/testing/sysfs-module-amd_gpreempt");
const ABI_SYSFS: &str =
    include_str!("../../../../../docs/ABI/testing/sysfs-devices-faux-amd_gpreempt");
const ABI_DEBUGFS: &str = include_str!("../../../../../docs/ABI/testing/debugfs-amd_gpreempt");
const ABI_TRACE: &str = include_str!("../../../../../docs/ABI/testing/tracepoints-amd_gpreempt");

const LIVE: &str = "/sys/module/amd_gpreempt/parameters";
const FAUX: &str = "/sys/devices/faux/amd_gpreempt";
const DEBUGFS: &str = "/sys/kernel/debug/amd_gpreempt";
const EVENTS: &str = "/sys/kernel/tracing/events/amd_gpreempt";

/// A line of the table in docs/parameters.md.
struct Documented {
    default: String,
    values: String,
    meaning: String,
}

fn documented() -> BTreeMap<String, Documented> {
    PARAMETERS
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            let name = cells.next()?.trim_end_matches('`').to_owned();
            let (default, values) = (cells.next()?.to_owned(), cells.next()?.to_owned());
            let meaning = cells.next()?.trim_end_matches(" |").to_owned();
            let documented = Documented {
                default,
                values,
                meaning,
            };
            Some((name, documented))
        })
        .collect()
}

/// What modinfo says of each parameter.
fn modinfo(guest: &Guest) -> Result<BTreeMap<String, String>> {
    let path = cache::module(&guest.image.kernel.release)?;
    let file = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(file
        .split(|byte| *byte == 0)
        .filter_map(|text| std::str::from_utf8(text).ok()?.strip_prefix("parm="))
        .filter_map(|text| text.split_once(':'))
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .collect())
}

fn names<T>(of: &BTreeMap<String, T>) -> BTreeSet<String> {
    of.keys().cloned().collect()
}

fn parameters(guest: &mut Guest) -> Result<()> {
    let documented = documented();
    let wanted = names(&documented);
    ensure!(
        wanted.len() > 10,
        "the table was not understood: {wanted:?}"
    );
    let modinfo = modinfo(guest)?;
    ensure!(
        names(&modinfo) == wanted,
        "modinfo has {:?}",
        names(&modinfo)
    );
    let manual: BTreeSet<String> = MANUAL
        .split("parameters: end")
        .next()
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix(".It Cm "))
        .map(String::from)
        .collect();
    ensure!(manual == wanted, "the manual has {manual:?}");
    let abi: BTreeSet<String> = entries(ABI_PARAMETERS)
        .iter()
        .filter_map(|entry| entry.what.strip_prefix(LIVE)?.strip_prefix('/'))
        .map(String::from)
        .collect();
    ensure!(abi == wanted, "docs/ABI has {abi:?}");

    let module = Module::load(guest, "")?;
    let live: BTreeSet<String> = guest.agent().list(LIVE)?.into_iter().collect();
    ensure!(live == wanted, "the module has {live:?}");
    for (name, documented) in &documented {
        let help = &modinfo[name];
        ensure!(
            help.starts_with(&documented.meaning)
                && help.contains(&format!("default {})", documented.default)),
            "modinfo says of {name}: {help}"
        );
        let value = read(guest, name)?;
        ensure!(
            value == documented.default,
            "{name} is {value} at first, not {}",
            documented.default
        );
        is_as_documented(guest, &module, name, documented)
            .with_context(|| format!("parameter {name}"))?;
        module.set(guest, name, &documented.default)?;
    }
    module.unload(guest)
}

fn read(guest: &mut Guest, name: &str) -> Result<String> {
    Ok(guest
        .agent()
        .read_file(&format!("{LIVE}/{name}"))?
        .trim()
        .to_owned())
}

/// Each value that the document allows is taken and no other.
fn is_as_documented(
    guest: &mut Guest,
    module: &Module,
    name: &str,
    documented: &Documented,
) -> Result<()> {
    const EINVAL: i32 = 22;
    const ERANGE: i32 = 34;
    // What is refused is said in the log.
    guest.expect_log(&format!("{name}="));
    let Some((least, most)) = range(&documented.values) else {
        for word in documented.values.split(", ") {
            let word = word.replace('N', "15");
            module.set(guest, name, &word)?;
            let value = read(guest, name)?;
            ensure!(value == word, "{value} after {word} was written");
        }
        return refuses(guest, module, name, "nonsense", EINVAL);
    };
    for value in [least, most] {
        module.set(guest, name, &value.to_string())?;
        ensure!(
            read(guest, name)? == value.to_string(),
            "{value} was not taken"
        );
    }
    refuses(guest, module, name, &(most + 1).to_string(), ERANGE)?;
    if let Some(below) = least.checked_sub(1) {
        refuses(guest, module, name, &below.to_string(), ERANGE)?;
    }
    for nonsense in ["many", "-1", "1 2"] {
        refuses(guest, module, name, nonsense, EINVAL)?;
    }
    Ok(())
}

/// `20 to 1000 us` as two numbers.
fn range(values: &str) -> Option<(u64, u64)> {
    let (least, rest) = values.split_once(" to ")?;
    let most = rest.split(' ').next()?;
    Some((least.parse().ok()?, most.parse().ok()?))
}

fn refuses(guest: &mut Guest, module: &Module, name: &str, text: &str, with: i32) -> Result<()> {
    let before = read(guest, name)?;
    match module.set(guest, name, text) {
        Ok(()) => bail!("'{text}' was taken"),
        Err(error) => ensure!(errno(&error) == Some(with), "'{text}': {error:#}"),
    }
    ensure!(read(guest, name)? == before, "'{text}' changed the value");
    Ok(())
}

/// An entry of docs/ABI.
struct Entry {
    what: String,
    mode: Option<String>,
    fields: BTreeSet<String>,
}

fn entries(text: &str) -> Vec<Entry> {
    text.split("What:")
        .skip(1)
        .map(|entry| {
            let mut lines = entry.lines();
            let what = lines.next().unwrap_or("").trim().to_owned();
            let (mut mode, mut fields, mut section) = (None, BTreeSet::new(), "");
            for line in lines {
                let text = match line.split_once(":\t") {
                    Some((name, text)) if !line.starts_with('\t') => {
                        section = name;
                        text
                    }
                    _ => line,
                };
                match section {
                    "Mode" => mode = mode.or_else(|| Some(text.trim().to_owned())),
                    "Fields" => fields.extend(text.split_whitespace().map(String::from)),
                    _ => {}
                }
            }
            Entry { what, mode, fields }
        })
        .collect()
}

fn modes(entries: &[Entry]) -> BTreeSet<(String, String)> {
    entries
        .iter()
        .filter_map(|entry| Some((entry.what.clone(), entry.mode.clone()?)))
        .collect()
}

/// The files below a directory with their modes, GPU and node as the documents
/// name them.
fn found(guest: &mut Guest, directory: &str) -> Result<BTreeSet<(String, String)>> {
    let text = guest.agent().shell(&format!(
        "find {directory} -type f ! -name uevent ! -path '*/power/*' -exec stat -c '%a %n' {{}} +"
    ))?;
    text.lines()
        .map(|line| {
            let (mode, path) = line.split_once(' ').context("no mode")?;
            let parts: Vec<String> = path
                .split('/')
                .map(|part| {
                    if part.starts_with("gpu_0") {
                        "gpu_<address>".into()
                    } else if part == "node0" {
                        "node<number>".into()
                    } else {
                        part.to_owned()
                    }
                })
                .collect();
            Ok((parts.join("/"), format!("0{mode}")))
        })
        .collect()
}

fn files(guest: &mut Guest) -> Result<()> {
    let module = Module::load(guest, &format!("mode=enforce {UNBOUNDED}"))?;
    module.add_rule(guest, "3 comm=nobody exempt")?;
    let load = Load::start(guest, inversion(guest))?;
    wait_for_heavy(guest, &load, true)?;

    for (directory, document) in [(FAUX, ABI_SYSFS), (DEBUGFS, ABI_DEBUGFS)] {
        let (wanted, found) = (modes(&entries(document)), found(guest, directory)?);
        ensure!(
            wanted == found,
            "only in docs/ABI: {:?}; only in {directory}: {:?}",
            wanted.difference(&found).collect::<Vec<_>>(),
            found.difference(&wanted).collect::<Vec<_>>()
        );
    }
    for entry in entries(ABI_DEBUGFS) {
        if entry.fields.is_empty() {
            continue;
        }
        let text = guest.agent().read_file(&entry.what)?;
        let table: Value = serde_json::from_str(&text)?;
        ensure!(table["schema"] == 1, "{}: {text}", entry.what);
        let row = table
            .as_object()
            .map(|table| table.values().filter_map(Value::as_array))
            .and_then(|mut lists| lists.find_map(|rows| rows.first()?.as_object()))
            .with_context(|| format!("{} has no row: {text}", entry.what))?;
        let found: BTreeSet<String> = row.keys().cloned().collect();
        ensure!(
            found == entry.fields,
            "{} has {found:?}, docs/ABI {:?}",
            entry.what,
            entry.fields
        );
    }
    let wanted: BTreeSet<String> = guest
        .agent()
        .list(EVENTS)?
        .iter()
        .filter(|name| name.starts_with("gp_"))
        .map(|name| format!("{EVENTS}/{name}"))
        .collect();
    let events = entries(ABI_TRACE);
    let named: BTreeSet<String> = events.iter().map(|entry| entry.what.clone()).collect();
    ensure!(named == wanted, "{named:?} and {wanted:?}");
    for event in events {
        let format = guest.agent().read_file(&format!("{}/format", event.what))?;
        let fields: BTreeSet<String> = format
            .lines()
            .filter_map(|line| line.trim().strip_prefix("field:")?.split(';').next())
            .filter_map(|field| field.split_whitespace().last())
            .filter(|name| !name.starts_with("common_"))
            .map(|name| name.trim_end_matches("[]").to_owned())
            .collect();
        ensure!(fields == event.fields, "{} has {fields:?}", event.what);
    }
    load.stop(guest)?;
    load.finish(guest)?;
    module.unload(guest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_parameters_is_understood() {
        let table = documented();
        assert_eq!(table["mode"].values, "observe, enforce, off");
        assert_eq!(range(&table["mode"].values), None);
        assert_eq!(range("20 to 1000 us, once or 16 times"), Some((20, 1000)));
        assert!(table["grace_us"].default.parse::<u64>().is_ok());
        assert!(!table["rule_overhead_percent"].meaning.ends_with('|'));
    }

    #[test]
    fn entries_have_their_modes_and_all_lines_of_their_fields() {
        let text =
            "What:\t\t/a/b\nMode:\t\t0400\nFields:\t\tone two\n\t\tthree\nDescription:\tx: y\n";
        let entries = entries(text);
        assert_eq!(entries.len(), 1);
        assert_eq!(
            (entries[0].what.as_str(), entries[0].mode.as_deref()),
            ("/a/b", Some("0400"))
        );
        assert_eq!(entries[0].fields.len(), 3);
    }
}
