// SPDX-License-Identifier: GPL-2.0-only

//! The committed pictures are those of the committed figures.

use gpreempt_simulator::pictures::of_document;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[test]
fn the_committed_pictures_are_of_the_committed_figures() {
    let directory = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../docs/simulation"
    ));
    let mut pictures: BTreeMap<String, String> =
        of_document(directory).unwrap().into_iter().collect();
    for entry in fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".svg") {
            continue;
        }
        let committed = fs::read_to_string(directory.join(&name)).unwrap();
        assert!(
            pictures.remove(&name) == Some(committed),
            "docs/simulation/{name} is out of date: run 'cargo run --release \
             --manifest-path tests/Cargo.toml -p gpreempt_simulator -- document --parts pictures'"
        );
    }
    let missing: Vec<&String> = pictures.keys().collect();
    assert!(missing.is_empty(), "not in docs/simulation: {missing:?}");
}
