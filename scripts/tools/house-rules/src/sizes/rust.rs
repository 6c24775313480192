// SPDX-License-Identifier: GPL-2.0-only
//! The functions of a Rust file.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use super::Function;

/// Every function with a body, also within others.
pub fn functions(file: &syn::File) -> Vec<Function> {
    let mut functions = Functions(Vec::new());
    functions.visit_file(file);
    functions.0
}

struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, signature: &Signature, block: &Block) {
        let line = signature.span().start().line;
        let end: Span = block.brace_token.span.close();
        self.0.push(Function {
            name: signature.ident.to_string(),
            line,
            lines: end.end().line + 1 - line,
        });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_every_kind_are_measured() {
        let text = "fn a() {\n    fn b() {\n    }\n}\nimpl A {\n    /// It does.\n    #[inline]\n    \
            pub fn c(\n        self,\n    ) {\n    }\n}\ntrait T {\n    fn d() {}\n    fn e();\n}\n";
        let found: Vec<(String, usize, usize)> = functions(&syn::parse_file(text).unwrap())
            .into_iter()
            .map(|function| (function.name, function.line, function.lines))
            .collect();
        let expected = [("a", 1, 4), ("b", 2, 2), ("c", 8, 4), ("d", 14, 1)];
        assert_eq!(
            found,
            expected.map(|(name, line, lines)| (name.to_owned(), line, lines))
        );
    }
}
