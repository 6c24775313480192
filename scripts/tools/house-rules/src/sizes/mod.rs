// SPDX-License-Identifier: GPL-2.0-only
//! How long files and functions may be, and how much code a folder may have.

mod c;
mod code;
mod python;
mod rust;
mod shell;

use anyhow::Result;

use crate::breach::Breach;
use crate::house::{
    CODE_BUDGETS, FILE_LINES, FUNCTION_LINES, LONG_FILE_WORDS, REASONED_FOLDERS, SHORT_FOLDERS,
};
use crate::rust_source;
use crate::tree::{is_below, File, Kind, Tree};

/// A function and its lines, from its signature to its end.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// Files and functions that are too long.
pub fn check(tree: &Tree) -> Result<Vec<Breach>> {
    let mut breaches = Vec::new();
    for file in tree.files().filter(|file| file.kind.is_code()) {
        let short = is_below(&file.path, SHORT_FOLDERS);
        if !short && !is_below(&file.path, REASONED_FOLDERS) {
            continue;
        }
        let text = tree.text(&file.path)?;
        breaches.extend(check_file(file, &text, short));
        if short {
            breaches.extend(check_functions(file, &text));
        }
    }
    for (folder, most) in CODE_BUDGETS {
        breaches.extend(check_budget(tree, folder, *most)?);
    }
    Ok(breaches)
}

/// The breach of a folder that has more lines of code than it may.
fn check_budget(tree: &Tree, folder: &str, most: usize) -> Result<Option<Breach>> {
    let mut lines = 0;
    let below = tree.files().filter(|file| is_below(&file.path, &[folder]));
    for file in below.filter(|file| file.kind == Kind::Rust && !is_of_tests(&file.path)) {
        let text = tree.text(&file.path)?;
        match rust_source::parse(&file.path, &text) {
            Ok(parsed) => lines += code::lines(&parsed, &text),
            Err(breach) => return Ok(Some(breach)),
        }
    }
    let what = format!(
        "{lines} lines of code, {most} are the most, without comments, empty lines and tests: \
         take something out"
    );
    Ok((lines > most).then(|| Breach::new(folder, 1, "code-size", what)))
}

/// A file that another one includes in tests alone.
fn is_of_tests(path: &str) -> bool {
    path.ends_with("/tests.rs")
}

fn check_file(file: &File, text: &str, short: bool) -> Option<Breach> {
    let lines = text.lines().count();
    if lines <= FILE_LINES || (!short && gives_reason(text)) {
        return None;
    }
    let remedy = if short {
        "divide it by concern".to_owned()
    } else {
        format!(
            "divide it, or say in its head comment why it is '{LONG_FILE_WORDS}' (\"..., in \
             {LONG_FILE_WORDS} because ...\")"
        )
    };
    let what = format!("{lines} lines, {FILE_LINES} are the most: {remedy}");
    Some(Breach::new(&file.path, FILE_LINES + 1, "file-size", what))
}

/// Whether the comment at the head of a file says why it is so long.
fn gives_reason(text: &str) -> bool {
    let head: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| line.is_empty() || line.starts_with(['/', '*', '#']))
        .map(|line| line.trim_start_matches(['/', '*', '#', '!', ' ']))
        .collect();
    head.join(" ").contains(LONG_FILE_WORDS)
}

fn check_functions(file: &File, text: &str) -> Vec<Breach> {
    let functions = match file.kind {
        Kind::Rust => match rust_source::parse(&file.path, text) {
            Ok(parsed) => rust::functions(&parsed),
            Err(breach) => return vec![breach],
        },
        Kind::C => c::functions(text),
        Kind::Shell => shell::functions(text),
        Kind::Python => python::functions(text),
        _ => Vec::new(),
    };
    functions
        .into_iter()
        .filter(|function| function.lines > FUNCTION_LINES)
        .map(|function| {
            let what = format!(
                "'{}' has {} lines, {FUNCTION_LINES} are the most: give its parts names of their own",
                function.name, function.lines
            );
            Breach::new(&file.path, function.line, "function-size", what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{places, tree};

    fn found(path: &str, text: &str) -> Vec<String> {
        places(&check(&tree(&[(path, text)])).unwrap())
    }

    #[test]
    fn a_folder_has_a_budget_of_code() {
        let most = CODE_BUDGETS[0].1;
        let full = |at| "use a;\n".repeat(100.min(most - at));
        let budget = |more: &str| {
            let mut files = vec![("rust/policy/more.rs".to_owned(), more.to_owned())];
            let starts = (0..most).step_by(100);
            files.extend(starts.map(|at| (format!("rust/policy/{at}.rs"), full(at))));
            let files: Vec<_> = files.iter().map(|(p, t)| (&p[..], &t[..])).collect();
            places(&check(&tree(&files)).unwrap())
        };
        assert_eq!(budget("// A comment.\n"), [""; 0]);
        assert_eq!(budget("use a;\n"), ["rust/policy:1 code-size"]);
    }

    #[test]
    fn a_file_of_501_lines_is_too_long() {
        let line = "// A line.\n";
        assert_eq!(found("rust/a.rs", &line.repeat(500)), [""; 0]);
        assert_eq!(
            found("rust/a.rs", &line.repeat(501)),
            ["rust/a.rs:501 file-size"]
        );
        assert_eq!(
            found(
                "scripts/run",
                &("#!/bin/sh\n".to_owned() + &"# A line.\n".repeat(500))
            ),
            ["scripts/run:501 file-size"]
        );
    }

    #[test]
    fn data_may_be_long() {
        assert_eq!(found("tests/known.txt", &"word\n".repeat(900)), [""; 0]);
        assert_eq!(found("tests/run.log", &"word\n".repeat(900)), [""; 0]);
    }

    #[test]
    fn a_long_file_of_tests_says_why() {
        let body = "fn f() {}\n".repeat(501);
        assert_eq!(found("tests/a.rs", &body), ["tests/a.rs:501 file-size"]);
        let reason = "// SPDX\n//! Cases.\n//!\n//! They are in one\n//! file because others include it.\n\n";
        assert_eq!(found("tests/a.rs", &(reason.to_owned() + &body)), [""; 0]);
        let late = format!("//! Cases.\n{body}// one file\n");
        assert_eq!(found("tests/a.rs", &late), ["tests/a.rs:501 file-size"]);
        // No reason is one where the bound holds without exceptions.
        assert_eq!(
            found("src/a.rs", &(reason.to_owned() + &body)),
            ["src/a.rs:501 file-size"]
        );
    }

    #[test]
    fn a_function_of_81_lines_is_too_long_in_each_language() {
        let cases = [
            ("src/a.rs", "/// Does.\nfn f() {\n", "    g();\n", "}\n", 2),
            (
                "bindings/a.c",
                "/* Does. */\nstatic int f(void)\n{\n",
                "\tg();\n",
                "}\n",
                2,
            ),
            ("scripts/a.sh", "# Does.\nf() {\n", "\tg\n", "}\n", 2),
            ("scripts/a.py", "def f():\n", "    g()\n", "\nf()\n", 1),
        ];
        for (path, head, line, end, at) in cases {
            let own =
                head.lines().count() + 1 - at + end.lines().take_while(|line| *line == "}").count();
            let of = |lines: usize| format!("{head}{}{end}", line.repeat(lines - own));
            assert_eq!(found(path, &of(80)), [""; 0], "{path}");
            assert_eq!(found(path, &of(81)), [format!("{path}:{at} function-size")]);
        }
    }
}
