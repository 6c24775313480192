// SPDX-License-Identifier: GPL-2.0-only
//! Circles of files that import each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::edges::Edge;
use crate::breach::Breach;
use crate::tree::is_below;

type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// One breach for each largest set of files that all reach each other.
pub fn check(edges: &[Edge]) -> Vec<Breach> {
    let mut graph = Graph::new();
    for edge in edges {
        graph.entry(&edge.from).or_default().insert(&edge.to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|file| (*file, reach(&graph, file)))
        .collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut breaches = Vec::new();
    for (file, others) in &reached {
        if !others.contains(file) || seen.contains(file) {
            continue;
        }
        let circle: BTreeSet<&str> = others
            .iter()
            .copied()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(file)))
            .collect();
        seen.extend(&circle);
        breaches.push(report(&circle, edges));
    }
    breaches
}

/// Whether an import leads from a folder to the file that declares what is in the folder.
pub fn leads_to_own_folder(root: &str, edge: &Edge) -> bool {
    let own = match edge.to.strip_suffix("/mod.rs") {
        Some(folder) => folder,
        None if edge.to == root => return true,
        None => edge.to.trim_end_matches(".rs"),
    };
    is_below(&edge.from, &[own])
}

/// The files to which imports lead from a file.
fn reach<'a>(graph: &Graph<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(file) = open.pop() {
        for next in graph.get(file).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    reached
}

fn report(circle: &BTreeSet<&str>, edges: &[Edge]) -> Breach {
    let files: Vec<&str> = circle.iter().copied().collect();
    let mut what = format!(
        "{} files import each other in a circle ({}): open it at one of these places",
        files.len(),
        files.join(", ")
    );
    let mut place = None;
    let mut told = BTreeSet::new();
    for edge in edges {
        let (from, to) = (edge.from.as_str(), edge.to.as_str());
        if circle.contains(from) && circle.contains(to) && told.insert((from, to)) {
            place.get_or_insert((from, edge.line));
            // Writing to a string does not fail.
            let _ = write!(
                what,
                "\n    {from}:{} imports {to} ({})",
                edge.line, edge.path
            );
        }
    }
    let (file, line) = place.unwrap_or((files[0], 1));
    Breach::new(file, line, "circle", what)
}
