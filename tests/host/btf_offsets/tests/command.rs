// SPDX-License-Identifier: GPL-2.0-only

//! The program as the build calls it: arguments, packed files, output files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory that goes with its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("btf-offsets-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .join(path)
}

fn data(name: &str) -> PathBuf {
    project("tests/data/btf").join(name)
}

fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_btf-offsets"))
}

/// The command for the real driver of 7.3.4.
fn real() -> Command {
    let mut command = command();
    command.arg("--module").arg(data("amdgpu-7.3.4.btf.xz"));
    command.arg("--base").arg(data("vmlinux-7.3.4.btf.xz"));
    command
        .arg("--fields")
        .arg(project("bindings/kfd-fields.txt"));
    command
}

fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

fn error(command: &mut Command) -> String {
    let output = output(command);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn writes_rust_and_c_that_compile() {
    let scratch = Scratch::new("writes");
    let (rust, c) = (scratch.path("layout.rs"), scratch.path("layout.h"));
    let done = output(real().arg("--rust").arg(&rust).arg("--c").arg(&c));
    assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
    assert_eq!(
        scratch.names(),
        ["layout.h", "layout.rs"],
        "nothing else is left"
    );

    let program = scratch.path("use.rs");
    fs::write(
        &program,
        "#![deny(warnings, missing_docs)]\n//! Uses the layout.\ninclude!(\"layout.rs\");\n\
         const _: () = assert!(QUEUE_PROPERTIES_IS_ACTIVE == 0x50 && MAX_HWIP == 38);\n\
         const _: () = assert!(HAVE_QUEUE_NEEDS_MQD_REPIN);\n",
    )
    .unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let mut compiler = Command::new(rustc);
    compiler.args([
        "--edition=2021",
        "--crate-type=lib",
        "--emit=metadata",
        "--out-dir",
    ]);
    let compiled = output(compiler.arg(&scratch.0).arg(&program));
    assert!(compiled.status.success(), "{compiled:?}");

    let program = scratch.path("use.c");
    fs::write(
        &program,
        "#include \"layout.h\"\n#include \"layout.h\"\n\
         _Static_assert(GP_QUEUE_PROPERTIES_IS_ACTIVE == 0x50, \"\");\n\
         _Static_assert(GP_HAVE_QUEUE_PROPERTIES_IS_RESET, \"\");\n",
    )
    .unwrap();
    let compiled = output(
        Command::new("cc")
            .args(["-Wall", "-Werror", "-fsyntax-only"])
            .arg(&program),
    );
    assert!(compiled.status.success(), "{compiled:?}");
}

#[test]
fn prints_a_table_when_no_file_is_asked_for() {
    let text = String::from_utf8(output(&mut real()).stdout).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("QUEUE_PROPERTIES_IS_ACTIVE "));
    assert!(line.is_some_and(|line| line.ends_with(" 0x50")), "{text}");
}

#[test]
fn reads_plain_and_zstd_as_well() {
    let scratch = Scratch::new("packed");
    let plain = scratch.path("vmlinux.btf");
    let unpacked = output(
        Command::new("xz")
            .arg("-dc")
            .arg(data("vmlinux-7.3.4.btf.xz")),
    );
    fs::write(&plain, unpacked.stdout).unwrap();
    let packed = output(Command::new("zstd").arg("-q1").arg(&plain));
    assert!(packed.status.success(), "{packed:?}");
    let expected = output(&mut real()).stdout;
    for base in [plain, scratch.path("vmlinux.btf.zst")] {
        let mut command = command();
        command
            .arg("--module")
            .arg(data("amdgpu-7.3.4.btf.xz"))
            .arg("--base")
            .arg(base);
        command
            .arg("--fields")
            .arg(project("bindings/kfd-fields.txt"));
        assert_eq!(output(&mut command).stdout, expected);
    }
}

#[test]
fn a_failure_leaves_the_old_file_as_it_was() {
    let scratch = Scratch::new("failure");
    let (list, rust) = (scratch.path("list"), scratch.path("layout.rs"));
    fs::write(&list, "field queue_properties.not_there 4\n").unwrap();
    fs::write(&rust, "old").unwrap();
    let mut failing = command();
    failing.arg("--module").arg(data("amdgpu-7.3.4.btf.xz"));
    failing.arg("--base").arg(data("vmlinux-7.3.4.btf.xz"));
    let message = error(failing.arg("--fields").arg(&list).arg("--rust").arg(&rust));
    assert!(
        message.contains("queue_properties.not_there is missing"),
        "{message}"
    );
    assert_eq!(fs::read_to_string(&rust).unwrap(), "old");

    let message = error(
        real()
            .arg("--rust")
            .arg(scratch.path("no-directory/layout.rs")),
    );
    assert!(message.contains("cannot write"), "{message}");
    assert_eq!(
        scratch.names(),
        ["layout.rs", "list"],
        "nothing else is left"
    );
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let message = error(&mut command());
    assert!(
        message.contains("--module is missing") && message.contains("usage:"),
        "{message}"
    );
    assert!(error(command().arg("--what")).contains("unknown argument --what"));
    assert!(error(command().arg("--base")).contains("--base needs a file name"));
    assert!(error(command().args(["--c", "a", "--c", "b"])).contains("--c is given twice"));
    assert!(output(command().arg("--help")).status.success());

    let mut command = command();
    command.arg("--module").arg(data("amdgpu-7.3.4.btf.xz"));
    let message = error(
        command
            .arg("--fields")
            .arg(project("bindings/kfd-fields.txt")),
    );
    assert!(message.contains("name it with --base"), "{message}");
}

#[test]
fn files_that_cannot_be_used_are_named_with_the_remedy() {
    let scratch = Scratch::new("unusable");
    let with_module = |module: &Path| {
        let mut command = command();
        command
            .arg("--module")
            .arg(module)
            .arg("--base")
            .arg(data("vmlinux-7.3.4.btf.xz"));
        error(
            command
                .arg("--fields")
                .arg(project("bindings/kfd-fields.txt")),
        )
    };
    let missing = scratch.path("missing.ko");
    let message = with_module(&missing);
    assert!(
        message.contains("cannot read") && message.contains("missing.ko"),
        "{message}"
    );

    let broken = scratch.path("broken.ko.xz");
    let whole = fs::read(data("amdgpu-7.3.4.btf.xz")).unwrap();
    fs::write(&broken, &whole[..whole.len() / 2]).unwrap();
    let message = with_module(&broken);
    assert!(
        message.contains("xz cannot unpack") && message.contains("broken.ko.xz"),
        "{message}"
    );

    // The program itself is an ELF file without type information.
    let message = with_module(Path::new(env!("CARGO_BIN_EXE_btf-offsets")));
    assert!(message.contains("carries no BTF"), "{message}");

    let other_kernel = data("amdgpu-7.2.12.btf.xz");
    let message = with_module(&other_kernel);
    assert!(message.contains("amdgpu-7.2.12.btf.xz"), "{message}");
}

#[test]
fn a_missing_unpacker_is_named_with_its_package() {
    let message = error(real().env("PATH", "/nonexistent"));
    assert!(
        message.contains("xz that unpacks it is missing: install the package xz-utils"),
        "{message}"
    );
}
