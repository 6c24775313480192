// SPDX-License-Identifier: GPL-2.0-only
//! Writes the generated parts of the documents anew: `cargo run -p
//! gpreempt_documents -- TOP-OF-TREE`.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use gpreempt_documents::DOCUMENTS;

fn main() -> Result<()> {
    let top = PathBuf::from(
        std::env::args_os()
            .nth(1)
            .context("give the top of the tree")?,
    );
    for document in DOCUMENTS {
        let path = top.join(document.path);
        let name = path.display();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        let new = document
            .renew(&text)
            .with_context(|| format!("cannot renew {name}"))?;
        if new != text {
            fs::write(&path, new).with_context(|| format!("cannot write {name}"))?;
            println!("renewed {}", document.path);
        }
    }
    Ok(())
}
