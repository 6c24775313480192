// SPDX-License-Identifier: GPL-2.0-only
//! Types and what they have, which documents name as `Type::function`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::page::Page;
use crate::breach::Breach;
use crate::house::EXAMPLES;
use crate::tree::{Kind, Tree};

/// Paths of which no source has the type, or no type of that name the rest.
pub fn check(tree: &Tree, pages: &[Page]) -> Result<Vec<Breach>> {
    let mut named = Vec::new();
    for page in pages {
        for code in &page.code {
            named.extend(names(&code.text).map(|names| (page, code, names)));
        }
    }
    let mut types = Types::default();
    for file in tree.files().filter(|file| file.kind == Kind::Rust) {
        let text = tree.text(&file.path)?;
        // To read a source takes its time, and most have none of these types.
        if named.iter().any(|(_, _, (owner, _))| text.contains(owner)) {
            types.read(&text);
        }
    }
    let breaches = named
        .into_iter()
        .filter_map(|(page, code, (owner, member))| {
            let what = match types.0.get(owner) {
                None => format!("no source has a type '{owner}': name what is there"),
                Some(members) if !members.contains(member) => {
                    format!("no type '{owner}' has '{member}': name what is there")
                }
                Some(_) => return None,
            };
            Some(Breach::new(&page.path, code.line, "names", what))
        });
    Ok(breaches.collect())
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The first two parts of a path that begins with a type of ours.
fn names(text: &str) -> Option<(&str, &str)> {
    let path = text.trim_end_matches("()");
    let mut names = path.split("::");
    let first = (names.next()?, names.next()?);
    let is_path = !EXAMPLES.contains(&text)
        && path.starts_with(|c: char| c.is_ascii_uppercase())
        && path
            .split("::")
            .all(|name| !name.is_empty() && name.chars().all(is_part));
    is_path.then_some(first)
}

/// The functions, constants, fields and variants of types, by the types' names. Types of
/// the same name in several crates are one.
#[derive(Default)]
struct Types(BTreeMap<String, BTreeSet<String>>);

impl Types {
    /// Adds the types of a source; one that is none has none.
    fn read(&mut self, text: &str) {
        if let Ok(file) = syn::parse_file(text) {
            self.visit_file(&file);
        }
    }

    fn of(&mut self, owner: impl ToString) -> &mut BTreeSet<String> {
        self.0.entry(owner.to_string()).or_default()
    }

    fn add_fields(&mut self, owner: &syn::Ident, fields: &syn::Fields) {
        let names = fields.iter().filter_map(|field| field.ident.as_ref());
        self.of(owner).extend(names.map(ToString::to_string));
    }

    /// Types that a macro is given, as `enum NAME { ... }`: all words in the braces count.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        let mut owner = None;
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word) if is_keyword(&word.to_string()) => {
                    if let Some(TokenTree::Ident(name)) = tokens.peek() {
                        owner = Some(name.to_string());
                    }
                }
                TokenTree::Group(group) => {
                    if group.delimiter() == Delimiter::Brace {
                        if let Some(owner) = owner.take() {
                            add_words(group.stream(), self.of(owner));
                        }
                    }
                    self.read_tokens(group.stream());
                }
                _ => {}
            }
        }
    }
}

/// What the name of a type follows where it is defined, or is given functions.
fn is_keyword(word: &str) -> bool {
    matches!(word, "enum" | "struct" | "trait" | "impl" | "for")
}

fn add_words(tokens: TokenStream, words: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(word) => {
                words.insert(word.to_string());
            }
            TokenTree::Group(group) => add_words(group.stream(), words),
            _ => {}
        }
    }
}

impl<'a> Visit<'a> for Types {
    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.add_fields(&item.ident, &item.fields);
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        let names = item.variants.iter().map(|variant| &variant.ident);
        self.of(&item.ident).extend(names.map(ToString::to_string));
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        let names = item.items.iter().filter_map(|item| match item {
            syn::TraitItem::Fn(function) => Some(&function.sig.ident),
            syn::TraitItem::Const(constant) => Some(&constant.ident),
            _ => None,
        });
        self.of(&item.ident).extend(names.map(ToString::to_string));
        visit::visit_item_trait(self, item);
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        if let syn::Type::Path(path) = &*item.self_ty {
            let names = item.items.iter().filter_map(|item| match item {
                syn::ImplItem::Fn(function) => Some(&function.sig.ident),
                syn::ImplItem::Const(constant) => Some(&constant.ident),
                _ => None,
            });
            if let Some(owner) = path.path.segments.last() {
                self.of(&owner.ident).extend(names.map(ToString::to_string));
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_macro(&mut self, item: &'a syn::Macro) {
        self.read_tokens(item.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents;
    use crate::testing::{places, tree};

    #[test]
    fn named_functions_exist() {
        let text = "`Node::lock`, `Node::lock()`, `core::ptr`, `a: B::c`\n`Node::unlock`\n";
        let files = [
            ("a.md", text),
            ("src/a.rs", "impl Node { fn lock() {} }"),
            ("src/b.rs", "fn unlock() {}"),
        ];
        let found = documents::check(&tree(&files)).unwrap();
        assert_eq!(places(&found), ["a.md:2 names"]);
    }

    #[test]
    fn a_function_of_another_type_is_not_one_of_this() {
        let text = "`Engine::prepare`\n`Node::prepare`\n`Gone::prepare`\n";
        let source = "struct Engine; struct Node; impl Engine { fn prepare(node: Node) {} }";
        let files = [("a.md", text), ("src/a.rs", source)];
        let found = documents::check(&tree(&files)).unwrap();
        assert_eq!(places(&found), ["a.md:2 names", "a.md:3 names"]);
        assert!(found[0].what.contains("no type 'Node' has 'prepare'"));
        assert!(found[1].what.contains("no source has a type 'Gone'"));
    }

    #[test]
    fn fields_variants_constants_and_traits_count() {
        let source = "struct A<T> { b: T }\nenum C { D(u8), E { f: u8 } }\n\
            trait G { const H: u8; fn i(); }\nmod inner { impl<T> super::A<T> { const J: u8 = 0; } }\n\
            impl<T: Copy> G for A<T> { const H: u8 = 0; fn i() { struct K { l: u8 } } }\n";
        let mut types = Types::default();
        types.read(source);
        let has = |owner: &str, member: &str| types.0[owner].contains(member);
        assert!(has("A", "b") && has("A", "J") && has("A", "i") && has("A", "H"));
        assert!(has("C", "D") && has("C", "E") && has("G", "i") && has("K", "l"));
        assert!(!has("C", "f") && !has("G", "b"));
    }

    #[test]
    fn what_a_macro_is_given_counts() {
        let mut types = Types::default();
        types.read(
            "choice! { /// Says.\n pub enum Kind { A \"a\", B \"b\" } }\n\
             macro_rules! m { () => { impl Census { pub(crate) const ALL: u8 = 1; } } }\n\
             fn f() { assert!(x); }\n",
        );
        assert!(types.0["Kind"].contains("B") && !types.0["Kind"].contains("choice"));
        assert!(types.0["Census"].contains("ALL"));
    }
}
