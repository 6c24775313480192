// SPDX-License-Identifier: GPL-2.0-only
//! That documents render, name what is there, and quote what is printed.

mod commands;
mod interface;
mod links;
mod literals;
mod messages;
mod names;
mod page;
mod paths;
mod pattern;
mod rendering;
mod settings;
mod widths;

use anyhow::Result;

use crate::breach::Breach;
use crate::tree::{Kind, Tree};
use page::Page;

/// Breaches in Markdown, manual pages and the descriptions of interfaces.
pub fn check(tree: &Tree) -> Result<Vec<Breach>> {
    let mut pages = Vec::new();
    for file in tree.files() {
        if matches!(file.kind, Kind::Markdown | Kind::Manual) {
            pages.push(Page::read(&file.path, file.kind, &tree.text(&file.path)?));
        }
    }
    let mut breaches = widths::check(&pages);
    breaches.extend(rendering::check(&pages));
    breaches.extend(links::check(tree, &pages));
    breaches.extend(paths::check(tree, &pages));
    breaches.extend(commands::check(tree, &pages)?);
    breaches.extend(names::check(tree, &pages)?);
    breaches.extend(settings::check(tree, &pages)?);
    breaches.extend(interface::check(tree, &pages)?);
    breaches.extend(messages::check(tree, &pages)?);
    Ok(breaches)
}
