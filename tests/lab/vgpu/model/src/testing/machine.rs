// SPDX-License-Identifier: GPL-2.0-only
//! Machine code for tests of the whole model: kernels from the root's compiler, the
//! driver's own trap handler, and dispatches of both.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use super::driver::{halves, Driver, TestProcess, TestQueue, USER};
use crate::layout::descriptor as mqd;
use crate::terms::{Bus, Config, Timing};

#[allow(dead_code)] // Waves without a device need more of it.
#[path = "../../../../gfx942/tests/common/object.rs"]
mod object;

pub use object::Object;

/// The names of the handlers' code for GFX 9.4.3 and 9.5.0 in the driver's source.
const HANDLER: &str = "cwsr_trap_gfx9_4_3_hex[]";
const NEWER_HANDLER: &str = "cwsr_trap_gfx9_5_0_hex[]";

/// What the tests want of the project's root, and how it is got.
const WANTED: &str = "the tests of machine code need clang-19 and the driver's source, which the \
    project's root and cache have: run them by scripts/setup/in-root";

/// The project's root, in which the tests must run.
fn root() -> PathBuf {
    let root = std::env::var_os("GP_INSIDE_ROOT");
    PathBuf::from(root.expect(WANTED))
}

/// So slow that a queue can leave between two instructions.
pub const INSTRUCTION: u64 = 100_000;

/// A GPU on which each wave makes one such instruction after the other.
pub fn slow() -> Config {
    Config {
        wave_quantum: 1,
        timing: Timing {
            instruction: INSTRUCTION,
            ..Timing::default()
        },
        ..Config::default()
    }
}

/// Kernels of the crate `gfx942`, and those that are written for these tests.
pub static COMPILED: LazyLock<Object> = LazyLock::new(|| Object::compile("-O2"));
pub static UNOPTIMIZED: LazyLock<Object> = LazyLock::new(|| Object::compile("-O0"));
pub static WRITTEN: LazyLock<Object> = LazyLock::new(|| {
    let text = include_str!("../tests/kernels.s");
    Object::translate(&["-x", "assembler"], text)
});

/// The trap handlers that the drivers of all kernels in the cache install.
pub static HANDLERS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| handlers(HANDLER));

/// Those that they install on GFX 9.5.0, which not all of them know.
pub static NEWER_HANDLERS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| handlers(NEWER_HANDLER));

fn handlers(name: &str) -> Vec<Vec<u8>> {
    let kernels = root().parent().unwrap().join("kernel");
    let mut found = Vec::new();
    let entries = std::fs::read_dir(&kernels);
    let entries =
        entries.unwrap_or_else(|error| panic!("{}: {error}: {WANTED}", kernels.display()));
    for kernel in entries {
        let source = kernel.unwrap().path().join("source.tar.xz");
        if source.exists() {
            let handler = array(&header(&source), name);
            if let Some(handler) = handler.filter(|handler| !found.contains(handler)) {
                found.push(handler);
            }
        }
    }
    assert!(
        !found.is_empty(),
        "no kernel in {} has its source and {name} in it: {WANTED}",
        kernels.display()
    );
    found
}

/// The driver's header with trap handlers. It takes seconds to find, so it is kept
/// beside the tests' program.
fn header(source: &Path) -> String {
    let release = source.parent().unwrap().file_name().unwrap();
    let program = std::env::current_exe().unwrap();
    let mut name = std::ffi::OsString::from("trap-handlers-");
    name.push(release);
    let kept = program.with_file_name(name);
    if let Ok(text) = std::fs::read_to_string(&kept) {
        return text;
    }
    let run = Command::new("tar")
        .arg("xOf")
        .arg(source)
        .args([
            "--wildcards",
            "--occurrence=1",
            "*/amdkfd/cwsr_trap_handler.h",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains(HANDLER), "{}", source.display());
    let partial = kept.with_extension(std::process::id().to_string());
    std::fs::write(&partial, &text).unwrap();
    std::fs::rename(&partial, &kept).unwrap();
    text
}

/// The code of that name, if the driver has it.
fn array(header: &str, name: &str) -> Option<Vec<u8>> {
    let from = header.find(name)?;
    let rest = &header[from..];
    let (open, close) = (rest.find('{').unwrap(), rest.find('}').unwrap());
    let words = rest[open + 1..close].split(',').map(str::trim);
    let word = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let words = words.filter(|text| !text.is_empty()).map(word);
    Some(words.flat_map(u32::to_le_bytes).collect())
}

/// What a test dispatches.
pub struct Launch<'a> {
    pub object: &'a Object,
    pub kernel: &'a str,
    /// Items and workgroups along the first axis.
    pub items: u16,
    pub groups: u32,
    pub arguments: Vec<u8>,
}

impl Launch<'static> {
    /// A wave that never ends.
    pub fn forever() -> Launch<'static> {
        Launch {
            object: &WRITTEN,
            kernel: "forever",
            items: 64,
            groups: 1,
            arguments: vec![0; 8],
        }
    }
}

impl Driver {
    /// A process with a trap handler.
    pub fn process_with_handler(&mut self, pasid: u32, handler: &[u8]) -> TestProcess {
        let code = self.guest(handler.len() as u64);
        let memory = self.guest(4096);
        self.bus.write(code, handler).unwrap();
        TestProcess {
            handler: USER + code,
            handler_memory: USER + memory,
            ..self.process(pasid)
        }
    }

    /// Puts a kernel, its descriptor and its arguments into memory and dispatches it.
    /// Returns its completion signal.
    pub fn launch(&mut self, queue: &TestQueue, launch: &Launch<'_>) -> u64 {
        let text = &launch.object.text;
        let code = self.guest(text.len() as u64);
        self.bus.write(code, text).unwrap();
        let object = self.guest(4096);
        let (mut descriptor, entry) = launch.object.descriptor(launch.kernel);
        let distance = (code + entry).wrapping_sub(object);
        descriptor[16..24].copy_from_slice(&distance.to_le_bytes());
        self.bus.write(object, &descriptor).unwrap();
        self.bus.write(object + 256, &launch.arguments).unwrap();
        let signal = self.signal();
        let mut words = [0; 16];
        words[0] = 2 | (1 << 8) | (1 << 16);
        words[1] = u32::from(launch.items) | (1 << 16);
        words[2] = 1;
        words[3] = u32::from(launch.items) * launch.groups;
        words[4] = 1;
        words[5] = 1;
        [words[8], words[9]] = halves(USER + object);
        [words[10], words[11]] = halves(USER + object + 256);
        [words[14], words[15]] = halves(USER + signal);
        self.put_packet(queue, &words);
        self.ring(queue);
        signal
    }

    pub fn is_signalled(&self, signal: u64) -> bool {
        self.get64(signal + 8) == 0
    }

    #[track_caller]
    pub fn await_signal(&mut self, signal: u64) {
        self.run_until(60_000_000_000, |driver| driver.is_signalled(signal));
    }

    /// Where the code of the next launch will be.
    pub fn next_code(&mut self) -> u64 {
        let page = self.guest(4096);
        page + 4096
    }

    /// A word of a queue's control stack on the first die.
    pub fn get_stack(&self, queue: &TestQueue, offset: u32) -> u32 {
        let dword = mqd::CONTROL_STACK / 4 + u64::from(offset) / 4;
        self.mqd(queue, 0, dword)
    }

    /// Memory with these words, as the process sees it and as the driver does.
    pub fn buffer(&mut self, words: &[u32]) -> u64 {
        let at = self.guest(words.len() as u64 * 4);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.bus.write(at, &bytes).unwrap();
        at
    }

    pub fn words(&self, at: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; count * 4];
        self.bus.read(at, &mut bytes).unwrap();
        let words = bytes.chunks_exact(4);
        words
            .map(|four| u32::from_le_bytes(four.try_into().unwrap()))
            .collect()
    }
}

/// The arguments of kernels that have three buffers and a number.
pub fn arguments(buffers: [u64; 3], number: u32) -> Vec<u8> {
    let places = buffers.iter().flat_map(|at| (USER + at).to_le_bytes());
    places.chain(number.to_le_bytes()).collect()
}
