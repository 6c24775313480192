// SPDX-License-Identifier: GPL-2.0-only
//! What a change is, and which ones there are of an operator and of a result.

use proc_macro2::Span;
use quote::ToTokens;
use syn::{parse_quote, BinOp, Expr, ReturnType};

/// The longest piece of source in a name.
const LONGEST: usize = 72;

/// One change of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What wakes it.
    pub number: u32,
    /// The file below `rust/policy`.
    pub file: String,
    /// Where it is in that file.
    pub line: usize,
    /// What it is. It stays the same when lines move.
    pub name: String,
}

/// The source at a place as one short line.
pub fn source(span: Span) -> String {
    let text = span.source_text().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(LONGEST).collect()
}

/// What a function of this type may return instead, as far as it is known.
pub fn constants(output: &ReturnType) -> Vec<Expr> {
    let ReturnType::Type(_, of) = output else {
        return vec![parse_quote!(())];
    };
    match of.to_token_stream().to_string().as_str() {
        "bool" => vec![parse_quote!(true), parse_quote!(false)],
        "u8" | "u16" | "u32" | "u64" | "usize" => vec![parse_quote!(0), parse_quote!(1)],
        "Nanos" => vec![parse_quote!(Nanos(0)), parse_quote!(Nanos(1))],
        "Immunity" => vec![parse_quote!(Default::default())],
        text if text.starts_with("Option <") => vec![parse_quote!(None)],
        _ => Vec::new(),
    }
}

/// What is written instead of an operator.
pub fn other_operators(operator: &BinOp) -> Vec<BinOp> {
    match operator {
        BinOp::Eq(_) => vec![parse_quote!(!=)],
        BinOp::Ne(_) => vec![parse_quote!(==)],
        BinOp::Lt(_) => vec![parse_quote!(<=), parse_quote!(>=)],
        BinOp::Gt(_) => vec![parse_quote!(>=), parse_quote!(<=)],
        BinOp::Le(_) => vec![parse_quote!(<), parse_quote!(>)],
        BinOp::Ge(_) => vec![parse_quote!(>), parse_quote!(<)],
        BinOp::And(_) => vec![parse_quote!(||)],
        BinOp::Or(_) => vec![parse_quote!(&&)],
        BinOp::Shl(_) => vec![parse_quote!(>>)],
        BinOp::Shr(_) => vec![parse_quote!(<<)],
        _ => Vec::new(),
    }
}
