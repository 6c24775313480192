// SPDX-License-Identifier: GPL-2.0-only
//! The inputs that are kept for a target: a file of lines, each an input in
//! hexadecimal digits. What follows a `#` says why an input is there.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};

/// Where the files are.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/fuzz")
}

/// The inputs of a file's text.
pub fn parse(text: &str) -> Result<Vec<Vec<u8>>> {
    let mut inputs = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            let input = bytes(line).with_context(|| {
                format!("line {number} is not made of pairs of hexadecimal digits")
            })?;
            inputs.push(input);
        }
    }
    Ok(inputs)
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    if digits.len() % 2 != 0 || !digits.is_ascii() {
        return None;
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok())
        .collect()
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The inputs that are kept for a target.
pub fn inputs_of(target: &str) -> Result<Vec<Vec<u8>>> {
    inputs_in(&directory().join(target).with_extension("corpus"))
}

fn inputs_in(file: &Path) -> Result<Vec<Vec<u8>>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    parse(&text).with_context(|| file.display().to_string())
}

/// Writes the inputs of a file into a folder, one file each.
pub fn unpack(file: &Path, folder: &Path) -> Result<usize> {
    let inputs = inputs_in(file)?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (number, input) in inputs.iter().enumerate() {
        fs::write(folder.join(format!("{number:06}")), input)
            .with_context(|| format!("cannot write to {}", folder.display()))?;
    }
    Ok(inputs.len())
}

/// Writes the inputs of a folder into a file, the short ones first, behind the lines
/// of the file that say why they are there.
pub fn pack(folder: &Path, file: &Path) -> Result<usize> {
    let old = fs::read_to_string(file).unwrap_or_default();
    let kept: Vec<&str> = old.lines().filter(|line| line.contains('#')).collect();
    let known: BTreeSet<Vec<u8>> = parse(&kept.join("\n"))?.into_iter().collect();
    let mut inputs = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        inputs.push(fs::read(entry?.path())?);
    }
    inputs.retain(|input| !input.is_empty() && !known.contains(input));
    inputs.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    inputs.dedup();
    if inputs.is_empty() && kept.is_empty() {
        bail!("{} has no inputs", folder.display());
    }
    let mut text: String = kept.iter().flat_map(|line| [*line, "\n"]).collect();
    for input in &inputs {
        text.push_str(&digits(input));
        text.push('\n');
    }
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(inputs.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_lines_of_digits_with_remarks() {
        let inputs = parse("# why\n00ff # a remark\n\n7f\n").unwrap();
        assert_eq!(inputs, [vec![0, 0xff], vec![0x7f]]);
    }

    #[test]
    fn a_line_that_is_no_input_is_named() {
        for text in ["00\n0", "00\nxy", "00\n\u{661}\u{661}"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with("line 2 "), "{error}");
        }
    }

    #[test]
    fn packing_keeps_remarks_and_drops_doubles() {
        let folder = std::env::temp_dir().join(format!("gpreempt-corpus-{}", std::process::id()));
        let file = folder.with_extension("corpus");
        fs::create_dir_all(&folder).unwrap();
        for (name, input) in [
            ("a", &[1u8, 2][..]),
            ("b", &[9]),
            ("c", &[1, 2]),
            ("d", &[7]),
        ] {
            fs::write(folder.join(name), input).unwrap();
        }
        fs::write(&file, "07 # it crashed\n55\n").unwrap();
        assert_eq!(pack(&folder, &file).unwrap(), 2);
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            "07 # it crashed\n09\n0102\n"
        );
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(unpack(&file, &folder).unwrap(), 3);
        assert_eq!(fs::read(folder.join("000002")).unwrap(), [1, 2]);
        fs::remove_dir_all(&folder).unwrap();
        fs::remove_file(&file).unwrap();
    }
}
