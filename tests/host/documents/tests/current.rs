// SPDX-License-Identifier: GPL-2.0-only
//! The committed documents say what the table says.

use std::{fs, path::Path};

use gpreempt_documents::DOCUMENTS;

#[test]
fn documents_are_current() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for document in DOCUMENTS {
        let text = fs::read_to_string(top.join(document.path)).unwrap();
        assert_eq!(
            document.renew(&text).unwrap(),
            text,
            "{} is out of date: run 'make documents'",
            document.path
        );
    }
}
