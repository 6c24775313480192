// SPDX-License-Identifier: GPL-2.0-only
//! Files in sysfs, debugfs and tracefs, and tracepoints, that documents name.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::page::Page;
use super::pattern::{fits, generalised};
use crate::breach::Breach;
use crate::house::{ABI_FOLDER, INTERFACE_FOLDERS, TRACE_ABI, TRACE_HEADER};
use crate::tree::{is_below, Kind, Tree};

type Fields = BTreeSet<String>;

/// An entry of the description of an interface.
struct Entry {
    what: String,
    line: usize,
    fields: Fields,
}

/// Files and tracepoints that are not described or not there.
pub fn check(tree: &Tree, pages: &[Page]) -> Result<Vec<Breach>> {
    let mut described = Vec::new();
    for file in tree
        .files()
        .filter(|file| is_below(&file.path, &[ABI_FOLDER]))
    {
        described.extend(entries(&tree.text(&file.path)?));
    }
    let (mut events, mut trace_entries) = (BTreeMap::new(), Vec::new());
    if tree.has(TRACE_HEADER) {
        events = tracepoints(&tree.text(TRACE_HEADER)?);
    }
    if tree.has(TRACE_ABI) {
        trace_entries = entries(&tree.text(TRACE_ABI)?);
    }
    let mut breaches = check_trace(&events, &trace_entries);
    let names = names_of_the_shim(tree)?;
    for page in pages {
        for code in &page.code {
            for what in wrong_words(&code.text, &described, &events, &names) {
                breaches.push(Breach::new(&page.path, code.line, "interface", what));
            }
        }
    }
    Ok(breaches)
}

fn wrong_words(
    text: &str,
    described: &[Entry],
    events: &BTreeMap<String, Fields>,
    names: &BTreeSet<String>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "'\"(),;{}".contains(c)) {
        if INTERFACE_FOLDERS
            .iter()
            .any(|folder| word.starts_with(folder))
            && !is_described(word, described)
        {
            wrong.push(format!("{ABI_FOLDER} describes no '{word}'"));
        }
        let event = word.split_once("amd_gpreempt:").map(|(_, event)| event);
        if let Some(event) =
            event.filter(|event| !event.is_empty() && !events.keys().any(|name| fits(event, name)))
        {
            wrong.push(format!("{TRACE_HEADER} has no tracepoint '{event}'"));
        } else if is_name_of_the_shim(word) && !names.contains(word) {
            wrong.push(format!("nothing in bindings/ has the name '{word}'"));
        }
    }
    wrong
}

fn is_name_of_the_shim(word: &str) -> bool {
    word.starts_with("gp_")
        && word
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn names_of_the_shim(tree: &Tree) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for file in tree
        .below(&["bindings"])
        .filter(|file| file.kind == Kind::C)
    {
        let text = tree.text(&file.path)?;
        let words = text.split(|c: char| c != '_' && !c.is_alphanumeric());
        names.extend(
            words
                .filter(|word| is_name_of_the_shim(word))
                .map(str::to_owned),
        );
    }
    Ok(names)
}

/// Whether a path is an entry or a folder of one.
fn is_described(path: &str, described: &[Entry]) -> bool {
    let path = generalised(path.trim_end_matches(['/', '.']));
    let parts: Vec<&str> = path.split('/').collect();
    described.iter().any(|entry| {
        let what = generalised(&entry.what);
        let names: Vec<&str> = what.split('/').collect();
        names.len() >= parts.len()
            && parts
                .iter()
                .zip(&names)
                .all(|(part, name)| fits(part, name) || fits(name, part))
    })
}

/// Compares the tracepoints with their description.
fn check_trace(events: &BTreeMap<String, Fields>, described: &[Entry]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut seen = BTreeSet::new();
    for entry in described {
        let name = entry.what.rsplit('/').next().unwrap_or("");
        seen.insert(name);
        let what = match events.get(name) {
            None => format!("{TRACE_HEADER} has no tracepoint '{name}'"),
            Some(fields) if *fields != entry.fields => {
                let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
                format!("the fields of {name} are {}", fields.join(" "))
            }
            Some(_) => continue,
        };
        breaches.push(Breach::new(TRACE_ABI, entry.line, "interface", what));
    }
    for name in events.keys().filter(|name| !seen.contains(name.as_str())) {
        let what = format!("tracepoint {name} is not described");
        breaches.push(Breach::new(TRACE_ABI, 1, "interface", what));
    }
    breaches
}

/// The entries of a description in the kernel's form.
fn entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut section = "";
    for (at, line) in text.lines().enumerate() {
        let mut rest = line;
        if let Some((name, text)) = line.split_once(":\t").filter(|_| !line.starts_with('\t')) {
            (section, rest) = (name, text);
        }
        if section == "What" && !rest.trim().is_empty() {
            entries.push(Entry {
                what: rest.trim().to_owned(),
                line: at + 1,
                fields: Fields::new(),
            });
        } else if let ("Fields", Some(entry)) = (section, entries.last_mut()) {
            entry
                .fields
                .extend(rest.split_whitespace().map(str::to_owned));
        }
    }
    entries
}

/// The tracepoints of a header and their fields.
fn tracepoints(text: &str) -> BTreeMap<String, Fields> {
    let mut classes = BTreeMap::new();
    let mut events = BTreeMap::new();
    for (at, _) in text
        .match_indices("_CLASS(")
        .chain(text.match_indices("TRACE_EVENT("))
    {
        let (name, body) = call(&text[at..]);
        classes.insert(name.to_owned(), fields(body));
        if text[at..].starts_with("TRACE_EVENT") {
            events.insert(name.to_owned(), fields(body));
        }
    }
    for (at, _) in text.match_indices("DEFINE_EVENT(") {
        let (class, body) = call(&text[at..]);
        let name = body.split([',', ')']).next().unwrap_or("").trim();
        events.insert(
            name.to_owned(),
            classes.get(class).cloned().unwrap_or_default(),
        );
    }
    events
}

/// The first argument of a macro, and the text behind it to the end of the call.
fn call(text: &str) -> (&str, &str) {
    let end = text.find("\n);").unwrap_or(text.len());
    let inside = text[..end].split_once('(').map_or("", |(_, inside)| inside);
    let (name, body) = inside.split_once(',').unwrap_or((inside, ""));
    (name.trim(), body)
}

/// What `__field(type, NAME)` and `__string(NAME, ...)` declare.
fn fields(body: &str) -> Fields {
    let mut fields = Fields::new();
    for line in body.lines().map(str::trim) {
        let arguments = |line: &str| -> Vec<String> {
            let inside = line.split_once('(').map_or("", |(_, inside)| inside);
            inside
                .split([',', ')'])
                .map(|word| word.trim().to_owned())
                .collect()
        };
        if line.starts_with("__field(") || line.starts_with("__array(") {
            fields.extend(arguments(line).into_iter().nth(1));
        } else if line.starts_with("__string(") {
            fields.extend(arguments(line).into_iter().next());
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use crate::documents;
    use crate::testing::{places, tree};

    const HEADER: (&str, &str) = (
        "bindings/trace.h",
        "DECLARE_EVENT_CLASS(gp_class,\n\tTP_STRUCT__entry(\n\t\t__field(u32, node)\n\t\t__string(reason, x)\n\t),\n);\n\
         DEFINE_EVENT(gp_class, gp_stop,\n\tTP_PROTO(x));\nvoid gp_function(void);\n",
    );
    const TRACE: &str = "docs/ABI/testing/tracepoints-amd_gpreempt";
    const STOP: (&str, &str) = (
        TRACE,
        "What:\t\t/sys/kernel/tracing/events/amd_gpreempt/gp_stop\nFields:\t\tnode\n\t\treason\nDescription:\tx\n",
    );
    const FILE: (&str, &str) = (
        "docs/ABI/testing/sysfs",
        "What:\t\t/sys/devices/faux/amd_gpreempt/gpu_<address>/node<number>/state\nDescription:\tx\n",
    );

    #[test]
    fn files_and_tracepoints_exist() {
        let text = "`/sys/devices/faux/amd_gpreempt/gpu_*/node0/state`, `/sys/devices/faux/amd_gpreempt/`,\n\
            `/sys/devices/faux/amd_gpreempt/gpu_ADDRESS`, `gp_stop`, `gp_function`, `amd_gpreempt:*`\n\n    \
            tracepoint:amd_gpreempt:gp_stop { }\n";
        let files = [HEADER, STOP, FILE, ("a.md", text)];
        assert_eq!(documents::check(&tree(&files)).unwrap(), []);
        let bad = "`/sys/devices/faux/amd_gpreempt/gpu_*/node0/status`\n`/sys/kernel/debug/amd_gpreempt/x`\n\
            `gp_start`\n`amd_gpreempt:gp_function`\n";
        let found = documents::check(&tree(&[HEADER, STOP, FILE, ("a.md", bad)])).unwrap();
        assert_eq!(
            places(&found),
            [1, 2, 3, 4].map(|line| format!("a.md:{line} interface"))
        );
    }

    #[test]
    fn fields_of_tracepoints_are_as_described() {
        let other = (
            TRACE,
            "What:\t\t/x/gp_stop\nFields:\t\tnode prio\n\nWhat:\t\t/x/gp_go\nFields:\t\tnode\n",
        );
        let found = documents::check(&tree(&[HEADER, other])).unwrap();
        assert_eq!(
            places(&found),
            [
                format!("{TRACE}:1 interface"),
                format!("{TRACE}:4 interface")
            ]
        );
        let none = documents::check(&tree(&[HEADER, (TRACE, "")])).unwrap();
        assert_eq!(places(&none), [format!("{TRACE}:1 interface")]);
    }
}
