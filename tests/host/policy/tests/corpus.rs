// SPDX-License-Identifier: GPL-2.0-only
//! Lives through every input that once broke a property, and through some that
//! reach far.

use std::fs;
use std::path::Path;

use gpreempt_host_tests::world::World;

#[test]
fn no_input_of_the_corpus_breaks_a_property() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut inputs = 0;
    for entry in fs::read_dir(&corpus).expect("the corpus") {
        let path = entry.expect("an input").path();
        let input = fs::read(&path).expect("an input");
        if let Err(what) = World::default().live(&input) {
            panic!("{}: {what}", path.display());
        }
        inputs += 1;
    }
    assert!(inputs > 0, "the corpus is empty");
}
