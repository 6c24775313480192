// SPDX-License-Identifier: GPL-2.0-only
//! The module in the guest: loading it, steering it and reading its tables.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::guest::{Guest, FILES};

const NAME: &str = "amd_gpreempt";
const PATIENCE: Duration = Duration::from_secs(120);

/// The module, loaded. A scenario that ends well unloads it.
#[must_use = "the next scenario cannot load it again"]
pub struct Module(());

impl Module {
    /// Loads the module with these parameters and waits until it has looked at
    /// the GPU.
    pub fn load(guest: &mut Guest, parameters: &str) -> Result<Module> {
        // Of two values the later one counts.
        let all = match parameters.contains("backend=") {
            true => parameters.to_owned(),
            false => format!("{} {parameters}", guest.parameters),
        };
        guest
            .agent()
            .insmod(&format!("{FILES}/{NAME}.ko"), all.trim())?;
        Table::Stats.wait_for_nodes(guest, guest.shape.nodes() as usize)?;
        Ok(Module(()))
    }

    /// The module, where a scenario has loaded it by other means.
    pub fn loaded() -> Module {
        Module(())
    }

    pub fn unload(self, guest: &mut Guest) -> Result<()> {
        guest.agent().rmmod(NAME)
    }

    /// Sets a parameter.
    pub fn set(&self, guest: &mut Guest, parameter: &str, value: &str) -> Result<()> {
        let path = format!("/sys/module/{NAME}/parameters/{parameter}");
        guest.agent().write_file(&path, value)
    }

    pub fn add_rule(&self, guest: &mut Guest, rule: &str) -> Result<()> {
        let path = format!("/sys/devices/faux/{NAME}/rules_add");
        guest.agent().write_file(&path, rule)
    }

    pub fn delete_rule(&self, guest: &mut Guest, number: u32) -> Result<()> {
        let path = format!("/sys/devices/faux/{NAME}/rules_del");
        guest.agent().write_file(&path, &number.to_string())
    }
}

/// A table in debugfs.
#[derive(Clone, Copy, Debug)]
pub enum Table {
    Queues,
    /// The processes of which not all queues are in view.
    LeftOut,
    Events,
    Stats,
}

impl Table {
    pub fn path(self) -> String {
        let name = match self {
            Table::Queues | Table::LeftOut => "queues",
            Table::Events => "events",
            Table::Stats => "stats",
        };
        format!("/sys/kernel/debug/{NAME}/{name}.json")
    }

    /// The rows.
    pub fn read(self, guest: &mut Guest) -> Result<Vec<Value>> {
        let text = guest.agent().read_file(&self.path())?;
        let table: Value =
            serde_json::from_str(&text).with_context(|| format!("the table is {text}"))?;
        let rows = match self {
            Table::Queues => &table["queues"],
            Table::LeftOut => &table["left_out"],
            Table::Events => &table["events"],
            Table::Stats => &table["nodes"],
        };
        let rows = rows.as_array().cloned();
        rows.with_context(|| format!("no rows in {table}"))
    }

    /// The sum of a number over all rows.
    pub fn sum(self, guest: &mut Guest, name: &str) -> Result<u64> {
        self.read(guest)?
            .iter()
            .map(|row| {
                row[name]
                    .as_u64()
                    .with_context(|| format!("no {name} in {row}"))
            })
            .sum()
    }

    /// Waits until so many nodes were looked at, and returns their rows.
    pub fn wait_for_nodes(self, guest: &mut Guest, count: usize) -> Result<Vec<Value>> {
        let mut rows = Vec::new();
        guest.wait_until("the module has seen the GPU", PATIENCE, |guest| {
            rows = self.read(guest)?;
            Ok(rows.len() >= count && rows.iter().all(|row| row["gpu_id"] != 0))
        })?;
        Ok(rows)
    }
}
