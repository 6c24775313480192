// SPDX-License-Identifier: GPL-2.0-only
//! The order of a crate's rooms: a file imports its own room or lower ones.

use std::collections::BTreeSet;

use super::edges::Edge;
use super::modules::Modules;
use crate::breach::Breach;
use crate::house::CrateRules;

/// The room of a file: its folder below the crate's root, or its own name there.
fn room<'a>(rules: &CrateRules, file: &'a str) -> &'a str {
    let folder = rules
        .root
        .rsplit_once('/')
        .map_or(0, |(folder, _)| folder.len() + 1);
    let inside = &file[folder..];
    let first = inside.split('/').next().unwrap_or(inside);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// How high a room is: the index of its line, or above all for the root's.
fn height(rules: &CrateRules, file: &str) -> Option<usize> {
    if file == rules.root {
        return Some(rules.rooms.len());
    }
    let room = room(rules, file);
    rules.rooms.iter().position(|line| line.contains(&room))
}

/// The order as it is written in the documents.
fn order(rules: &CrateRules) -> String {
    let mut order: Vec<String> = rules
        .rooms
        .iter()
        .map(|line| match line {
            [room] => (*room).to_owned(),
            rooms => format!("{{{}}}", rooms.join(", ")),
        })
        .collect();
    order.push(room(rules, rules.root).to_owned());
    order.join(" < ")
}

/// Files that are in no room, and edges that run the wrong way.
pub fn check(rules: &CrateRules, modules: &Modules, edges: &[Edge]) -> Vec<Breach> {
    let files: BTreeSet<&str> = modules.all().map(|module| module.file.as_str()).collect();
    let homeless = files
        .into_iter()
        .filter(|file| height(rules, file).is_none())
        .map(|file| {
            let what = format!(
                "room '{}' has no place in the order {}: move the file to a room, or give the room \
                 a place in scripts/tools/house-rules/src/house.rs",
                room(rules, file),
                order(rules)
            );
            Breach::new(file, 1, "rooms", what)
        });
    homeless
        .chain(edges.iter().filter_map(|edge| wrong_way(rules, edge)))
        .collect()
}

fn wrong_way(rules: &CrateRules, edge: &Edge) -> Option<Breach> {
    let (from, to) = (room(rules, &edge.from), room(rules, &edge.to));
    let (low, high) = (height(rules, &edge.from)?, height(rules, &edge.to)?);
    let why = if from == to || low > high {
        return None;
    } else if low == high {
        format!("rooms '{from}' and '{to}' do not meet")
    } else {
        format!("room '{to}' is above room '{from}'")
    };
    let what = format!(
        "'{}' is in {}, and {why} ({}): move what both need to a lower room",
        edge.path,
        edge.to,
        order(rules)
    );
    Some(Breach::new(&edge.from, edge.line, "direction", what))
}
