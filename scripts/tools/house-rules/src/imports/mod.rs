// SPDX-License-Identifier: GPL-2.0-only
//! Which way imports may run, and that they do not run in circles.

mod circles;
mod edges;
mod modules;
mod rooms;

use anyhow::Result;

use crate::breach::Breach;
use crate::house::CrateRules;
use crate::tree::Tree;
use modules::Modules;

/// Breaches in crates; that one is missing is for `house::check` to say.
pub fn check(tree: &Tree, crates: &[CrateRules]) -> Result<Vec<Breach>> {
    let mut breaches = Vec::new();
    for rules in crates.iter().filter(|rules| tree.has(rules.root)) {
        let modules = match Modules::load(tree, rules.root)? {
            Ok(modules) => modules,
            Err(breach) => {
                breaches.push(breach);
                continue;
            }
        };
        let found = edges::find(&modules, rules.forbidden);
        breaches.extend(found.foreign);
        if rules.rooms.is_empty() {
            let mut edges = found.edges;
            edges.retain(|edge| !circles::leads_to_own_folder(rules.root, edge));
            breaches.extend(circles::check(&edges));
        } else {
            breaches.extend(rooms::check(rules, &modules, &found.edges));
            breaches.extend(circles::check(&found.edges));
        }
    }
    Ok(breaches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{places, tree};

    const RULES: &[CrateRules] = &[CrateRules {
        root: "src/top.rs",
        rooms: &[&["low"], &["left", "right"], &["high"]],
        forbidden: &["kernel"],
    }];

    const ROOT: &str = "mod low { pub mod a; pub mod b; }\nmod left { pub mod l; }\n\
        mod right { pub mod r; }\nmod high;\nfn main() { crate::low::a::f() }\n";

    fn breaches(files: &[(&str, &str)]) -> Vec<Breach> {
        let mut all = vec![
            ("src/top.rs", ROOT),
            ("src/low/a.rs", ""),
            ("src/low/b.rs", ""),
            ("src/left/l.rs", ""),
            ("src/right/r.rs", ""),
            ("src/high.rs", ""),
        ];
        for file in files {
            all.retain(|(path, _)| *path != file.0);
            all.push(*file);
        }
        check(&tree(&all), RULES).unwrap()
    }

    #[test]
    fn imports_downwards_and_within_a_room_are_allowed() {
        let found = breaches(&[
            (
                "src/high.rs",
                "use crate::left::l::X;\nuse crate::low::a;\n",
            ),
            ("src/low/b.rs", "use super::a::X;\n"),
        ]);
        assert_eq!(found, []);
    }

    #[test]
    fn an_upward_import_is_named_with_its_line() {
        let found = breaches(&[("src/low/a.rs", "\nuse crate::high::X;\n")]);
        assert_eq!(places(&found), ["src/low/a.rs:2 direction"]);
        assert!(found[0].what.contains("room 'low'"), "{}", found[0]);
        assert!(found[0].what.contains("room 'high'"), "{}", found[0]);
    }

    #[test]
    fn an_upward_path_in_an_expression_a_type_or_a_macro_counts() {
        let text = "fn f(x: crate::high::X) {\n  crate::right::r::g();\n  \
            say!(\"{}\", crate::left::l::Y);\n}\n";
        assert_eq!(
            places(&breaches(&[("src/low/a.rs", text)])),
            [
                "src/low/a.rs:1 direction",
                "src/low/a.rs:2 direction",
                "src/low/a.rs:3 direction",
            ]
        );
    }

    #[test]
    fn rooms_of_one_height_do_not_meet() {
        let found = breaches(&[("src/left/l.rs", "use crate::right::r::X;\n")]);
        assert_eq!(places(&found), ["src/left/l.rs:1 direction"]);
    }

    #[test]
    fn the_root_is_above_all_rooms() {
        let found = breaches(&[("src/high.rs", "use crate::Something;\n")]);
        assert_eq!(places(&found), ["src/high.rs:1 direction"]);
    }

    /// What is in a folder may use what the file of the folder has, and no other circle.
    #[test]
    fn a_crate_without_rooms_has_no_circles_but_those_of_a_folder() {
        const ROOMLESS: &[CrateRules] = &[CrateRules {
            root: "src/top.rs",
            rooms: &[],
            forbidden: &[],
        }];
        let of = |other: &str| {
            let files = [
                ("src/top.rs", "mod a; mod b;\npub fn t() { a::f() }\n"),
                ("src/a.rs", "mod c;\npub fn f() { c::g() }\n"),
                ("src/a/c.rs", "use super::f;\nuse crate::t;\n"),
                ("src/b.rs", other),
            ];
            check(&tree(&files), ROOMLESS).unwrap()
        };
        assert_eq!(of(""), []);
        assert_eq!(of("use crate::t;\nuse crate::a;\n"), []);
        let files = [
            ("src/top.rs", "mod a; mod b;\n"),
            ("src/a.rs", "mod c;\npub fn f() { crate::b::h() }\n"),
            ("src/a/c.rs", "\n"),
            ("src/b.rs", "use crate::a::f;\n"),
        ];
        let found = check(&tree(&files), ROOMLESS).unwrap();
        assert_eq!(places(&found), ["src/a.rs:2 circle"]);
    }

    #[test]
    fn a_circle_is_named_with_all_its_files_and_imports() {
        let found = breaches(&[
            ("src/low/a.rs", "use super::b::B;\n"),
            ("src/low/b.rs", "\nuse crate::low::{a::A, b};\n"),
        ]);
        assert_eq!(places(&found), ["src/low/a.rs:1 circle"]);
        let text = found[0].to_string();
        assert!(text.contains("src/low/a.rs, src/low/b.rs"), "{text}");
        assert!(
            text.contains("src/low/a.rs:1 imports src/low/b.rs"),
            "{text}"
        );
        assert!(
            text.contains("src/low/b.rs:2 imports src/low/a.rs"),
            "{text}"
        );
    }

    #[test]
    fn a_file_and_the_module_below_it_can_form_a_circle() {
        let found = breaches(&[
            ("src/high.rs", "mod child;\nuse child::X;\n"),
            ("src/high/child.rs", "use super::Y;\n"),
        ]);
        assert_eq!(places(&found), ["src/high.rs:2 circle"]);
    }

    #[test]
    fn a_declaration_and_the_tests_are_no_imports() {
        let found = breaches(&[
            ("src/high.rs", "mod child;\n"),
            ("src/high/child.rs", "use super::Y;\n"),
            (
                "src/low/a.rs",
                "#[cfg(test)]\nmod tests { use crate::high::X; }\n#[cfg(test)]\nuse crate::high::Z;\n",
            ),
        ]);
        assert_eq!(found, []);
    }

    #[test]
    fn a_crate_that_is_none_of_its_business_is_not_named() {
        let found = breaches(&[(
            "src/low/a.rs",
            "use kernel::prelude::*;\nfn f() { kernel::g() }\n",
        )]);
        assert_eq!(
            places(&found),
            ["src/low/a.rs:1 crates", "src/low/a.rs:2 crates"]
        );
    }

    #[test]
    fn a_file_belongs_to_a_room() {
        let found = breaches(&[("src/top.rs", "mod attic;\n"), ("src/attic.rs", "")]);
        assert_eq!(places(&found), ["src/attic.rs:1 rooms"]);
    }

    #[test]
    fn a_module_without_a_file_is_a_breach() {
        let found = breaches(&[("src/high.rs", "mod nowhere;\n")]);
        assert_eq!(places(&found), ["src/high.rs:1 syntax"]);
    }
}
