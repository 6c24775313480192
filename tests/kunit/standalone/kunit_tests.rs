// SPDX-License-Identifier: GPL-2.0-only

//! The attribute `kunit_tests`, for suites that are compiled standalone.
//!
//! It takes what the kernel's own takes: a module with functions that have the attribute
//! `test`, and the name of the suite, to which it adds that this is the other build.

#![forbid(unsafe_code)]

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// A module of tests, as a suite.
#[proc_macro_attribute]
pub fn kunit_tests(suite: TokenStream, module: TokenStream) -> TokenStream {
    let mut trees: Vec<TokenTree> = module.into_iter().collect();
    let Some(TokenTree::Group(body)) = trees.pop() else {
        return refused("kunit_tests is for a module with a body");
    };
    let (functions, tests) = without_test(body.stream());
    if tests.is_empty() {
        return refused("a suite without a test");
    }
    let mut all: TokenStream = parsed(ASSERTIONS);
    all.extend(functions);
    all.extend(parsed(&cases(&suite.to_string(), &tests)));
    trees.push(Group::new(Delimiter::Brace, all).into());
    trees.into_iter().collect()
}

/// What a failed assertion does: it fails the test, and not the kernel.
const ASSERTIONS: &str = "
    #[allow(unused_macros)]
    macro_rules! assert {
        ($condition:expr $(,)?) => {
            ::kernel::kunit_assert!(\"\", c\"\", 0, $condition)
        };
    }
    #[allow(unused_macros)]
    macro_rules! assert_eq {
        ($left:expr, $right:expr $(,)?) => {
            ::kernel::kunit_assert!(\"\", c\"\", 0, $left == $right)
        };
    }
";

/// The table of the suite.
fn cases(suite: &str, tests: &[String]) -> String {
    let mut text = String::new();
    let mut table = String::new();
    for test in tests {
        text += &format!(
            "/// # Safety
            ///
            /// KUnit calls it, with its test.
            unsafe extern \"C\" fn kunit_case_{test}(_test: *mut ::kernel::bindings::kunit) {{
                ::kernel::kunit::report({test}());
            }}"
        );
        table += &format!("::kernel::kunit::kunit_case(c\"{test}\", kunit_case_{test}),");
    }
    let count = tests.len() + 1;
    format!(
        "{text}
        static mut KUNIT_CASES: [::kernel::bindings::kunit_case; {count}] =
            [{table} ::kernel::bindings::kunit_case::END];
        ::kernel::kunit_unsafe_test_suite!({suite}, KUNIT_CASES);"
    )
}

/// What is in a module without the attribute `test`, and the names of the functions that
/// had it.
fn without_test(body: TokenStream) -> (TokenStream, Vec<String>) {
    let mut trees = body.into_iter().peekable();
    let (mut kept, mut tests) = (TokenStream::new(), Vec::new());
    let mut is_test = false;
    while let Some(tree) = trees.next() {
        let begins = matches!(&tree, TokenTree::Punct(sign) if sign.as_char() == '#');
        let names_test = trees.peek().is_some_and(
            |next| matches!(next, TokenTree::Group(group) if group.stream().to_string() == "test"),
        );
        if begins && names_test {
            trees.next();
            is_test = true;
            continue;
        }
        let is_function = matches!(&tree, TokenTree::Ident(word) if word.to_string() == "fn");
        if let (true, true, Some(TokenTree::Ident(name))) = (is_function, is_test, trees.peek()) {
            tests.push(name.to_string());
            is_test = false;
        }
        kept.extend([tree]);
    }
    (kept, tests)
}

fn parsed(text: &str) -> TokenStream {
    text.parse()
        .unwrap_or_else(|_| refused("kunit_tests has written what is no Rust"))
}

fn refused(why: &str) -> TokenStream {
    let text = format!("::core::compile_error!({why:?});");
    text.parse().unwrap_or_default()
}
