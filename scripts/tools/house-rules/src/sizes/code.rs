// SPDX-License-Identifier: GPL-2.0-only
//! How much code there is: lines of a Rust file without comments, empty lines and tests.

use std::ops::RangeInclusive;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, ItemFn, ItemImpl, ItemMod, ItemUse};

use crate::rust_source::is_for_tests;

/// The lines of code in a file with this text.
pub fn lines(file: &syn::File, text: &str) -> usize {
    let mut tests = Tests(Vec::new());
    tests.visit_file(file);
    let is_code = |line: &str| !line.is_empty() && !line.starts_with("//");
    text.lines()
        .map(str::trim)
        .zip(1..)
        .filter(|(line, _)| is_code(line))
        .filter(|(_, number)| !tests.0.iter().any(|lines| lines.contains(number)))
        .count()
}

/// The lines of items that are there in tests alone.
struct Tests(Vec<RangeInclusive<usize>>);

impl Tests {
    fn leave_out(&mut self, attributes: &[Attribute], item: &impl Spanned) -> bool {
        let tests = is_for_tests(attributes);
        if tests {
            let span = item.span();
            self.0.push(span.start().line..=span.end().line);
        }
        tests
    }
}

impl<'ast> Visit<'ast> for Tests {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !self.leave_out(&item.attrs, item) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.leave_out(&item.attrs, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.leave_out(&item.attrs, item);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.leave_out(&item.attrs, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_empty_lines_and_tests_are_no_code() {
        let text = "// A licence.\n//! A head.\n\nuse a::b;\n\n/// It does.\n#[inline]\nfn c() {\n    \
            // Because.\n    d(); // Then.\n}\n\n#[cfg(test)]\nmod tests {\n    use e;\n    fn f() {\n    \
            }\n}\n\n#[cfg(test)]\nmod more;\n";
        assert_eq!(lines(&syn::parse_file(text).unwrap(), text), 5);
    }
}
