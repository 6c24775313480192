// SPDX-License-Identifier: GPL-2.0-only

//! What the suites need of the kernel crate beyond what the module does, for a standalone
//! build: all of `rust/standalone/kernel`, and KUnit, under the names that the kernel's own
//! crate has for it. No product is linked with this.
//!
//! `kunit.c` is the other half. C alone knows how KUnit's tables are laid out: it writes
//! them over those that Rust has when the test module is loaded.

// What is named below stands in front of what has the same name there.
#[doc(hidden)]
pub use kernel::module as __module;
pub use kernel::*;

pub mod bindings;
pub mod kunit;
pub mod task;
pub mod uaccess;

/// What every suite imports.
pub mod prelude {
    pub use crate::module;
    pub use kernel::prelude::*;
    pub use kunit_tests::kunit_tests;
}

/// Locks, and what is waited for.
pub mod sync {
    mod completion;

    pub use completion::Completion;
    pub use kernel::sync::*;
}

/// A module that is made before it is put where it stays.
pub trait Module: Sized + Sync + Send {
    /// Makes it, when the module is loaded.
    fn init(module: &'static ThisModule) -> error::Result<Self>;
}

/// Declares the test module, and hands its suites to KUnit before the kernel looks for them.
#[macro_export]
macro_rules! module {
    (type: $type:ident, $($rest:tt)*) => {
        /// The module, after its suites were handed over.
        struct Handed {
            _module: $type,
        }

        impl $crate::InPlaceModule for Handed {
            fn init(
                module: &'static $crate::ThisModule,
            ) -> impl ::pin_init::PinInit<Self, $crate::error::Error> {
                $crate::kunit::hand_over();
                ::pin_init::pin_init_scope(move || {
                    let _module = <$type as $crate::Module>::init(module)?;
                    Ok(::pin_init::try_pin_init!(Handed { _module }? $crate::error::Error))
                })
            }
        }

        $crate::__module! { type: Handed, $($rest)* }
    };
}
