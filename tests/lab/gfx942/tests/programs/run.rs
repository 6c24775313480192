// SPDX-License-Identifier: GPL-2.0-only
//! Programs translated and run, by the host and by waves.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::device::try_launch;
use super::object::Object;
use super::operations::OPERATIONS;
use super::write::{program, Program, RECORD, SLOT, SLOTS};

const PRELUDE: &str = include_str!("prelude.c");
const CROSS: &str = include_str!("cross.c");
const HOST: &str = include_str!("host.c");
pub const LANES: usize = 256;
pub const LEVELS: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];
/// What both compilers are told: no sums of products but those that a program asks for,
/// and integers that wrap.
const OPTIONS: [&str; 9] = [
    "-x",
    "c",
    "-std=gnu17",
    "-w",
    "-fms-extensions",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fno-math-errno",
];

/// Programs in one text, by their choices.
pub struct Batch {
    choices: Vec<Vec<u32>>,
    names: Vec<String>,
    pub text: String,
}

impl Batch {
    pub fn of(all_choices: &[Vec<u32>]) -> Self {
        let names: Vec<String> = (0..all_choices.len()).map(|at| format!("p{at}")).collect();
        let programs: Vec<Program> = all_choices
            .iter()
            .zip(&names)
            .map(|(choices, name)| program(choices, name))
            .collect();
        let mut functions = BTreeMap::new();
        let mut texts = String::new();
        for program in programs {
            functions.extend(program.functions);
            texts += &program.text;
        }
        let functions: String = functions.into_values().collect();
        let sizes = format!("#define SLOT {SLOT}\n#define SLOTS {SLOTS}\n");
        Self {
            choices: all_choices.to_vec(),
            names,
            text: format!("{sizes}{PRELUDE}{CROSS}{functions}{texts}"),
        }
    }

    /// Each of the programs alone.
    pub fn each(&self) -> Vec<Self> {
        self.choices.chunks(1).map(Self::of).collect()
    }

    /// No program, but all operations, of which none may be left out.
    pub fn of_operations() -> Self {
        let mut batch = Self::of(&[]);
        for operation in OPERATIONS.values().flatten() {
            let used = "static __attribute__((used))";
            batch.text += &operation.text.replacen("ALWAYS", used, 1);
        }
        batch
    }

    /// What the host's programs leave.
    pub fn host(&self, input: &[u8]) -> Vec<Vec<u8>> {
        let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let path = place.join(format!("programs-{}", std::process::id()));
        let mut text = self.text.clone();
        let all = self.names.join(", ");
        write!(
            text,
            "static void (*const programs[])(const u8 *, u8 *) = {{{all}}};\n{HOST}"
        )
        .unwrap();
        // The host has halves as numbers to keep, not to calculate with.
        let options = [
            "-O1",
            "-Xclang",
            "-ffloat16-excess-precision=none",
            "-",
            "-lm",
            "-o",
        ];
        let mut compiler = Command::new("clang-19")
            .args(OPTIONS)
            .args(options)
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .expect("the project's root has clang-19");
        compiler
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        assert!(
            compiler.wait().unwrap().success(),
            "the host's compiler refuses a program"
        );
        let mut run = Command::new(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        run.stdin.take().unwrap().write_all(input).unwrap();
        let output = run.wait_with_output().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(
            output.status.success(),
            "the host's programs end with {}",
            output.status
        );
        output
            .stdout
            .chunks(LANES * RECORD)
            .map(<[u8]>::to_vec)
            .collect()
    }

    /// The programs as the compiler makes machine code of them at a level; none if it
    /// dies of one.
    pub fn compile(&self, level: &str) -> Option<Object> {
        let options = [&OPTIONS[..], &["-nogpulib", level]].concat();
        Object::try_translate(&options, &self.text)
    }

    /// What waves leave that execute a program, or why they do not come to its end.
    pub fn waves(&self, object: &Object, at: usize, input: &[u8]) -> Result<Vec<u8>, String> {
        let buffers = [
            input.to_vec(),
            vec![0; LANES * RECORD],
            vec![0; LANES * 64 + 1024],
        ];
        let [_, output, _] = try_launch(object, &self.names[at], 1, buffers, 0)?;
        Ok(output)
    }
}
