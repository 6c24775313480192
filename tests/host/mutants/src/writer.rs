// SPDX-License-Identifier: GPL-2.0-only
//! Puts every change into a source file: another operator, a condition inverted, a
//! function that returns a constant, a statement or an arm of a `match` left out.
//! Each is asleep unless it is asked for by its number.
//!
//! What the compiler works out by itself cannot wait for a number, so that constants
//! and `const fn` stay as they are.

use std::collections::BTreeMap;

use anyhow::Result;
use proc_macro2::Span;
use quote::{quote, ToTokens};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{parse_quote, BinOp, Expr, Stmt, UnOp};

use crate::change::{constants, other_operators, source, Change};

/// Puts changes into one file after the other.
#[derive(Default)]
pub struct Writer {
    file: String,
    /// The type whose functions are read, if any.
    owner: Option<String>,
    function: String,
    /// Within a loop that goes through what it borrows.
    in_while_let: bool,
    changes: Vec<Change>,
    /// How many changes would have the same name.
    same: BTreeMap<String, u32>,
}

/// It is for tests alone.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.to_token_stream().to_string();
        text.contains("cfg (test)") || text == "# [test]"
    })
}

impl Writer {
    /// Puts changes into the text of a file, and returns it.
    ///
    /// # Errors
    ///
    /// A text that is no Rust.
    pub fn write(&mut self, file: &str, text: &str) -> Result<syn::File> {
        file.clone_into(&mut self.file);
        let mut parsed = syn::parse_file(text)?;
        self.visit_file_mut(&mut parsed);
        Ok(parsed)
    }

    /// Every change that there is, in the order of the sources.
    pub fn into_changes(self) -> Vec<Change> {
        self.changes
    }

    /// Enters a change, and returns its number.
    fn enter(&mut self, at: Span, what: &str) -> u32 {
        let owner = self.owner.as_ref().map(|owner| format!("{owner}::"));
        let owner = owner.unwrap_or_default();
        let name = format!("{} {owner}{}: {what}", self.file, self.function);
        let same = self.same.entry(name.clone()).or_default();
        *same += 1;
        let name = match *same {
            1 => name,
            more => format!("{name} #{more}"),
        };
        let number = u32::try_from(self.changes.len()).unwrap_or(u32::MAX) + 1;
        self.changes.push(Change {
            number,
            file: self.file.clone(),
            line: at.start().line,
            name,
        });
        number
    }

    /// An expression that is another one while a change is awake.
    fn either(&mut self, expression: &Expr, others: Vec<(u32, Expr)>) -> Expr {
        let mut whole = quote!({ #expression });
        for (number, other) in others {
            whole = quote!({ if crate::mutant::is(#number) { #other } else #whole });
        }
        parse_quote!((#whole))
    }

    /// A function, which returns a constant while a change is awake.
    fn function(&mut self, signature: &syn::Signature, block: &mut syn::Block) {
        self.function = signature.ident.to_string();
        self.visit_block_mut(block);
        if block.stmts.is_empty() {
            return;
        }
        let whole = match block.stmts.as_slice() {
            [Stmt::Expr(only, None)] => Some(only.clone()),
            _ => None,
        };
        for value in constants(&signature.output) {
            if whole.as_ref() == Some(&value) {
                continue;
            }
            let what = format!("returns {}", value.to_token_stream()).replace(' ', "");
            let what = what.replacen("returns", "returns ", 1);
            let number = self.enter(signature.ident.span(), &what);
            let statement = parse_quote!(if crate::mutant::is(#number) { return #value; });
            block.stmts.insert(0, statement);
        }
    }

    /// What an expression is while a change of it is awake. `text` is how it was
    /// written before anything within it was changed.
    fn others(&mut self, expression: &Expr, text: &str) -> Vec<(u32, Expr)> {
        match expression {
            Expr::Binary(binary) => other_operators(&binary.op)
                .into_iter()
                .map(|operator| {
                    let (new, old) = (operator.to_token_stream(), binary.op.to_token_stream());
                    let what = format!("{new} for {old} in {text}");
                    let mut other = binary.clone();
                    other.op = operator;
                    (self.enter(binary.op.span(), &what), Expr::Binary(other))
                })
                .collect(),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                let number = self.enter(unary.op.span(), &format!("no ! in {text}"));
                vec![(number, (*unary.expr).clone())]
            }
            Expr::Macro(call) if call.mac.path.is_ident("matches") => {
                let number = self.enter(call.mac.path.span(), &format!("! before {text}"));
                vec![(number, parse_quote!(!#call))]
            }
            _ => Vec::new(),
        }
    }

    /// Whether the program still compiles without this statement.
    fn may_go(&self, expression: &Expr) -> bool {
        match expression {
            Expr::MethodCall(_) | Expr::Call(_) => true,
            // A loop over what is borrowed must go on with the rest of it.
            Expr::Assign(assign) => !(self.in_while_let && matches!(*assign.right, Expr::Path(_))),
            Expr::Binary(binary) => {
                matches!(binary.op, BinOp::BitOrAssign(_) | BinOp::BitAndAssign(_))
            }
            _ => false,
        }
    }
}

impl VisitMut for Writer {
    fn visit_item_const_mut(&mut self, _: &mut syn::ItemConst) {}
    fn visit_item_static_mut(&mut self, _: &mut syn::ItemStatic) {}
    fn visit_impl_item_const_mut(&mut self, _: &mut syn::ImplItemConst) {}
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}
    fn visit_attribute_mut(&mut self, _: &mut syn::Attribute) {}

    fn visit_item_mod_mut(&mut self, item: &mut syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit_mut::visit_item_mod_mut(self, item);
        }
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        let name = item.self_ty.to_token_stream().to_string();
        let bare = name.split([' ', '<']).next().unwrap_or_default();
        self.owner = Some(bare.to_owned());
        visit_mut::visit_item_impl_mut(self, item);
        self.owner = None;
    }

    fn visit_item_fn_mut(&mut self, item: &mut syn::ItemFn) {
        if item.sig.constness.is_none() && !is_test(&item.attrs) {
            self.function(&item.sig, &mut item.block);
        }
    }

    fn visit_impl_item_fn_mut(&mut self, item: &mut syn::ImplItemFn) {
        if item.sig.constness.is_none() && !is_test(&item.attrs) {
            self.function(&item.sig, &mut item.block);
        }
    }

    fn visit_expr_while_mut(&mut self, item: &mut syn::ExprWhile) {
        let before = self.in_while_let;
        self.in_while_let = matches!(*item.cond, Expr::Let(_));
        visit_mut::visit_expr_while_mut(self, item);
        self.in_while_let = before;
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        for statement in &mut block.stmts {
            let (at, text) = (statement.span(), source(statement.span()));
            visit_mut::visit_stmt_mut(self, statement);
            let Stmt::Expr(expression, Some(_)) = statement else {
                continue;
            };
            if self.may_go(expression) {
                let number = self.enter(at, &format!("without {text}"));
                *statement = parse_quote!(if !crate::mutant::is(#number) { #expression; });
            }
        }
    }

    fn visit_expr_match_mut(&mut self, item: &mut syn::ExprMatch) {
        let patterns: Vec<_> = item.arms.iter().map(|arm| arm.pat.span()).collect();
        visit_mut::visit_expr_match_mut(self, item);
        let is_rest = |arm: &syn::Arm| matches!(arm.pat, syn::Pat::Wild(_)) && arm.guard.is_none();
        let has_rest = item.arms.iter().any(is_rest);
        for (arm, at) in item.arms.iter_mut().zip(patterns) {
            let pattern = source(at);
            if let Some((_, guard)) = &mut arm.guard {
                let holds = self.enter(at, &format!("the guard of {pattern} always holds"));
                let fails = self.enter(at, &format!("the guard of {pattern} never holds"));
                **guard = parse_quote!(
                    crate::mutant::is(#holds) || (!crate::mutant::is(#fails) && (#guard))
                );
            } else if has_rest && !is_rest(arm) {
                let number = self.enter(at, &format!("without the arm {pattern}"));
                let guard = parse_quote!(!crate::mutant::is(#number));
                arm.guard = Some((<syn::Token![if]>::default(), Box::new(guard)));
            }
        }
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        let text = source(expression.span());
        visit_mut::visit_expr_mut(self, expression);
        let others = self.others(expression, &text);
        if !others.is_empty() {
            *expression = self.either(expression, others);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the changes of a text, and the text with them.
    fn changed(text: &str) -> (Vec<String>, String) {
        let mut writer = Writer::default();
        let file = writer.write("a.rs", text).expect("a source");
        let changes = writer.into_changes();
        let names = changes
            .iter()
            .enumerate()
            .map(|(at, change)| {
                assert_eq!(usize::try_from(change.number), Ok(at + 1));
                let what = change.name.strip_prefix("a.rs ").expect("its file");
                format!("{} {what}", change.line)
            })
            .collect();
        (names, file.to_token_stream().to_string())
    }

    fn names(text: &str) -> Vec<String> {
        changed(text).0
    }

    #[test]
    fn an_operator_becomes_each_of_the_others() {
        assert_eq!(
            names("fn f(a: u8) -> u8 {\n    g(a\n        < 2)\n}"),
            [
                "3 f: <= for < in a < 2",
                "3 f: >= for < in a < 2",
                "1 f: returns 0",
                "1 f: returns 1"
            ]
        );
    }

    #[test]
    fn each_change_is_asleep_unless_its_number_is_asked_for() {
        let (names, text) = changed("fn f() -> X { !a }");
        assert_eq!(names, ["1 f: no ! in !a"]);
        let awake = "if crate :: mutant :: is (1u32) { a } else { ! a }";
        assert!(text.contains(awake), "{text}");
    }

    #[test]
    fn statements_and_arms_are_left_out() {
        assert_eq!(
            names("impl T<'_> { fn f(&mut self) -> X { self.a = b; c.d(); match e { 1 => 2, x if g => 3, _ => 4 } } }"),
            [
                "1 T::f: without self.a = b;",
                "1 T::f: without c.d();",
                "1 T::f: without the arm 1",
                "1 T::f: the guard of x always holds",
                "1 T::f: the guard of x never holds",
            ]
        );
    }

    #[test]
    fn what_tests_and_the_compiler_do_stays() {
        let text = "const A: bool = 1 < 2; const fn f() -> bool { 1 < 2 }
            #[cfg(test)] mod tests { fn f() -> bool { 1 < 2 } }
            #[cfg(test)] fn g() -> bool { 1 < 2 }";
        assert_eq!(names(text), [""; 0]);
    }

    #[test]
    fn a_loop_over_what_is_borrowed_goes_on() {
        let text = "fn f() -> X { while let Some(a) = b { b = c; d = c(); } }";
        assert_eq!(names(text), ["1 f: without d = c();"]);
    }

    #[test]
    fn what_a_function_returns_anyway_is_no_change() {
        assert_eq!(names("fn f() -> bool { true }"), ["1 f: returns false"]);
    }

    #[test]
    fn changes_that_look_alike_are_counted() {
        let text = "fn f() -> X { g(); g(); }";
        assert_eq!(names(text), ["1 f: without g();", "1 f: without g(); #2"]);
    }
}
