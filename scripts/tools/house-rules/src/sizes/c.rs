// SPDX-License-Identifier: GPL-2.0-only
//! The functions of a C file in the kernel's style: the braces of a body stand at
//! the beginning of their lines.

use super::Function;

/// Every function with a body.
pub fn functions(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let mut functions = Vec::new();
    let mut open = None;
    for (at, line) in lines.iter().enumerate() {
        if *line == "{" && at > 0 {
            open = Some(signature(&lines[..at]));
        } else if line.starts_with('}') {
            if let Some(begin) = open.take() {
                functions.push(Function {
                    name: name(&lines[begin..at]),
                    line: begin + 1,
                    lines: at + 1 - begin,
                });
            }
        }
    }
    functions
}

/// Where the signature begins that ends with the last of the lines.
fn signature(before: &[&str]) -> usize {
    let begins_after = before.iter().rposition(|line| {
        line.trim().is_empty() || line.starts_with('#') || line.ends_with([';', '}', '/'])
    });
    begins_after.map_or(0, |at| at + 1)
}

/// The last word before the first parenthesis.
fn name(lines: &[&str]) -> String {
    let text = lines.join(" ");
    let before = text.split('(').next().unwrap_or("");
    let word = before.rsplit([' ', '*', '\t']).next().unwrap_or("");
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_begins_with_its_signature() {
        let text = "/* About it. */\nstatic int *one(int a,\n\t\tint b)\n{\n\tif (a) {\n\t}\n}\n\n\
            static struct s t = {\n\t.a = 1,\n};\nvoid two(void)\n{\n}\n";
        assert_eq!(
            functions(text),
            [
                Function {
                    name: "one".into(),
                    line: 2,
                    lines: 6
                },
                Function {
                    name: "two".into(),
                    line: 12,
                    lines: 3
                },
            ]
        );
    }
}
