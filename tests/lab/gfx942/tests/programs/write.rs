// SPDX-License-Identifier: GPL-2.0-only
//! A program's text from a sequence of numbers, each of which is one choice. Any
//! sequence gives a program; where numbers end, zero is chosen, the simplest.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::operations::{OPERATIONS, TYPES};

/// How deep expressions and statements are nested at most.
const DEEPEST: usize = 3;
/// Variables of each type.
const EACH: u32 = 2;
/// What a variable takes of a lane's input and output, in bytes.
pub const SLOT: usize = 16;
pub const SLOTS: usize = TYPES.len() * EACH as usize;
/// What a lane leaves: variables, words, three areas of memory, and fields.
pub const RECORD: usize = SLOTS * SLOT + 5 * 64;

const FIELDS: [(&str, &str); 6] = [
    ("u32", "a"),
    ("i32", "b"),
    ("u64", "c"),
    ("i64", "d"),
    ("u16", "e"),
    ("i8", "f"),
];

const ATOMICS: [&str; 16] = [
    "fetch_add",
    "fetch_sub",
    "fetch_and",
    "fetch_or",
    "fetch_xor",
    "fetch_min",
    "fetch_max",
    "fetch_exchange",
    "fetch_swap",
    "only_add",
    "only_sub",
    "only_and",
    "only_or",
    "only_xor",
    "only_min",
    "only_max",
];
const FLOAT_GLOBAL: [(&str, &str); 5] = [
    ("fetch_add", "f32"),
    ("fetch_add", "f64"),
    ("fetch_flat", "f64"),
    ("fetch_min", "f64"),
    ("fetch_max", "f64"),
];
const FLOAT_SHARE: [(&str, &str); 4] = [
    ("fetch_add", "f32"),
    ("fetch_min", "f32"),
    ("fetch_max", "f32"),
    ("fetch_add", "f64"),
];
/// DPP between rows, and those that have no number of lanes.
const DPP: [usize; 8] = [0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143];

pub struct Program {
    /// Functions that it needs of the table, by name.
    pub functions: BTreeMap<String, String>,
    pub text: String,
}

struct Writer<'a> {
    choices: &'a [u32],
    name: &'a str,
    variables: BTreeSet<usize>,
    functions: BTreeMap<String, String>,
    /// Counters of the loops around.
    counters: usize,
    text: String,
}

impl Writer<'_> {
    fn next(&mut self) -> u32 {
        let (first, rest) = self.choices.split_first().unwrap_or((&0, &[]));
        self.choices = rest;
        *first
    }

    fn below(&mut self, count: usize) -> usize {
        self.next() as usize % count
    }

    fn any_type(&mut self) -> &'static str {
        // Integers, then floating point, then several together.
        let (from, count) = [(0, 8), (0, 11), (8, 3), (11, TYPES.len() - 11)][self.below(4)];
        TYPES[from + self.below(count)]
    }

    fn variable(&mut self, of: &str) -> String {
        let number = self.below(EACH as usize);
        let at = TYPES.iter().position(|kind| *kind == of).unwrap();
        self.variables.insert(at * EACH as usize + number);
        format!("s->{of}_{number}")
    }

    fn constant(&mut self, of: &str) -> String {
        let (kind, value) = (self.below(4), self.next());
        if of.starts_with('f') && !of.contains('x') {
            let few = [
                "0.0",
                "1.0",
                "-0.5",
                "2.0",
                "-4.0",
                "0.15915494309189532",
                "65504.0",
                "3.0",
            ];
            return match kind {
                0 | 1 => format!("({of}){}", few[value as usize % few.len()]),
                2 => format!("({of}){}", value as i32 % 2000),
                _ => format!("({of}){}p{}", format_args!("0x1.{value:x}"), value % 40),
            };
        }
        let value = match kind {
            0 => format!("{}", value % 65),
            1 => format!("-{}", value % 17),
            2 => format!("(1ull << {})", value % 64),
            _ => format!("0x{value:x}"),
        };
        format!("({of}){value}")
    }

    /// Where in one of three areas something begins.
    fn place(&mut self, depth: usize) -> (&'static str, String) {
        let area = ["own", "global", "share"][self.below(3)];
        let at = match self.below(3) {
            0 => format!("{}", self.below(33)),
            _ => format!("({} & 31)", self.expression("u32", depth)),
        };
        (area, format!("s->{area} + {at}"))
    }

    fn leaf(&mut self, of: &str, depth: usize) -> String {
        match self.below(8) {
            0..=3 => self.variable(of),
            4 | 5 if !of.contains('x') => self.constant(of),
            6 if of == "u32" => format!("s->words[{} & 15]", self.expression("u32", depth + 1)),
            6 if self.counters > 0 && !of.contains('x') => {
                format!("({of})i{}", self.below(self.counters))
            }
            7 => {
                let (area, place) = self.place(depth + 1);
                format!("load_{area}_{of}({place})")
            }
            5 => match FIELDS.iter().find(|(kind, _)| *kind == of) {
                Some((_, field)) => format!("s->fields.{field}"),
                None => self.variable(of),
            },
            _ => self.variable(of),
        }
    }

    fn expression(&mut self, of: &str, depth: usize) -> String {
        if depth >= DEEPEST || self.below(4) == 0 {
            return self.leaf(of, depth);
        }
        let operations = &OPERATIONS[of];
        let operation = &operations[self.below(operations.len())];
        let sources: Vec<String> = operation
            .sources
            .iter()
            .map(|source| self.expression(source, depth + 1))
            .collect();
        self.functions
            .insert(operation.name.clone(), operation.text.clone());
        format!("{}({})", operation.name, sources.join(", "))
    }

    fn line(&mut self, depth: usize, text: &str) {
        writeln!(self.text, "{:1$}{text}", "", 4 * (depth + 1)).unwrap();
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..1 + self.below(3) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        let most = if depth < DEEPEST { 13 } else { 10 };
        match self.below(most) {
            6 => {
                let (at, value) = (self.expression("u32", 1), self.expression("u32", 0));
                self.line(depth, &format!("s->words[{at} & 15] = {value};"));
            }
            7 => {
                let of = TYPES[self.below(TYPES.len())];
                let (area, place) = self.place(1);
                let value = self.expression(of, 0);
                self.line(depth, &format!("store_{area}_{of}({place}, {value});"));
            }
            8 => {
                let (of, field) = FIELDS[self.below(FIELDS.len())];
                let value = self.expression(of, 0);
                self.line(depth, &format!("s->fields.{field} = {value};"));
            }
            9 => {
                let text = self.atomic();
                self.line(depth, &text);
            }
            10 => {
                let condition = self.expression("u32", 1);
                self.line(depth, &format!("if ({condition} & 1) {{"));
                self.block(depth + 1);
                if self.below(2) == 1 {
                    self.line(depth, "} else {");
                    self.block(depth + 1);
                }
                self.line(depth, "}");
            }
            11 => {
                let (limit, i) = (self.expression("u8", 1), self.counters);
                self.line(
                    depth,
                    &format!("for (u32 i{i} = 0, n = {limit} & 7; i{i} < n; i{i}++) {{"),
                );
                self.counters += 1;
                self.block(depth + 1);
                if self.below(4) == 1 {
                    let condition = self.expression("u32", 1);
                    self.line(depth + 1, &format!("if ({condition} & 2) break;"));
                }
                self.counters -= 1;
                self.line(depth, "}");
            }
            12 => {
                let on = self.expression("u32", 1);
                let cases = 2 + self.below(6);
                self.line(depth, &format!("switch ({on} & 7) {{"));
                for case in 0..cases {
                    self.line(depth, &format!("case {case}:"));
                    self.statement(depth + 1);
                    if self.below(4) != 1 {
                        self.line(depth + 1, "break;");
                    }
                }
                self.line(depth, "}");
            }
            _ => {
                let of = self.any_type();
                let (to, value) = (self.variable(of), self.expression(of, 0));
                self.line(depth, &format!("{to} = {value};"));
            }
        }
    }

    /// An atomic with what is the lane's own.
    fn atomic(&mut self) -> String {
        let place = ["global", "share"][self.below(2)];
        let (name, of) = match self.below(3) {
            0 => {
                let of = ["u32", "i32", "u64", "i64"][self.below(4)];
                (ATOMICS[self.below(ATOMICS.len())], of)
            }
            1 => (["fetch_up", "fetch_down"][self.below(2)], "u32"),
            _ if place == "share" => FLOAT_SHARE[self.below(FLOAT_SHARE.len())],
            _ => FLOAT_GLOBAL[self.below(FLOAT_GLOBAL.len())],
        };
        let (to, at, value) = (self.variable(of), self.below(8), self.expression(of, 0));
        format!(
            "{to} = {name}_{place}_{of}((AT_{place} {of} *)(s->{place} + {}), {value});",
            8 * at
        )
    }

    /// What lanes give each other between two phases.
    fn exchange(&mut self) -> String {
        let kind = self.below(14);
        if kind == 0 {
            return String::new();
        }
        let [to, value, other] = [(); 3].map(|()| self.variable("u32").replace("s->", ""));
        let active = match self.below(3) {
            0 => "1".to_string(),
            1 => format!("{} & 1", self.variable("u32")),
            _ => format!("{} < 0", self.variable("i32")),
        };
        let cross = |name: &str, active: &str, rest: &str| {
            format!("    CROSS({name}, {to}, {value}, {other}, {active}{rest})\n")
        };
        match kind {
            1..=4 => {
                let control = match self.below(4) {
                    0 => self.below(0x100),
                    1 => [0x100, 0x110, 0x120][self.below(3)] + 1 + self.below(15),
                    2 => 0x150 + self.below(16),
                    _ => DPP[self.below(DPP.len())],
                };
                // Lanes that have no row before them are not described.
                let rows = match control {
                    0x142 => 0xa,
                    0x143 => 0xc,
                    _ => [0xf, self.below(16)][self.below(2)],
                };
                let banks = [0xf, self.below(16)][self.below(2)];
                let bound = self.below(2);
                cross(
                    "dpp",
                    &active,
                    &format!(", {control:#x}, {rows}, {banks}, {bound}"),
                )
            }
            5 => cross("swizzle", &active, &format!(", {:#x}", self.below(0x8000))),
            6 => cross(
                "swizzle",
                &active,
                &format!(", {:#x}", 0x8000 + self.below(0x100)),
            ),
            7 => cross("bpermute", &active, ""),
            8 => cross("permute", &active, &format!(", {}", self.below(64))),
            9 => cross("readlane", "1", &format!(", {}", self.below(64))),
            10 => cross("readfirst", &active, ""),
            11 => cross("ballot", &active, ""),
            12 => match self.below(2) {
                0 => cross("below", &active, ""),
                _ => format!("    THROUGH({to}, {value}, {other})\n"),
            },
            _ => {
                let place = ["global", "share"][self.below(2)];
                let of = ["u32", "i32", "u64", "i64"][self.below(4)];
                let operation = ["add", "sub", "and", "or", "xor", "min", "max"][self.below(7)];
                format!("    BINS({place}, {of}, {to}, {value}, __atomic_fetch_{operation}, {active})\n")
            }
        }
    }

    fn phases(&mut self) -> String {
        let mut calls = String::new();
        for phase in 0..1 + self.below(3) {
            let inlined = ["ALWAYS", "NEVER"][usize::from(self.below(5) == 1)];
            let name = self.name;
            writeln!(
                self.text,
                "{inlined} void {name}_{phase}(struct {name} *s) {{"
            )
            .unwrap();
            for _ in 0..2 + self.below(4) {
                self.statement(0);
            }
            self.text += "}\n";
            writeln!(calls, "    ALL({name}_{phase})").unwrap();
            calls += &self.exchange();
        }
        calls
    }
}

/// The program of these choices, with this name.
pub fn program(choices: &[u32], name: &str) -> Program {
    let mut writer = Writer {
        choices,
        name,
        variables: BTreeSet::new(),
        functions: BTreeMap::new(),
        counters: 0,
        text: String::new(),
    };
    // Which variables are the same in all lanes.
    let uniform = match writer.below(3) {
        0 => 0,
        1 => u32::MAX,
        _ => writer.next(),
    };
    let calls = writer.phases();
    let mut text = format!("struct {name} {{\n    struct common;\n");
    let (mut begin, mut end) = (String::new(), String::new());
    for slot in &writer.variables {
        let (of, number) = (TYPES[slot / EACH as usize], slot % EACH as usize);
        writeln!(text, "    {of} {of}_{number};").unwrap();
        let shared = (uniform >> (slot % 32)) & 1;
        writeln!(
            begin,
            "    ALL_OF(BEGIN, {of}, {of}_{number}, {slot}, {shared})"
        )
        .unwrap();
        writeln!(end, "    ALL_OF(END, {of}, {of}_{number}, {slot})").unwrap();
    }
    write!(
        text,
        "}};\n{}KERNEL({name})\n{begin}{calls}{end}FINISH\n",
        writer.text
    )
    .unwrap();
    Program {
        functions: writer.functions,
        text,
    }
}
