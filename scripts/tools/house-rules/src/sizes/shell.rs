// SPDX-License-Identifier: GPL-2.0-only
//! The functions of a shell script: `NAME() {` to `}`, both at the beginning of
//! their lines. What such a function has awk do counts with it.

use super::Function;

/// Every function.
pub fn functions(text: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut open: Option<(String, usize)> = None;
    for (at, line) in text.lines().enumerate() {
        if let Some(name) = begins(line) {
            open = Some((name.to_owned(), at));
        }
        if line.trim_end() == "}" || line.starts_with("} ") || line.starts_with(')') {
            if let Some((name, begin)) = open.take() {
                functions.push(Function {
                    name,
                    line: begin + 1,
                    lines: at + 1 - begin,
                });
            }
        }
    }
    functions
}

/// The name of the function that begins with a line and goes on after it.
fn begins(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once("()")?;
    let is_name =
        !name.is_empty() && !name.contains(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    (is_name && matches!(rest.trim(), "{" | "(")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_end_at_the_brace_of_their_column() {
        let text = "one() {\n\tawk '{\n\t}'\n}\nshort() { :; }\ntwo() (\n\tx\n) <&3\n";
        assert_eq!(
            functions(text),
            [
                Function {
                    name: "one".into(),
                    line: 1,
                    lines: 4
                },
                Function {
                    name: "two".into(),
                    line: 6,
                    lines: 3
                },
            ]
        );
    }
}
