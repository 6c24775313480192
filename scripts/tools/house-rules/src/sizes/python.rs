// SPDX-License-Identifier: GPL-2.0-only
//! The functions of a Python file, by their indentation.

use super::Function;

/// Every function, also within classes and others.
pub fn functions(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| {
            let signature = line.trim_start();
            let rest = signature
                .strip_prefix("def ")
                .or_else(|| signature.strip_prefix("async def "))?;
            let name = rest.split('(').next()?.trim().to_owned();
            let end = end(&lines, at, line.len() - signature.len());
            Some(Function {
                name,
                line: at + 1,
                lines: end + 1 - at,
            })
        })
        .collect()
}

/// The last line that belongs to the function that begins at a line.
fn end(lines: &[&str], begin: usize, indent: usize) -> usize {
    let mut end = begin;
    // The closing parenthesis of a long signature stands below `def`.
    let is_signature = |line: &str| line.trim_start().starts_with(')');
    for (at, line) in lines.iter().enumerate().skip(begin + 1) {
        let text = line.trim_start();
        if text.is_empty() {
            continue;
        }
        if line.len() - text.len() <= indent && !is_signature(line) {
            break;
        }
        end = at;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_ends_before_the_next_line_of_its_indentation() {
        let text = "class A:\n    def one(self,\n            b\n    ):\n        x()\n\n        y()\n\n    \
            async def two(self):\n        pass\n\n\nz()\n";
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
                    line: 9,
                    lines: 2
                },
            ]
        );
    }
}
