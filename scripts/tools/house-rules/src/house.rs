// SPDX-License-Identifier: GPL-2.0-only
//! The rules of the house, as data. What each means is in `docs/CONTRIBUTING.md`;
//! how it is checked is in the file of the same name.

use crate::breach::Breach;
use crate::tree::Tree;

/// A crate, its rooms and which way imports may run between them.
pub struct CrateRules {
    /// The file at its root, which is a room of its own above all others.
    pub root: &'static str,
    /// The rooms from the lowest up. A file imports what is in its own room or in
    /// one further down. Rooms of one line do not import each other. A crate without
    /// rooms has no circles, and nothing else is asked of it.
    pub rooms: &'static [&'static [&'static str]],
    /// Crates that it does not name.
    pub forbidden: &'static [&'static str],
}

pub const CRATES: &[CrateRules] = &[
    CrateRules {
        root: "rust/policy/gpreempt_policy.rs",
        rooms: &[
            &["terms"],
            &["settings"],
            &["parts"],
            &["queue"],
            &["process"],
            &["level"],
            &["pass"],
            &["scheduler"],
        ],
        forbidden: &["kernel", "kfd"],
    },
    CrateRules {
        root: "rust/kfd/kfd.rs",
        rooms: &[&["kernel"], &["driver"], &["look", "act"], &["operator"]],
        forbidden: &["amd_gpreempt"],
    },
    CrateRules {
        root: "src/amd_gpreempt.rs",
        rooms: &[
            &["shared", "node"],
            &["node_thread"],
            &["values"],
            &["monitor"],
            &["fleet"],
            &["inspection"],
        ],
        forbidden: &[],
    },
    no_circles("scripts/operator/command/src/main.rs"),
    CrateRules {
        root: "scripts/operator/library/src/lib.rs",
        rooms: &[
            &["words"],
            &["host"],
            &["configuration"],
            &["module"],
            &["act"],
            &["report"],
        ],
        forbidden: &[],
    },
    no_circles("scripts/operator/selftest/src/main.rs"),
    no_circles("scripts/tools/house-rules/src/main.rs"),
    no_circles("tests/e2e/runner/src/main.rs"),
    no_circles("tests/lab/bench/src/lib.rs"),
    no_circles("tests/lab/gfx942/src/lib.rs"),
    no_circles("tests/lab/plot/src/lib.rs"),
    no_circles("tests/lab/simulator/src/lib.rs"),
    no_circles("tests/lab/vgpu/model/src/lib.rs"),
    no_circles("tests/lab/vgpu/server/src/main.rs"),
    no_circles("tests/lab/workload/src/lib.rs"),
];

/// A crate of which nothing else is asked than that no files import each other in a circle;
/// what is in a folder may use what the folder's own file has.
const fn no_circles(root: &'static str) -> CrateRules {
    CrateRules {
        root,
        rooms: &[],
        forbidden: &[],
    }
}

/// Where no unsafe code may be.
pub const SAFE_FOLDERS: &[&str] = &["rust/policy", "src"];
/// Where files without unsafe code forbid it, and unsafe code says why it is sound.
pub const UNSAFE_FOLDERS: &[&str] = &["rust/kfd", "rust/standalone"];
/// What a file there says when it has no unsafe code; one that includes generated
/// code cannot, nor can the root, where it would hold for the whole crate.
pub const FORBID_UNSAFE: &str = "#![forbid(unsafe_code)]";
pub const UNSAFE_ROOTS: &[&str] = &["rust/kfd/kfd.rs", "rust/standalone/kernel/kernel.rs"];
/// What a comment about safety may not say, in small letters: it sends the reader
/// elsewhere, names no invariant, or tells only where the code runs.
pub const VAGUE_SAFETY: &[&str] = &[
    "as above",
    "as before",
    "as for ",
    "as in `",
    "see `",
    "process context",
    "by the type's invariant.",
    "by the function's requirement.",
];

/// The most lines of a file and of a function.
pub const FILE_LINES: usize = 500;
pub const FUNCTION_LINES: usize = 80;
/// Where both bounds hold.
pub const SHORT_FOLDERS: &[&str] = &["rust", "src", "bindings", "scripts"];
/// Where a longer file says why, in its head comment.
pub const REASONED_FOLDERS: &[&str] = &["tests"];
/// The most lines of code in a folder, without comments, empty lines and tests: what has
/// to be understood as a whole stays small enough for it.
pub const CODE_BUDGETS: &[(&str, usize)] = &[("rust/policy", 3_000)];
/// What that sentence contains: "..., in one file because ...".
pub const LONG_FILE_WORDS: &str = "one file";

/// The most characters in a line of Markdown.
pub const LINE_WIDTH: usize = 120;

/// The folders at the top of the tree, to know a path in a document by.
pub const TOP_FOLDERS: &[&str] = &[
    "rust", "src", "bindings", "scripts", "tests", "docs", "LICENSES",
];
/// Short forms of paths that documents use, and what they stand for.
pub const SHORT_FORMS: &[(&str, &str)] = &[("kfd", "rust/kfd"), ("policy", "rust/policy")];

/// The one table of parameters, and the words of a rule.
pub const PARAMETER_TABLE: &str = "rust/policy/settings/parameter.rs";
pub const RULE_WORDS: &str = "rust/policy/settings/rule_text.rs";
/// The parameters that there were, and the documents that may name them: what was measured
/// is told with the settings of that day.
pub const GONE_TABLE: &str = "scripts/operator/library/src/words/gone.rs";
pub const RECORD_FOLDERS: &[&str] = &["docs/benchmarks", "docs/simulation"];
/// Settings of others that documents name.
pub const FOREIGN_SETTINGS: &[&str] = &[
    // amdgpu
    "sched_policy",
    "cwsr_enable",
    "ip_block_mask",
    // the kernel
    "slub_debug",
    // a name in a rule, which the kernel does not know: scripts/operator/library/src/words/names.rs
    "unit",
    // a label of somebody's containers
    "team",
];

/// The tracepoints, and the document that describes them.
pub const TRACE_HEADER: &str = "bindings/trace.h";
pub const TRACE_ABI: &str = "docs/ABI/testing/tracepoints-amd_gpreempt";
/// The documents of files in sysfs, debugfs and tracefs, and where the files are.
pub const ABI_FOLDER: &str = "docs/ABI/testing";
pub const INTERFACE_FOLDERS: &[&str] = &[
    "/sys/module/amd_gpreempt",
    "/sys/devices/faux/amd_gpreempt",
    "/sys/kernel/debug/amd_gpreempt",
    "/sys/kernel/tracing/events/amd_gpreempt",
];

/// What documents name and nothing in the tree does: examples in guides, and what
/// belongs to others.
pub const EXAMPLES: &[&str] = &[
    // CONTRIBUTING: the subject of a commit.
    "policy: start the queues of a process that exits",
    // The kernel's own.
    "rust/Makefile",
];
/// The first words of command lines that documents quote without an option.
pub const COMMANDS: &[&str] = &["cargo", "dkms", "gpreempt", "make", "modprobe", "sudo"];

/// How the heads of columns end in which documents quote messages ("the log says"),
/// and the heads of those in which they emphasise the names of scenarios.
pub const MESSAGE_COLUMN_END: &str = "says";
pub const SCENARIO_COLUMNS: &[&str] = &["proof"];
/// The word behind the fence of a block that quotes messages.
pub const MESSAGE_BLOCK: &str = "log";
/// What prints messages.
pub const MESSAGE_SOURCES: &[&str] = &[
    "rust",
    "src",
    "bindings",
    "scripts/build",
    "scripts/guest",
    "scripts/lib",
    "scripts/operator",
    "scripts/package",
    "scripts/setup",
    "scripts/test",
    "tests/lab",
    "tests/e2e/agent",
    "tests/e2e/runner",
];
/// What has the names of scenarios.
pub const SCENARIO_SOURCES: &[&str] = &[
    "tests/e2e/runner/src/scenarios",
    "tests/host",
    "tests/kunit",
];

/// The file that has the version, how its line begins, and who else may name it.
pub const VERSION_FILE: &str = "dkms.conf";
pub const VERSION_LINE: &str = "PACKAGE_VERSION=";
pub const VERSION_READERS: &[&str] = &["docs/CHANGELOG.md", "docs/guides/release.md"];

/// Where words are looked at: the product, in which each has one meaning (docs/glossary.md).
pub const WORDED: &[&str] = &["rust", "src", "bindings"];
/// Words that were replaced there, each with what to write.
pub const OLD_WORDS: &[(&str, &str)] = &[
    ("Admission", "the check of a node is a NodeCheck"),
    (
        "Engine",
        "a thread's data is NodeThread, a node's NodeState",
    ),
    ("Keeper", "what is remembered of a node is its NodeData"),
    ("Lodger", "say what is evicted, and for what"),
    ("Occasion", "name the cause"),
    ("Post", "say what the threads of a GPU have in common"),
    ("Seat", "a GPU has a NodeSlot for each node"),
    ("Site", "a node that is looked up is a NodeRef"),
    ("Stalled", "a queue that makes no progress is Waiting"),
    ("keeper", "say whose data it is"),
    ("lodger", "say what is evicted, and for what"),
    ("patience", "it is a timeout"),
    ("seat", "it is a slot"),
    ("stalled", "a queue that makes no progress is waiting"),
    ("tempo", "say whose lengths they are"),
    ("tenure", "say how long what lasts"),
];

/// The licence of all source files, and where the texts of licences are.
pub const LICENCE: &str = "GPL-2.0-only";
pub const LICENCE_TEXTS: &str = "LICENSES";

/// Rules about what is not there any more would be kept by everything.
pub fn check(tree: &Tree) -> Vec<Breach> {
    let roots: Vec<&str> = CRATES.iter().map(|rules| rules.root).collect();
    let files = [
        PARAMETER_TABLE,
        RULE_WORDS,
        GONE_TABLE,
        TRACE_HEADER,
        TRACE_ABI,
    ];
    let folders = [
        SAFE_FOLDERS,
        UNSAFE_FOLDERS,
        UNSAFE_ROOTS,
        SHORT_FOLDERS,
        REASONED_FOLDERS,
        TOP_FOLDERS,
        MESSAGE_SOURCES,
        SCENARIO_SOURCES,
        RECORD_FOLDERS,
    ];
    let named = roots
        .iter()
        .chain(&files)
        .chain(folders.into_iter().flatten());
    let missing = named.filter(|path| !tree.has(path)).map(|path| {
        let what = format!("'{path}' is not there: say where it is now");
        Breach::new("scripts/tools/house-rules/src/house.rs", 1, "house", what)
    });
    missing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn the_rules_are_about_what_is_there() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
        assert_eq!(check(&Tree::open(here.as_ref()).unwrap()), []);
        let found = check(&tree(&[("src/other.rs", "")]));
        assert!(found
            .iter()
            .any(|breach| breach.what.contains("'src/amd_gpreempt.rs'")));
        assert!(!found.iter().any(|breach| breach.what.contains("'src'")));
    }
}
