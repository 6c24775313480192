// SPDX-License-Identifier: GPL-2.0-only
//! Where unsafe code may be, and that it says why it is sound.

use anyhow::Result;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::breach::Breach;
use crate::house::{FORBID_UNSAFE, SAFE_FOLDERS, UNSAFE_FOLDERS, UNSAFE_ROOTS, VAGUE_SAFETY};
use crate::tree::{is_below, Kind, Tree};

/// Breaches of the safe rooms, and of what files with unsafe code must say.
pub fn check(tree: &Tree) -> Result<Vec<Breach>> {
    let mut breaches = Vec::new();
    let folders: Vec<&str> = [SAFE_FOLDERS, UNSAFE_FOLDERS].concat();
    for file in tree.below(&folders).filter(|file| file.kind == Kind::Rust) {
        let text = tree.text(&file.path)?;
        let Ok(tokens) = text.parse::<TokenStream>() else {
            breaches.push(Breach::new(
                &file.path,
                1,
                "syntax",
                "this is not read as Rust",
            ));
            continue;
        };
        let mut places = Vec::new();
        unsafe_places(tokens, &mut places);
        if is_below(&file.path, SAFE_FOLDERS) {
            breaches.extend(places.iter().map(|line| safe_room(&file.path, *line)));
        } else {
            breaches.extend(check_file(&file.path, &text, &places));
        }
    }
    Ok(breaches)
}

fn safe_room(path: &str, line: usize) -> Breach {
    let what = format!(
        "there is no unsafe code in this room: put it behind a safe type in {}",
        UNSAFE_FOLDERS.join(", ")
    );
    Breach::new(path, line, "safe-room", what)
}

fn check_file(path: &str, text: &str, places: &[usize]) -> Vec<Breach> {
    let lines: Vec<&str> = text.lines().collect();
    if places.is_empty() {
        let exempt = UNSAFE_ROOTS.contains(&path) || text.contains("include!(");
        if exempt || lines.iter().any(|line| line.trim() == FORBID_UNSAFE) {
            return Vec::new();
        }
        let what = format!("no unsafe code is here: say so at the head with {FORBID_UNSAFE}");
        return vec![Breach::new(path, 1, "forbid-unsafe", what)];
    }
    let explained = places.iter().filter_map(|&line| {
        let what = "this unsafe code lacks a '// SAFETY:' comment before it (for a function a \
                    '# Safety' section) that names what it relies on";
        (!is_explained(&lines, line)).then(|| Breach::new(path, line, "safety-comment", what))
    });
    explained.chain(vague_comments(path, &lines)).collect()
}

/// Comments about safety that send the reader elsewhere, or say no more than where the
/// code runs.
fn vague_comments(path: &str, lines: &[&str]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(begin) = line.trim().strip_prefix("// SAFETY:") else {
            continue;
        };
        let more = lines[at + 1..].iter().map(|line| line.trim());
        let more = more.map_while(|line| line.strip_prefix("//"));
        let words = std::iter::once(begin).chain(more);
        let words: Vec<&str> = words.flat_map(str::split_whitespace).collect();
        let text = words.join(" ").to_lowercase();
        if let Some(phrase) = VAGUE_SAFETY.iter().find(|phrase| text.contains(**phrase)) {
            let what = format!(
                "'{phrase}' is no reason: name the invariant that this unsafe code relies on"
            );
            breaches.push(Breach::new(path, at + 1, "safety-reason", what));
        }
    }
    breaches
}

/// The lines of unsafe blocks, implementations, functions and lists of foreign
/// functions; a type of an unsafe function is none.
fn unsafe_places(tokens: TokenStream, places: &mut Vec<usize>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "unsafe" && is_code(&tokens[at + 1..]) => {
                places.push(word.span().start().line);
            }
            TokenTree::Group(group) => unsafe_places(group.stream(), places),
            _ => {}
        }
    }
}

/// Whether what follows `unsafe` makes it more than part of a type.
fn is_code(after: &[TokenTree]) -> bool {
    for token in after {
        match token {
            TokenTree::Ident(word) if word == "fn" || word == "extern" => {}
            TokenTree::Literal(_) => {}
            TokenTree::Group(group) => return group.delimiter() == Delimiter::Brace,
            // The name of a function, `impl` or `trait`.
            TokenTree::Ident(_) => return true,
            TokenTree::Punct(_) => return false,
        }
    }
    false
}

/// Whether a comment before the statement of a line says why it is sound.
fn is_explained(lines: &[&str], line: usize) -> bool {
    let mut in_comment = false;
    for text in lines[..line - 1].iter().rev().map(|text| text.trim()) {
        if text.starts_with("//") {
            in_comment = true;
            if text.contains("SAFETY:") || text.contains("# Safety") {
                return true;
            }
        } else if in_comment || text.is_empty() || text.ends_with([';', '{', '}']) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{places, tree};

    fn found(path: &str, text: &str) -> Vec<String> {
        places(&check(&tree(&[(path, text)])).unwrap())
    }

    #[test]
    fn an_unsafe_block_in_a_safe_room_is_named() {
        let text = "fn f() {\n    unsafe { g() }\n}\n";
        assert_eq!(
            found("rust/policy/a.rs", text),
            ["rust/policy/a.rs:2 safe-room"]
        );
        assert_eq!(found("src/a.rs", text), ["src/a.rs:2 safe-room"]);
        assert_eq!(
            found("src/b.rs", "// unsafe\nfn f() { say(\"unsafe\") }\n"),
            [""; 0]
        );
    }

    #[test]
    fn unsafe_code_in_a_macro_counts() {
        let text = "fn f() {\n    pin!(Self {\n        a: unsafe { g() },\n    })\n}\n";
        assert_eq!(found("src/a.rs", text), ["src/a.rs:3 safe-room"]);
    }

    #[test]
    fn a_file_without_unsafe_code_forbids_it() {
        let path = "rust/kfd/look/a.rs";
        assert_eq!(
            found(path, "fn f() {}\n"),
            [format!("{path}:1 forbid-unsafe")]
        );
        assert_eq!(found(path, "#![forbid(unsafe_code)]\nfn f() {}\n"), [""; 0]);
    }

    #[test]
    fn a_root_and_a_file_with_generated_code_cannot_forbid_it() {
        assert_eq!(found("rust/kfd/kfd.rs", "mod a;\n"), [""; 0]);
        let text = "include!(env!(\"GP_BINDINGS\"));\n";
        assert_eq!(found("rust/kfd/kernel/bindings.rs", text), [""; 0]);
    }

    #[test]
    fn unsafe_code_says_why_it_is_sound() {
        let path = "rust/kfd/a.rs";
        let bare = "fn f() {\n    unsafe { g() }\n}\nunsafe impl Send for A {}\nunsafe fn h() {}\n";
        assert_eq!(
            found(path, bare),
            [2, 4, 5].map(|line| format!("{path}:{line} safety-comment"))
        );
        let good = "fn f() {\n    // SAFETY: It is.\n    // And more.\n    let a = g(\n        1,\n        \
            unsafe { h() },\n    );\n}\n// SAFETY: It is.\nunsafe impl Send for A {}\n\
            /// # Safety\n///\n/// It is.\n#[inline]\nunsafe fn h() {}\n";
        assert_eq!(found(path, good), [""; 0]);
    }

    #[test]
    fn a_comment_of_the_statement_before_does_not_count() {
        let text = "fn f() {\n    // SAFETY: It is.\n    unsafe { g() };\n    unsafe { h() };\n}\n";
        assert_eq!(
            found("rust/kfd/a.rs", text),
            ["rust/kfd/a.rs:4 safety-comment"]
        );
    }

    #[test]
    fn a_comment_that_sends_the_reader_elsewhere_is_no_reason() {
        let path = "rust/kfd/a.rs";
        for vague in [
            "As above.",
            "As above; `L` is `Sync`.",
            "It is there, as\n    // above.",
            "As for the\n    // queue.",
            "As in `Foreign::read`.",
            "The GPU is there, see `take_out`.",
            "`name` is a string; process\n    // context.",
            "By the type's invariant.",
            "By the function's requirement.",
        ] {
            let text = format!("fn f() {{\n    // SAFETY: {vague}\n    unsafe {{ g() }}\n}}\n");
            assert_eq!(
                found(path, &text),
                [format!("{path}:2 safety-reason")],
                "{vague}"
            );
        }
        let good = "fn f() {\n    // SAFETY: By the type's invariant it is alive.\n    \
                    unsafe { g() }\n}\n// As above.\n";
        assert_eq!(found(path, good), [""; 0]);
    }

    #[test]
    fn the_type_of_an_unsafe_function_is_no_unsafe_code() {
        let text = "#![forbid(unsafe_code)]\nstruct A(unsafe extern \"C\" fn(u32));\n";
        assert_eq!(found("rust/kfd/a.rs", text), [""; 0]);
    }
}
