// SPDX-License-Identifier: GPL-2.0-only
//! Which file imports which: `use`, and paths in types, expressions and macros.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{ImplItemFn, Item, ItemUse, Macro, Path, UseTree, Visibility};

use super::modules::{Module, Modules};
use crate::breach::Breach;
use crate::rust_source::{is_for_tests, paths_in_tokens, WrittenPath};

/// That a file imports another, with the first line that says so for each path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub line: usize,
    /// The path as written.
    pub path: String,
}

/// What the paths of a crate lead to.
pub struct Found {
    pub edges: Vec<Edge>,
    /// Breaches: crates that are named and must not be.
    pub foreign: Vec<Breach>,
}

/// Finds the edges of a crate, and where it names one of the crates in `forbidden`.
pub fn find(modules: &Modules, forbidden: &[&str]) -> Found {
    let mut edges = BTreeMap::new();
    let mut foreign = Vec::new();
    for module in modules.all() {
        for path in paths(module) {
            let text = path.names.join("::");
            match modules.file_of(&module.path, &path.names) {
                Some(to) if to != module.file => {
                    edges
                        .entry((module.file.clone(), path.line, to.to_owned()))
                        .or_insert(text);
                }
                Some(_) => {}
                None if forbidden.contains(&path.names[0].as_str()) => foreign.push(Breach::new(
                    &module.file,
                    path.line,
                    "crates",
                    format!(
                        "this crate does not know crate '{}', which '{text}' names",
                        path.names[0]
                    ),
                )),
                None => {}
            }
        }
    }
    let edges = edges
        .into_iter()
        .map(|((from, line, to), path)| Edge {
            from,
            to,
            line,
            path,
        })
        .collect();
    Found { edges, foreign }
}

fn paths(module: &Module) -> Vec<WrittenPath> {
    let mut paths = Paths(Vec::new());
    for item in &module.items {
        paths.visit_item(item);
    }
    paths.0
}

struct Paths(Vec<WrittenPath>);

impl Paths {
    fn add_use(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| {
            let mut names = before.to_vec();
            if name != "self" || before.is_empty() {
                names.push(name.to_string());
            }
            names
        };
        match tree {
            UseTree::Path(path) => self.add_use(&with(&path.ident), &path.tree),
            UseTree::Name(name) => self.add(with(&name.ident), name.ident.span().start().line),
            UseTree::Rename(name) => self.add(with(&name.ident), name.ident.span().start().line),
            UseTree::Glob(glob) => {
                self.add(before.to_vec(), glob.star_token.spans[0].start().line);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_use(before, tree);
                }
            }
        }
    }

    fn add(&mut self, names: Vec<String>, line: usize) {
        if !names.is_empty() {
            self.0.push(WrittenPath { names, line });
        }
    }
}

/// The attributes of an item that can be there for tests alone.
fn is_item_for_tests(item: &Item) -> bool {
    match item {
        Item::Const(item) => is_for_tests(&item.attrs),
        Item::Enum(item) => is_for_tests(&item.attrs),
        Item::Fn(item) => is_for_tests(&item.attrs),
        Item::Impl(item) => is_for_tests(&item.attrs),
        Item::Macro(item) => is_for_tests(&item.attrs),
        Item::Mod(item) => is_for_tests(&item.attrs),
        Item::Static(item) => is_for_tests(&item.attrs),
        Item::Struct(item) => is_for_tests(&item.attrs),
        Item::Trait(item) => is_for_tests(&item.attrs),
        Item::Type(item) => is_for_tests(&item.attrs),
        Item::Use(item) => is_for_tests(&item.attrs),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_item_for_tests(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_none() {
            self.add_use(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.segments.len() > 1 {
            let names = path.segments.iter().map(|part| part.ident.to_string());
            self.add(names.collect(), path.segments[0].ident.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        paths_in_tokens(call.tokens.clone(), &mut self.0);
    }

    // `pub(in PATH)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}
