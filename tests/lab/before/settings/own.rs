// SPDX-License-Identifier: GPL-2.0-only
//! The parameters for all GPUs, and those that single GPUs have of their own.
//!
//! They are kept by the GPU's address, so that they outlive whatever becomes of the
//! GPU while the module is loaded.

use core::fmt;

use crate::settings::config::Config;
use crate::settings::parameter::PARAMETERS;
use crate::settings::parameter::PARAMETER_COUNT;
use crate::settings::set_error::SetError;

/// What an operator writes for a parameter that the GPU shall no longer have a value
/// of its own for. No parameter has this word as a value.
pub const AS_MODULE: &str = "module";

/// The most GPUs with values of their own, also counting those that are gone.
pub const MOST_GPUS: usize = 64;

/// The longest address of a GPU, in bytes. On the PCI bus it has 16 at most.
const LONGEST: usize = 24;

/// The address of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address([u8; LONGEST]);

impl Address {
    /// The address of this text, if it is not too long to be one.
    pub fn new(text: &[u8]) -> Option<Address> {
        if text.len() > LONGEST {
            return None;
        }
        let mut bytes = [0; LONGEST];
        for (byte, written) in bytes.iter_mut().zip(text) {
            *byte = *written;
        }
        Some(Address(bytes))
    }
}

/// A value for each parameter.
pub trait Values: Copy {
    /// Sets a parameter from text; on an error nothing changes.
    fn set_text(&mut self, name: &str, text: &str) -> Result<(), SetError>;

    /// Takes over the value that others have for a parameter.
    fn take(&mut self, name: &str, from: &Self) -> Result<(), SetError>;
}

impl Values for Config<'_> {
    fn set_text(&mut self, name: &str, text: &str) -> Result<(), SetError> {
        Config::set_text(self, name, text)
    }

    fn take(&mut self, name: &str, from: &Self) -> Result<(), SetError> {
        Config::take(self, name, from)
    }
}

/// Why a GPU was not given a value of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnError {
    /// It is no value.
    Value(SetError),
    /// So many GPUs have values of their own that there is no room for another one.
    NoRoom(usize),
}

impl From<SetError> for OwnError {
    fn from(error: SetError) -> OwnError {
        OwnError::Value(error)
    }
}

impl fmt::Display for OwnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OwnError::Value(error) => error.fmt(f),
            OwnError::NoRoom(most) => write!(
                f,
                "{most} GPUs have values of their own already: write '{AS_MODULE}' to those of another one first"
            ),
        }
    }
}

/// A GPU with a value of its own for at least one parameter.
#[derive(Clone, Copy)]
struct Own<V> {
    gpu: Address,
    /// The values in force there: its own, and for the others those for all GPUs.
    values: V,
    /// Which are its own, in the order of [`PARAMETERS`].
    own: [bool; PARAMETER_COUNT],
}

/// The parameters for all GPUs, and for up to `N` GPUs with values of their own.
pub struct PerGpu<V, const N: usize> {
    all: V,
    /// Those with values of their own come first.
    gpus: [Option<Own<V>>; N],
}

impl<V: Values, const N: usize> PerGpu<V, N> {
    /// The same for all GPUs.
    pub const fn new(all: V) -> Self {
        PerGpu {
            all,
            gpus: [None; N],
        }
    }

    /// What holds for all GPUs that have no value of their own.
    pub fn all(&self) -> &V {
        &self.all
    }

    /// What holds for a GPU.
    #[inline]
    pub fn of(&self, gpu: &Address) -> &V {
        self.find(gpu).map_or(&self.all, |own| &own.values)
    }

    /// Which parameters a GPU has values of its own for.
    pub fn own(&self, gpu: &Address) -> impl Iterator<Item = &'static str> + '_ {
        let own = self.find(gpu).map_or(&[][..], |own| &own.own);
        let names = PARAMETERS.iter().zip(own);
        names.filter_map(|(name, own)| own.then_some(*name))
    }

    /// Sets a parameter for all GPUs but those that have a value of their own. On an
    /// error nothing changes.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), SetError> {
        self.all.set_text(name, text)?;
        for gpu in self.gpus.iter_mut().flatten() {
            if !*flag(&mut gpu.own, name)? {
                gpu.values.take(name, &self.all)?;
            }
        }
        Ok(())
    }

    /// Gives a GPU a value of its own, or with [`AS_MODULE`] the one for all again. On an
    /// error nothing changes.
    pub fn set_own(&mut self, gpu: &Address, name: &str, text: &str) -> Result<(), OwnError> {
        if text.trim_ascii() == AS_MODULE {
            return Ok(self.give_up(gpu, name)?);
        }
        let mut values = *self.of(gpu);
        values.set_text(name, text)?;
        let place = match self.gpus.iter().flatten().any(|own| own.gpu == *gpu) {
            true => self.gpus.iter_mut().find(|own| is(own, gpu)),
            false => self.gpus.iter_mut().find(|own| own.is_none()),
        };
        let own = place.ok_or(OwnError::NoRoom(N))?.get_or_insert(Own {
            gpu: *gpu,
            values,
            own: [false; PARAMETER_COUNT],
        });
        own.values = values;
        *flag(&mut own.own, name)? = true;
        Ok(())
    }

    fn give_up(&mut self, gpu: &Address, name: &str) -> Result<(), SetError> {
        let Some(own) = self.gpus.iter_mut().flatten().find(|own| own.gpu == *gpu) else {
            let known = PARAMETERS.iter().any(|known| *known == name);
            return if known {
                Ok(())
            } else {
                Err(SetError::Unknown)
            };
        };
        own.values.take(name, &self.all)?;
        *flag(&mut own.own, name)? = false;
        if own.own.iter().all(|own| !*own) {
            self.forget(gpu);
        }
        Ok(())
    }

    /// Forgets a GPU, whose place the last one takes.
    fn forget(&mut self, gpu: &Address) {
        let mut used = self.gpus.iter_mut().rev().skip_while(|own| own.is_none());
        let last = used.next().and_then(Option::take);
        if let Some(place) = self.gpus.iter_mut().find(|own| is(own, gpu)) {
            *place = last;
        }
    }

    fn find(&self, gpu: &Address) -> Option<&Own<V>> {
        let mut used = self.gpus.iter().map_while(Option::as_ref);
        used.find(|own| own.gpu == *gpu)
    }
}

fn is<V>(own: &Option<Own<V>>, gpu: &Address) -> bool {
    own.as_ref().is_some_and(|own| own.gpu == *gpu)
}

/// Whether the value of a parameter is the GPU's own.
fn flag<'o>(own: &'o mut [bool; PARAMETER_COUNT], name: &str) -> Result<&'o mut bool, SetError> {
    let mut named = PARAMETERS.iter().zip(own.iter_mut());
    let found = named.find(|(known, _)| **known == name);
    found.map(|(_, own)| own).ok_or(SetError::Unknown)
}
