// SPDX-License-Identifier: GPL-2.0-only
//! Every input that is kept, once more, and the shapes that break readers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use gpreempt_fuzz::{corpus, TARGETS};

#[test]
fn kept_inputs_break_no_property() {
    for target in TARGETS {
        let inputs = corpus::inputs_of(target.name).unwrap_or_else(|error| panic!("{error:#}"));
        assert!(!inputs.is_empty(), "{} has no input", target.name);
        for input in inputs {
            (target.run)(&input);
        }
    }
}

#[test]
fn inputs_of_one_byte_break_no_property() {
    for target in TARGETS {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            for length in [0, 1, 3, 64, target.longest] {
                (target.run)(&vec![byte; length]);
            }
        }
    }
}

#[test]
fn there_is_a_target_for_each_file_of_inputs() {
    let files: BTreeSet<String> = fs::read_dir(corpus::directory())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".corpus"))
        .collect();
    let targets = TARGETS
        .iter()
        .map(|target| format!("{}.corpus", target.name))
        .collect();
    assert_eq!(files, targets);
}

/// A path without its steps upwards.
fn straight(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => assert!(straight.pop(), "{path:?} leaves the project"),
            other => straight.push(other),
        }
    }
    straight
}

/// What stands between these two words in each line that has both.
fn between<'t>(text: &'t str, before: &'t str, after: &'t str) -> impl Iterator<Item = &'t str> {
    text.lines().filter_map(move |line| {
        let (_, rest) = line.split_once(before)?;
        Some(rest.split_once(after)?.0)
    })
}

/// The folders of the packages that a package's file names, by the names of their crates.
fn packages(project: &Path, folder: &Path) -> Vec<(String, PathBuf)> {
    let text = fs::read_to_string(project.join(folder).join("Cargo.toml")).unwrap();
    let lines = text.lines().filter(|line| line.contains("{ path = \""));
    let package = |line: &str| {
        let name = line.split_whitespace().next().unwrap().to_owned();
        let path = between(line, "path = \"", "\"").next().unwrap();
        (name, straight(&folder.join(path)))
    };
    lines.map(package).collect()
}

#[test]
fn sums_of_inputs_depend_on_all_that_is_tried() {
    let here = Path::new("tests/host/fuzz");
    let project = straight(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.."));
    let packages_here = packages(&project, here);
    assert!(packages_here.len() > 3, "{packages_here:?}");
    for target in TARGETS {
        let sources: BTreeSet<PathBuf> = target.all_sources().iter().map(PathBuf::from).collect();
        let mut needed = BTreeSet::new();
        for source in &sources {
            assert!(project.join(source).exists(), "{source:?} is not there");
            if project.join(source).is_dir() {
                needed.extend(packages(&project, source).into_iter().map(|(_, at)| at));
            }
            if !source.starts_with(here) {
                continue;
            }
            let text = fs::read_to_string(project.join(source)).unwrap();
            for (name, at) in &packages_here {
                if source.starts_with(here.join("src/targets"))
                    && text.contains(&format!("{name}::"))
                {
                    needed.insert(at.clone());
                }
            }
            // Files of other crates, and targets that others use.
            let folder = source.parent().unwrap();
            needed.extend(
                between(&text, "#[path = \"", "\"").map(|path| straight(&folder.join(path))),
            );
            needed.extend(
                between(&text, "use super::", "::")
                    .map(|name| folder.join(name).with_extension("rs")),
            );
        }
        let missing: Vec<_> = needed.difference(&sources).collect();
        assert!(missing.is_empty(), "{} needs {missing:?}, too", target.name);
    }
}
