// SPDX-License-Identifier: GPL-2.0-only
//! The modules of a crate and the file that each is in.

use std::collections::BTreeMap;

use anyhow::Result;
use syn::{Item, ItemMod};

use crate::breach::Breach;
use crate::rust_source;
use crate::tree::Tree;

/// The name of a module from the root of its crate; the root's own is empty.
pub type ModulePath = Vec<String>;

/// A module and what it contains, without the modules within it.
pub struct Module {
    pub path: ModulePath,
    pub file: String,
    pub items: Vec<Item>,
}

/// All modules of a crate that are not for tests.
pub struct Modules {
    modules: BTreeMap<ModulePath, Module>,
}

impl Modules {
    /// Follows the declarations from the file at the root. The inner error is a
    /// file that is missing or is not Rust.
    pub fn load(tree: &Tree, root: &str) -> Result<Result<Modules, Breach>> {
        let mut modules = Modules {
            modules: BTreeMap::new(),
        };
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        let loaded = modules.load_file(tree, Vec::new(), root, folder)?;
        Ok(loaded.map(|()| modules))
    }

    /// Loads a file; the modules that it declares are in `folder`.
    fn load_file(
        &mut self,
        tree: &Tree,
        path: ModulePath,
        file: &str,
        folder: &str,
    ) -> Result<Result<(), Breach>> {
        match rust_source::parse(file, &tree.text(file)?) {
            Ok(parsed) => self.add(tree, path, file, folder, parsed.items),
            Err(breach) => Ok(Err(breach)),
        }
    }

    fn add(
        &mut self,
        tree: &Tree,
        path: ModulePath,
        file: &str,
        folder: &str,
        items: Vec<Item>,
    ) -> Result<Result<(), Breach>> {
        let mut own = Vec::new();
        for item in items {
            let Item::Mod(module) = item else {
                own.push(item);
                continue;
            };
            if rust_source::is_for_tests(&module.attrs) {
                continue;
            }
            if let Err(breach) = self.add_inner(tree, &path, file, folder, module)? {
                return Ok(Err(breach));
            }
        }
        self.modules.insert(
            path.clone(),
            Module {
                path,
                file: file.to_owned(),
                items: own,
            },
        );
        Ok(Ok(()))
    }

    fn add_inner(
        &mut self,
        tree: &Tree,
        parent: &ModulePath,
        file: &str,
        folder: &str,
        module: ItemMod,
    ) -> Result<Result<(), Breach>> {
        let name = module.ident.to_string();
        let mut path = parent.clone();
        path.push(name.clone());
        let below = format!("{folder}/{name}");
        if let Some((_, items)) = module.content {
            return self.add(tree, path, file, &below, items);
        }
        let places = [format!("{below}.rs"), format!("{below}/mod.rs")];
        match places.iter().find(|place| tree.has(place)) {
            Some(place) => self.load_file(tree, path, place, &below),
            None => Ok(Err(Breach::new(
                file,
                module.ident.span().start().line,
                "syntax",
                format!(
                    "module '{name}' has no file: neither {} nor {}",
                    places[0], places[1]
                ),
            ))),
        }
    }

    /// All modules, in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = &Module> {
        self.modules.values()
    }

    /// Whether there is a module of this name.
    pub fn has(&self, path: &[String]) -> bool {
        self.modules.contains_key(path)
    }

    /// The file of the innermost module that a path names, seen from `from`;
    /// none when the path leads out of the crate.
    pub fn file_of(&self, from: &[String], names: &[String]) -> Option<&str> {
        let mut at = from.to_vec();
        let mut rest = names;
        match names.first()?.as_str() {
            "crate" => {
                at.clear();
                rest = &names[1..];
            }
            "self" => rest = &names[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    at.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                at.push(first.to_owned());
                if !self.has(&at) {
                    return None;
                }
                rest = &names[1..];
            }
        }
        for name in rest {
            at.push(name.clone());
            if !self.has(&at) {
                at.pop();
                break;
            }
        }
        self.modules.get(&at).map(|module| module.file.as_str())
    }
}
