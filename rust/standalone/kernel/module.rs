// SPDX-License-Identifier: GPL-2.0-only

//! The module as the kernel loads and unloads it.

use crate::error::Error;
use pin_init::PinInit;

/// The module itself.
pub struct ThisModule(());

/// The one that there is.
#[doc(hidden)]
pub static THIS_MODULE: ThisModule = ThisModule(());

/// What there is of a module while it is loaded, made where it stays.
pub trait InPlaceModule: Sync + Send {
    /// Makes it, when the module is loaded.
    fn init(module: &'static ThisModule) -> impl PinInit<Self, Error>
    where
        Self: Sized;
}

/// An entry of what `modinfo` shows, with the zero at its end, as an array.
#[doc(hidden)]
pub const fn entry<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let mut at = 0;
    while at < LENGTH {
        bytes[at] = text.as_bytes()[at];
        at += 1;
    }
    bytes
}

#[doc(hidden)]
#[macro_export]
macro_rules! __modinfo {
    ($name:ident, $text:expr) => {
        #[link_section = ".modinfo"]
        #[used(compiler)]
        static $name: [u8; $text.len()] = $crate::module::entry($text);
    };
}

/// Declares the module: its type, and what `modinfo` shows.
#[macro_export]
macro_rules! module {
    (
        type: $type:ident,
        name: $name:literal,
        authors: [$author:literal],
        description: $description:literal,
        license: $license:literal $(,)?
    ) => {
        mod __module {
            use ::core::mem::MaybeUninit;

            $crate::__modinfo!(AUTHOR, ::core::concat!("author=", $author, "\0"));
            $crate::__modinfo!(
                DESCRIPTION,
                ::core::concat!("description=", $description, "\0")
            );
            $crate::__modinfo!(LICENSE, ::core::concat!("license=", $license, "\0"));

            static mut MODULE: MaybeUninit<super::$type> = MaybeUninit::uninit();

            #[no_mangle]
            extern "C" fn rust_module_init() -> $crate::ffi::c_int {
                let init =
                    <super::$type as $crate::InPlaceModule>::init(&$crate::module::THIS_MODULE);
                // SAFETY: C calls this once, when the module is loaded and nothing else of
                // it runs, and the other only if this returned 0.
                match unsafe { ::pin_init::PinInit::__pinned_init(init, (&raw mut MODULE).cast()) }
                {
                    Ok(()) => 0,
                    Err(error) => $crate::error::Error::to_errno(error),
                }
            }

            #[no_mangle]
            extern "C" fn rust_module_exit() {
                // SAFETY: C calls this once, when nothing else of the module runs any more,
                // after the other has made the value.
                unsafe { (&raw mut MODULE).cast::<super::$type>().drop_in_place() }
            }

            #[panic_handler]
            fn panic(info: &::core::panic::PanicInfo<'_>) -> ! {
                $crate::pr_err!("{}\n", info);
                loop {
                    // SAFETY: It asks for nothing, and can be called anywhere.
                    unsafe { $crate::bindings::gp_rt_bug() }
                }
            }
        }
    };
}
