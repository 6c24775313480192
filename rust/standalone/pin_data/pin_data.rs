// SPDX-License-Identifier: GPL-2.0-only

//! The attributes `pin_data` and `pinned_drop`, for a build without the kernel's own.
//!
//! They take what pin-init takes and check nothing: whatever pin-init refuses does not
//! get past the native build, which compiles the same sources.

#![forbid(unsafe_code)]

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// A structure that is initialised in place. A field with `#[pin]` never moves; as
/// nothing is projected here, it is enough that such a field makes the whole `!Unpin`.
#[proc_macro_attribute]
pub fn pin_data(_arguments: TokenStream, structure: TokenStream) -> TokenStream {
    replace_braces(structure, without_pin)
}

/// An implementation of `PinnedDrop`, and with the same head one of `Drop` that calls it.
#[proc_macro_attribute]
pub fn pinned_drop(_arguments: TokenStream, implementation: TokenStream) -> TokenStream {
    let head = |name: &str, body: fn(TokenStream) -> TokenStream| {
        let name: TokenStream = name.parse().unwrap_or_default();
        let named = implementation
            .clone()
            .into_iter()
            .flat_map(move |tree| match tree {
                TokenTree::Ident(word) if word.to_string() == "PinnedDrop" => name.clone(),
                other => other.into(),
            });
        replace_braces(named.collect(), body)
    };
    let mut both = head("::pin_init::PinnedDrop", unsafe_functions);
    both.extend(head("::core::ops::Drop", |_| {
        "fn drop(&mut self) {
            // SAFETY: What has this attribute is made by an initialiser alone, so that it
            // is pinned, and `drop` is called once, when nothing can use it any more.
            unsafe { ::pin_init::PinnedDrop::drop(::core::pin::Pin::new_unchecked(self)) }
        }"
        .parse()
        .unwrap_or_default()
    }));
    both
}

/// Replaces what is between the braces of an item.
fn replace_braces(item: TokenStream, replace: impl Fn(TokenStream) -> TokenStream) -> TokenStream {
    item.into_iter()
        .map(|tree| match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let mut new = Group::new(Delimiter::Brace, replace(group.stream()));
                new.set_span(group.span());
                TokenTree::Group(new)
            }
            other => other,
        })
        .collect()
}

/// Fields without the attribute `#[pin]`.
fn without_pin(fields: TokenStream) -> TokenStream {
    let mut trees = fields.into_iter().peekable();
    let mut kept = TokenStream::new();
    while let Some(tree) = trees.next() {
        let begins = matches!(&tree, TokenTree::Punct(sign) if sign.as_char() == '#');
        let is_pin = trees.peek().is_some_and(
            |next| matches!(next, TokenTree::Group(group) if group.stream().to_string() == "pin"),
        );
        if begins && is_pin {
            trees.next();
        } else {
            kept.extend([tree]);
        }
    }
    kept
}

/// Functions, each of them unsafe to call.
fn unsafe_functions(functions: TokenStream) -> TokenStream {
    let word: TokenStream = "unsafe".parse().unwrap_or_default();
    functions
        .into_iter()
        .flat_map(|tree| {
            let is_function = matches!(&tree, TokenTree::Ident(name) if name.to_string() == "fn");
            let mut trees = if is_function {
                word.clone()
            } else {
                TokenStream::new()
            };
            trees.extend([tree]);
            trees
        })
        .collect()
}
