// SPDX-License-Identifier: GPL-2.0-only
//! The texts in quotation marks of a source file.

use proc_macro2::{TokenStream, TokenTree};
use syn::Lit;

use crate::tree::Kind;

/// The literals of a source; of one that is none, no literals.
pub fn of(kind: Kind, text: &str) -> Vec<String> {
    match kind {
        Kind::Rust => rust(text),
        Kind::C => quoted(text, "\"", "//"),
        Kind::Python | Kind::Shell => quoted(text, "\"'", "#"),
        _ => Vec::new(),
    }
}

/// The literals of a Rust source, without its documentation.
pub fn rust(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(tokens) = text.parse() {
        rust_tokens(tokens, &mut found);
    }
    found
}

fn rust_tokens(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            // Most literals are numbers, and reading one takes its time.
            TokenTree::Literal(literal) if literal.to_string().ends_with(['"', '#']) => {
                if let Lit::Str(text) = Lit::new(literal) {
                    found.push(text.value());
                }
            }
            TokenTree::Group(group) if !is_documentation(&group.stream()) => {
                rust_tokens(group.stream(), found);
            }
            _ => {}
        }
    }
}

/// Whether tokens are those of `#[doc = "..."]`.
fn is_documentation(tokens: &TokenStream) -> bool {
    let mut tokens = tokens.clone().into_iter();
    matches!(tokens.next(), Some(TokenTree::Ident(word)) if word == "doc")
        && matches!(tokens.next(), Some(TokenTree::Punct(mark)) if mark.as_char() == '=')
}

/// Texts between any of some marks, those that follow each other as one, as C and
/// Python have it. A comment to the end of the line hides its marks.
fn quoted(text: &str, marks: &str, comment: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = text;
    // Whether nothing but blanks stands between the last literal and here.
    let mut joined = false;
    let mut after_blank = true;
    while let Some(first) = rest.chars().next() {
        let behind = &rest[first.len_utf8()..];
        let is_comment = after_blank && rest.starts_with(comment);
        after_blank = first.is_whitespace();
        if is_comment {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if marks.contains(first) {
            let (literal, after) = literal(behind, first);
            match found.last_mut() {
                Some(last) if joined => last.push_str(&literal),
                _ => found.push(literal),
            }
            joined = true;
            rest = after;
        } else {
            joined = joined
                && (first.is_whitespace() || first == 'f' && behind.starts_with(['"', '\'']));
            rest = behind;
        }
    }
    found
}

/// The text up to the closing mark, and what follows.
fn literal(text: &str, mark: char) -> (String, &str) {
    let mut literal = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, 'n')) => literal.push('\n'),
                Some((_, c)) => literal.push(c),
                None => {}
            },
            c if c == mark => return (literal, &text[at + c.len_utf8()..]),
            c => literal.push(c),
        }
    }
    (literal, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_each_language_are_found() {
        let rust = "/// \"No.\"\nfn f() { say!(\"one \\\n    two {}\", x) }";
        assert_eq!(of(Kind::Rust, rust), ["one two {}"]);
        let c = "a(\"one \"\n  \"two %d\", \"b\"); // \"no\"";
        assert_eq!(of(Kind::C, c), ["one two %d", "b"]);
        let python = "# 'no'\nx(f\"a {b} \"\n  f\"c\", 'd')";
        assert_eq!(of(Kind::Python, python), ["a {b} c", "d"]);
        assert_eq!(
            of(Kind::Shell, "echo $# \"a \\\"b\\\" $c\" 'd'"),
            ["a \"b\" $cd"]
        );
        assert_eq!(of(Kind::Make, "\"a\""), [""; 0]);
    }
}
