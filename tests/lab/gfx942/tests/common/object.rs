// SPDX-License-Identifier: GPL-2.0-only
//! What a compiler leaves of kernels: their code, and how their waves begin.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

#[allow(dead_code)] // Random programs are not among them.
const SOURCE: &str = include_str!("../kernels/kernels.cl");
/// Types of sections, and of what is put into code when it has a place.
const SYMBOLS: u32 = 2;
const RELOCATIONS: u32 = 4;
const RELATIVE_LOWER: u32 = 10;
const RELATIVE_UPPER: u32 = 11;

/// An object file's sections with code, and where in them its symbols are.
pub struct Object {
    pub text: Vec<u8>,
    rodata: Vec<u8>,
    symbols: BTreeMap<String, u64>,
}

/// How a kernel's waves begin, as its descriptor says it.
pub struct Kernel {
    /// Where its code begins in the text.
    pub entry: u64,
    pub share: usize,
    pub scratch: usize,
    pub mode: u32,
    pub properties: u32,
    /// Which numbers of the workgroup stand in scalar registers.
    pub groups: [bool; 3],
}

fn number(bytes: &[u8], at: usize, count: usize) -> u64 {
    let bytes = &bytes[at..at + count];
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| (value << 8) | u64::from(*byte))
}

fn text_at(bytes: &[u8], at: usize) -> String {
    let rest = &bytes[at..];
    let end = rest.iter().position(|byte| *byte == 0).unwrap();
    String::from_utf8_lossy(&rest[..end]).into_owned()
}

/// Constants stand behind the code where an address of that alignment is.
const CONSTANTS_ALIGNED: usize = 256;

struct Section {
    name: String,
    kind: u32,
    offset: usize,
    size: usize,
}

fn sections(file: &[u8]) -> Vec<Section> {
    let (table, count) = (number(file, 40, 8) as usize, number(file, 60, 2) as usize);
    let field = |section: usize, at: usize, size| number(file, table + section * 64 + at, size);
    let names = field(number(file, 62, 2) as usize, 24, 8) as usize;
    (0..count)
        .map(|section| Section {
            name: text_at(file, names + field(section, 0, 4) as usize),
            kind: field(section, 4, 4) as u32,
            offset: field(section, 24, 8) as usize,
            size: field(section, 32, 8) as usize,
        })
        .collect()
}

impl Object {
    /// Compiles the kernels; in the project's root the compiler is there.
    #[allow(dead_code)] // As its source.
    pub fn compile(optimization: &str) -> Self {
        let language = ["-x", "cl", "-cl-std=CL2.0", "-nogpulib", optimization];
        let exact = ["-cl-fp32-correctly-rounded-divide-sqrt"];
        Self::translate(&[&language[..], &exact[..]].concat(), SOURCE)
    }

    /// Has the compiler translate a text.
    #[allow(dead_code)] // Random programs can make it die.
    pub fn translate(options: &[&str], text: &str) -> Self {
        Self::try_translate(options, text).expect("clang-19 translates the text")
    }

    /// The same of a text of which the compiler may die.
    pub fn try_translate(options: &[&str], text: &str) -> Option<Self> {
        let mut compiler = Command::new("clang-19")
            .args(["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942"])
            .args(options)
            .args(["-c", "-", "-o", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("clang-19: {error}: the project's root has it, see scripts/setup/in-root")
            });
        let mut input = compiler.stdin.take().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        drop(input);
        let run = compiler.wait_with_output().unwrap();
        run.status.success().then(|| Self::parse(&run.stdout))
    }

    /// Where in its section something begins.
    #[allow(dead_code)] // As the next.
    pub fn symbol(&self, name: &str) -> u64 {
        self.symbols[name]
    }

    /// A kernel's descriptor, and where in the text its code begins.
    #[allow(dead_code)] // Who runs waves without a device has no use for it.
    pub fn descriptor(&self, name: &str) -> ([u8; 64], u64) {
        let at = self.symbols[&format!("{name}.kd")] as usize;
        let bytes = self.rodata[at..at + 64].try_into().unwrap();
        (bytes, self.symbols[name])
    }

    fn parse(file: &[u8]) -> Self {
        let sections = sections(file);
        let named = |name: &str| sections.iter().position(|section| section.name == name);
        let bytes = |at: usize| {
            let section = &sections[at];
            file[section.offset..section.offset + section.size].to_vec()
        };
        let table = sections
            .iter()
            .find(|section| section.kind == SYMBOLS)
            .unwrap();
        let names = sections[named(".strtab").unwrap()].offset;
        let symbol = |at: usize| {
            let from = table.offset + at * 24;
            let name = text_at(file, names + number(file, from, 4) as usize);
            (name, number(file, from + 8, 8))
        };
        let section_of = |at: usize| number(file, table.offset + at * 24 + 6, 2) as usize;
        let mut object = Self {
            text: bytes(named(".text").unwrap()),
            rodata: bytes(named(".rodata").unwrap()),
            symbols: (0..table.size / 24).map(symbol).collect(),
        };
        if let Some(at) = named(".rela.text") {
            assert_eq!(sections[at].kind, RELOCATIONS);
            let mut places = BTreeMap::from([(named(".text").unwrap(), 0)]);
            for entry in bytes(at).chunks(24) {
                let (place, what) = (number(entry, 0, 8), number(entry, 8, 8));
                let to = (what >> 32) as usize;
                // What the code refers to stands behind it.
                let base = *places.entry(section_of(to)).or_insert_with(|| {
                    let end = object.text.len().next_multiple_of(CONSTANTS_ALIGNED);
                    object.text.resize(end, 0);
                    object.text.extend(bytes(section_of(to)));
                    end as u64
                });
                let to = base + symbol(to).1;
                object.relocate(place, what as u32, to.wrapping_add(number(entry, 16, 8)));
            }
        }
        object
    }

    /// Puts what a distance within the text is into the code.
    fn relocate(&mut self, place: u64, kind: u32, to: u64) {
        let distance = to.wrapping_sub(place);
        let value = match kind {
            RELATIVE_LOWER => distance as u32,
            RELATIVE_UPPER => (distance >> 32) as u32,
            kind => panic!("relocation {kind}"),
        };
        let place = place as usize;
        self.text[place..place + 4].copy_from_slice(&value.to_le_bytes());
    }

    pub fn kernel(&self, name: &str) -> Kernel {
        let descriptor = self.symbols[&format!("{name}.kd")] as usize;
        let field = |at, size| number(&self.rodata, descriptor + at, size) as u32;
        let (first, second) = (field(48, 4), field(52, 4));
        Kernel {
            entry: self.symbols[name],
            share: field(0, 4) as usize,
            scratch: field(4, 4) as usize,
            // Rounding and subnormal numbers, then the limits of what is no number, IEEE.
            mode: (first >> 12) & 0xff | (((first >> 21) & 1) << 8) | (((first >> 23) & 1) << 9),
            properties: field(56, 2),
            groups: [7, 8, 9].map(|bit| (second >> bit) & 1 != 0),
        }
    }
}
