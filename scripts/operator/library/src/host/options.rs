// SPDX-License-Identifier: GPL-2.0-only
//! What the module is loaded with: the options in modprobe's folders and on the kernel's
//! command line. One that is refused keeps the module from being loaded, and one whose
//! name is not known the kernel ignores in silence.

use std::collections::BTreeMap;

use crate::host::tree::{Host, MODULE};
use crate::words::gone;
use crate::words::parameters::canonical;

/// Where modprobe looks, in this order: of files of one name the first counts.
const FOLDERS: [&str; 5] = [
    "etc/modprobe.d",
    "run/modprobe.d",
    "usr/local/lib/modprobe.d",
    "usr/lib/modprobe.d",
    "lib/modprobe.d",
];
const COMMAND_LINE: &str = "proc/cmdline";
/// What the kernel itself takes for every module.
const OF_EVERY_MODULE: [&str; 2] = ["dyndbg", "async_probe"];

/// An option of the module that it does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Where it is written, as a path of the host.
    pub place: String,
    /// As it is written.
    pub option: String,
    /// What is to be written instead, or what is wrong.
    pub remedy: String,
    /// A version before this one took it.
    pub gone: bool,
}

/// The options that the module would not take.
pub fn wrong(host: &Host) -> Vec<Wrong> {
    let mut files = BTreeMap::new();
    for folder in FOLDERS {
        let names = host.names(folder).into_iter();
        for name in names.filter(|name| name.ends_with(".conf")) {
            files
                .entry(name.clone())
                .or_insert_with(|| format!("{folder}/{name}"));
        }
    }
    let read = |path: &String| Some((path.clone(), host.try_read(path)?));
    let mut all = Vec::new();
    for (path, text) in files.values().filter_map(read) {
        all.extend(
            given(&text)
                .into_iter()
                .map(|option| (path.clone(), option)),
        );
    }
    let line = host.try_read(COMMAND_LINE).unwrap_or_default();
    let here = line.split_whitespace().filter_map(|word| {
        let (module, option) = word.split_once('.')?;
        is_ours(module).then(|| (COMMAND_LINE.to_owned(), option.to_owned()))
    });
    all.extend(here);
    let judged = all.into_iter().filter_map(|(path, option)| {
        let (name, value) = option.split_once('=').unwrap_or((&option, ""));
        let name = name.replace('-', "_");
        if OF_EVERY_MODULE.contains(&name.as_str()) {
            return None;
        }
        let value = value.trim_matches('"');
        let gone = gone::setting(&name, value);
        let remedy = match gone {
            Some(gone) => gone.to_string(),
            None => canonical(&name, value).err()?,
        };
        Some(Wrong {
            place: format!("/{path}"),
            option,
            remedy,
            gone: gone.is_some(),
        })
    });
    judged.collect()
}

/// The options that a file of modprobe's gives the module.
fn given(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().map(str::split_whitespace);
    let ours = lines.filter_map(|mut words| {
        let is_option = words.next() == Some("options") && words.next().is_some_and(is_ours);
        is_option.then(|| words.map(str::to_owned))
    });
    ours.flatten().collect()
}

/// To modprobe both signs are the same.
fn is_ours(module: &str) -> bool {
    module.replace('-', "_") == MODULE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_other_modules_and_comments_are_no_options() {
        let text = "# options amd_gpreempt mode=off\n\
                    options amdgpu cwsr_enable=1\n\
                    options amd-gpreempt mode=enforce \\\n  backend=mqd\n\
                    blacklist amd_gpreempt\n\
                    \toptions\tamd_gpreempt\tgrace_us=5\n\
                    options amd_gpreempt\n\
                    options";
        assert_eq!(given(text), ["mode=enforce", "backend=mqd", "grace_us=5"]);
    }
}
