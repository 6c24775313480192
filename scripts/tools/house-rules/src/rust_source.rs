// SPDX-License-Identifier: GPL-2.0-only
//! What several rules need to know of a Rust file.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Meta};

use crate::breach::Breach;

/// Parses a file, or says where it cannot be.
pub fn parse(path: &str, text: &str) -> Result<syn::File, Breach> {
    syn::parse_file(text).map_err(|error| {
        Breach::new(
            path,
            error.span().start().line,
            "syntax",
            format!("this is not read as Rust: {error}"),
        )
    })
}

/// Whether an item is there in tests alone.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string().replace(' ', "");
            condition == "test" || condition.starts_with("any(test,")
        }
        Meta::Path(path) => path.is_ident("test"),
        _ => false,
    })
}

/// A path as written: its names, and the line of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPath {
    pub names: Vec<String>,
    pub line: usize,
}

/// The paths of at least two names in the tokens of a macro.
pub fn paths_in_tokens(tokens: TokenStream, found: &mut Vec<WrittenPath>) {
    let mut path: Option<WrittenPath> = None;
    // How many colons stand behind the last name; `None` behind anything else.
    let mut colons = None;
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                let (text, line) = (name.to_string(), name.span().start().line);
                match &mut path {
                    Some(path) if colons == Some(2) => path.names.push(text),
                    _ => {
                        found.extend(path.take());
                        path = Some(WrittenPath {
                            names: vec![text],
                            line,
                        });
                    }
                }
                colons = Some(0);
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' && colons.is_some() => {
                colons = colons.map(|count| count + 1);
            }
            token => {
                found.extend(path.take());
                colons = None;
                if let TokenTree::Group(group) = token {
                    paths_in_tokens(group.stream(), found);
                }
            }
        }
    }
    found.extend(path);
    found.retain(|path| path.names.len() > 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_the_tokens_of_a_macro() {
        let tokens = "a, crate::b::c(d::e), x: super::y".parse().unwrap();
        let mut found = Vec::new();
        paths_in_tokens(tokens, &mut found);
        let mut names: Vec<String> = found.iter().map(|path| path.names.join("::")).collect();
        names.sort();
        assert_eq!(names, ["crate::b::c", "d::e", "super::y"]);
    }

    #[test]
    fn a_syntax_error_is_a_breach_with_its_line() {
        let breach = parse("a.rs", "fn a() {}\nfn {\n").err().unwrap();
        assert_eq!((breach.line, breach.rule), (2, "syntax"));
    }
}
