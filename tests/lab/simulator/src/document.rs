// SPDX-License-Identifier: GPL-2.0-only

//! Everything that docs/simulation shows, written by one command.

use crate::documented::{compare, nodes, MicroPoint, MICRO_POLICIES};
use crate::gpu::{Gpu, ReadPointer};
use crate::pictures;
use crate::policies::{Effort, Policy};
use crate::reference::Foresight;
use crate::report::{self, table, Comparison};
use crate::summary::Summary;
use crate::sweep::{self, Sweep};
use crate::workload::Workload;
use anyhow::{bail, Context, Result};
use std::fmt::Write;
use std::path::Path;

/// All policies but `none`, with the default parameters.
fn policies(names: &[&str]) -> Result<Vec<Policy>> {
    names
        .iter()
        .filter(|name| **name != "none")
        .map(|name| Policy::by_name(name, &[]))
        .collect()
}

/// Tells what is being done; a run takes some minutes.
fn progress(what: &str) {
    eprintln!("{what}");
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The parts of docs/simulation that can be written alone.
pub const PARTS: [&str; 7] = [
    "tables",
    "goal",
    "micro",
    "sensitivity",
    "queues",
    "sweeps",
    "pictures",
];

/// Writes some of `PARTS` into `directory`, and draws the figures there anew.
pub fn write_parts(directory: &Path, parts: &[String], effort: Effort) -> Result<()> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    for part in parts {
        match part.as_str() {
            "tables" => {
                for gpu in nodes() {
                    tables(directory, &gpu, effort)?;
                }
            }
            "goal" => goal(directory, effort)?,
            "micro" => micro(directory, effort)?,
            "sensitivity" => sensitivity(directory, effort)?,
            "queues" => queues(directory, effort)?,
            "sweeps" => sweeps(directory, effort)?,
            // They are drawn whatever the parts are.
            "pictures" => {}
            _ => bail!(
                "there is no part '{part}': give some of {}",
                PARTS.join(", ")
            ),
        }
    }
    pictures::write(directory, pictures::of_document(directory)?)
}

/// All sweeps around the defaults, with half the seeds.
fn sweeps(directory: &Path, effort: Effort) -> Result<()> {
    let directory = directory.join("sweeps");
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let effort = Effort {
        seeds: effort.seeds.div_ceil(2),
        ..effort
    };
    for sweep in Sweep::ALL {
        progress(&format!("sweep of {}", sweep.parameter));
        let points = sweep::run(&Gpu::mi300x_spx(), sweep, &[], effort)?;
        sweep::write(&directory, sweep, &points)?;
    }
    Ok(())
}

/// The comparison of all policies on all workloads of one node.
pub fn tables(directory: &Path, gpu: &Gpu, effort: Effort) -> Result<()> {
    let policies = policies(&Policy::NAMES)?;
    let mut text = format!("# Policies on {}\n", gpu.name);
    let mut comparisons = Vec::new();
    for name in Workload::names() {
        progress(&format!("{name} on {}", gpu.name));
        let workload = Workload::by_name(name).context("a known workload")?;
        let comparison = compare(gpu, &workload, &policies, effort);
        let _ = write!(text, "\n## {name}\n\n{}", report::comparison(&comparison));
        comparisons.push(comparison);
    }
    text.push_str("\n# How far strict is from the references\n\n");
    text.push_str(&report::distances(&comparisons, "strict"));
    text.push_str("\n# Where the time of an urgent request goes under strict\n\n");
    text.push_str(&report::split(&comparisons, "strict"));
    text.push_str("\n# Service times\n\n");
    text.push_str(&report::services(gpu));
    write(&directory.join(format!("table-{}.md", gpu.name)), &text)?;
    let all: Vec<&Summary> = comparisons.iter().flat_map(Comparison::all).collect();
    write(
        &directory.join(format!("table-{}.json", gpu.name)),
        &serde_json::to_string(&all)?,
    )
}

/// The sweeps of GPreempt's micro-benchmarks: preparation time and rate.
fn micro(directory: &Path, effort: Effort) -> Result<()> {
    let gpu = Gpu::mi300x_spx();
    let policies = policies(&MICRO_POLICIES)?;
    let preparation = [0, 25, 50, 100, 150, 200].map(|us| {
        (
            f64::from(us),
            Workload::preparation(u64::from(us as u32) * 1_000),
        )
    });
    let rate = [100, 150, 200, 250].map(|hertz| {
        let hertz = f64::from(hertz);
        (hertz, Workload::rate(hertz))
    });
    for (name, x, workloads) in [
        ("preparation", "preparation us", preparation.to_vec()),
        ("rate", "urgent requests a second", rate.to_vec()),
    ] {
        let mut text = format!("# A by {x}, on {}\n", gpu.name);
        let mut points = Vec::new();
        for (value, workload) in workloads {
            progress(&workload.name);
            let comparison = compare(&gpu, &workload, &policies, effort);
            let _ = write!(
                text,
                "\n## {}\n\n{}",
                workload.name,
                report::comparison(&comparison)
            );
            let compared = MICRO_POLICIES.iter().filter_map(|name| comparison.of(name));
            points.extend(compared.map(|summary| MicroPoint {
                policy: summary.policy.clone(),
                value,
                p99_over_alone: summary.p99_over(&comparison.alone).0,
                throughput: comparison.throughput(summary),
            }));
        }
        write(&directory.join(format!("{name}.md")), &text)?;
        write(
            &directory.join(format!("{name}.json")),
            &serde_json::to_string(&points)?,
        )?;
    }
    Ok(())
}

/// What the result owes to facts that nobody has published.
fn sensitivity(directory: &Path, effort: Effort) -> Result<()> {
    let base = Gpu::mi300x_spx();
    let with = |name: &str, change: fn(&mut Gpu)| {
        let mut gpu = base.clone();
        change(&mut gpu);
        (name.to_string(), gpu)
    };
    let variants = [
        with("as documented", |_| {}),
        with("firmware packet 0 us", |g| g.firmware_packet = 0),
        with("firmware packet 20 us", |g| g.firmware_packet = 20_000),
        with("firmware packet 100 us", |g| g.firmware_packet = 100_000),
        with("no register reads in an unmap", |g| g.sdma_engines = 0),
        with("register read 0.5 us", |g| g.register_read = 500),
        with("register read 2 us", |g| g.register_read = 2_000),
        with("waves drain for 30 us", |g| g.drain = 30_000),
        with("80 % of the bandwidth", |g| g.bytes_per_us = 4_240_000),
        with("packet processing 0 us", |g| g.packet_processing = 0),
        with("packet processing 10 us", |g| g.packet_processing = 10_000),
        with("read pointer at completion", |g| {
            g.read_pointer = ReadPointer::Completion;
        }),
    ];
    let strict = [Policy::by_name("strict", &[])?];
    let workloads = ["A", "B", "D", "L"];
    let mut rows = Vec::new();
    for (name, gpu) in variants {
        progress(&format!("sensitivity: {name}"));
        let mut row = vec![name];
        for workload in workloads {
            let workload = Workload::by_name(workload).context("a known workload")?;
            let comparison = compare(&gpu, &workload, &strict, effort);
            let summary = &comparison.others[0];
            row.push(format!("{:.3}", summary.p99_over(&comparison.alone).0));
            row.push(format!("{:.1}", 100.0 * comparison.throughput(summary)));
        }
        rows.push(row);
    }
    let head = [
        "change", "A p99 x", "A thr. %", "B p99 x", "B thr. %", "D p99 x", "D thr. %", "L p99 x",
        "L thr. %",
    ];
    let text = format!(
        "# What strict's result owes to each assumption, on {}\n\n{}",
        base.name,
        table(&head, &rows)
    );
    write(&directory.join("sensitivity.md"), &text)
}

/// Strict against the goal on every way to divide a GPU, and on a whole one without
/// the driver's register reads.
fn goal(directory: &Path, effort: Effort) -> Result<()> {
    let nodes = [
        Gpu::mi300x_cpx(),
        Gpu::mi300x_qpx(),
        Gpu::mi300x_spx(),
        Gpu::mi300x_spx_before_6_16(),
    ];
    let policies = policies(&["strict", "reactive"])?;
    let mut rows = Vec::new();
    for gpu in nodes {
        progress(&format!("goal: {}", gpu.name));
        let mut row = vec![gpu.name.clone()];
        for workload in ["A", "B", "D"] {
            let workload = Workload::by_name(workload).context("a known workload")?;
            let comparison = compare(&gpu, &workload, &policies, effort);
            let summary = &comparison.others[0];
            let reactive = comparison.distance(summary, Foresight::Reactive);
            row.push(format!("{:.3}", summary.p99_over(&comparison.alone).0));
            row.push(reactive.urgent_text());
            row.push(format!("{:.1}", 100.0 * comparison.throughput(summary)));
            row.push(reactive.best_effort_text());
        }
        rows.push(row);
    }
    let head = [
        "node",
        "A p99 x",
        "x reactive",
        "A thr. %",
        "b.e. % of reactive",
        "B p99 x",
        "x reactive",
        "B thr. %",
        "b.e. % of reactive",
        "D p99 x",
        "x reactive",
        "D thr. %",
        "b.e. % of reactive",
    ];
    let text = format!(
        "# Strict and the goal of 1.05 times alone\n\n{}",
        table(&head, &rows)
    );
    write(&directory.join("goal.md"), &text)
}

/// Up to 1,000 queues on a node with 24 hardware queue slots.
fn queues(directory: &Path, effort: Effort) -> Result<()> {
    let gpu = Gpu::mi300x_spx();
    let policies = policies(&[
        "none",
        "classes",
        "user-1ms",
        "strict",
        "reactive",
        "clairvoyant",
    ])?;
    let effort = Effort {
        seeds: effort.seeds.min(2),
        duration: effort.duration.min(1_000_000_000),
        ..effort
    };
    let mut text = format!("# Many queues with small requests on {}\n", gpu.name);
    for count in [10, 24, 100, 1_000] {
        progress(&format!("{count} queues"));
        let workload = Workload::many(count);
        let comparison = compare(&gpu, &workload, &policies, effort);
        let _ = write!(
            text,
            "\n## {count} queues\n\n{}",
            report::comparison(&comparison)
        );
    }
    write(&directory.join("queues.md"), &text)
}
