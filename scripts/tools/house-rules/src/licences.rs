// SPDX-License-Identifier: GPL-2.0-only
//! That each source file names its licence, and that its text is at hand.

use anyhow::Result;

use crate::breach::Breach;
use crate::house::{LICENCE, LICENCE_TEXTS};
use crate::tree::{Kind, Tree};

const TAG: &str = "SPDX-License-Identifier:";
/// Where the licence is named.
const HEAD_LINES: usize = 3;

/// Files that do not name the licence, and licences without a text.
pub fn check(tree: &Tree) -> Result<Vec<Breach>> {
    let mut breaches = Vec::new();
    for file in tree.files().filter(|file| may_name_a_licence(file.kind)) {
        let named = licence(&tree.text(&file.path)?);
        match named {
            Some((line, name)) if file.kind.is_code() && name != LICENCE => {
                let what = format!("the licence is {LICENCE}, not '{name}'");
                breaches.push(Breach::new(&file.path, line, "licence", what));
            }
            Some((line, name)) if !tree.has(&format!("{LICENCE_TEXTS}/{name}.txt")) => {
                let what =
                    format!("{LICENCE_TEXTS}/{name}.txt is missing, the text of this licence");
                breaches.push(Breach::new(&file.path, line, "licence", what));
            }
            None if file.kind.is_code() => {
                let what = format!("the first {HEAD_LINES} lines lack '{TAG} {LICENCE}'");
                breaches.push(Breach::new(&file.path, 1, "licence", what));
            }
            _ => {}
        }
    }
    Ok(breaches)
}

fn may_name_a_licence(kind: Kind) -> bool {
    kind.is_code() || matches!(kind, Kind::Markdown | Kind::Manual)
}

/// The licence that a file names, and in which line.
fn licence(text: &str) -> Option<(usize, String)> {
    text.lines()
        .take(HEAD_LINES)
        .enumerate()
        .find_map(|(at, line)| {
            let (_, name) = line.split_once(TAG)?;
            let name = name.trim_end_matches("-->").trim_end_matches("*/").trim();
            Some((at + 1, name.to_owned()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{places, tree};

    const TEXT: (&str, &str) = ("LICENSES/GPL-2.0-only.txt", "The terms.\n");

    #[test]
    fn each_source_file_names_the_licence() {
        let line = "SPDX-License-Identifier: GPL-2.0-only";
        let found = check(&tree(&[
            TEXT,
            ("src/a.rs", &format!("// {line}\n")),
            ("bindings/a.h", &format!("/* {line} */\n")),
            ("scripts/run", &format!("#!/bin/sh\n# {line}\n")),
            ("docs/a.md", &format!("<!-- {line} -->\n")),
            ("docs/b.md", "No source.\n"),
            ("tests/a.json", "{}\n"),
            ("src/b.rs", "fn f() {}\n"),
            ("src/c.rs", &format!("\n\n\n// {line}\n")),
            ("scripts/other", "#!/bin/sh\n"),
            ("src/d.rs", "// SPDX-License-Identifier: MIT\n"),
        ]));
        assert_eq!(
            places(&found.unwrap()),
            [
                "scripts/other:1 licence",
                "src/b.rs:1 licence",
                "src/c.rs:1 licence",
                "src/d.rs:1 licence",
            ]
        );
    }

    #[test]
    fn each_licence_has_its_text() {
        let line = "// SPDX-License-Identifier: GPL-2.0-only\n";
        let found = check(&tree(&[("src/a.rs", line)])).unwrap();
        assert_eq!(places(&found), ["src/a.rs:1 licence"]);
        let other = "<!-- SPDX-License-Identifier: CC-BY-4.0 -->\n";
        let found = check(&tree(&[TEXT, ("docs/a.md", other)])).unwrap();
        assert_eq!(places(&found), ["docs/a.md:1 licence"]);
    }
}
