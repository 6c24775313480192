// SPDX-License-Identifier: GPL-2.0-only

//! What a function is like, compared with how `fields.rs` spells it. Pure,
//! like the type information that it is found in.

#![forbid(unsafe_code)]

use super::type_info::{Damage, Kind, Type, TypeInfo, MOST_STEPS};

impl TypeInfo<'_> {
    /// What a function, or a field that points to one, is like.
    pub(crate) fn prototype(&self, id: u32) -> Result<Option<Prototype<'_>>, Damage> {
        match self.behind(id)? {
            Some((info, ty)) if matches!(ty.kind, Kind::Function | Kind::Pointer) => {
                match info.behind(ty.of)? {
                    Some((info, ty)) if ty.kind == Kind::Prototype => {
                        Ok(Some(Prototype { info, ty, of: self }))
                    }
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }
}

/// What a function is like.
pub(crate) struct Prototype<'a> {
    info: &'a TypeInfo<'a>,
    ty: Type,
    of: &'a TypeInfo<'a>,
}

impl Prototype<'_> {
    /// Whether it is spelled so: `int(device_queue_manager *)`, without qualifiers and
    /// the names of typedefs, and structures by their bare names.
    pub(crate) fn is(&self, spelling: &str) -> Result<bool, Damage> {
        let mut left = Left(Some(spelling.as_bytes()));
        self.spell(self.ty.of, &mut left)?;
        left.eat(b"(");
        for index in 0..self.ty.count {
            if index > 0 {
                left.eat(b", ");
            }
            let parameter = index.saturating_mul(2).saturating_add(1);
            self.spell(self.info.own_word(&self.ty, parameter)?, &mut left)?;
        }
        left.eat(b")");
        Ok(left.0 == Some(&[]))
    }

    /// Takes the spelling of a type off what is left. Pointers and arrays are written
    /// behind what they are of, in the order from there.
    fn spell(&self, id: u32, left: &mut Left<'_>) -> Result<(), Damage> {
        let mut behind = [Kind::Other; MOST_STEPS];
        let mut steps = 0usize;
        let mut starred = false;
        let mut id = id;
        loop {
            let Some((info, ty)) = self.of.behind(id)? else {
                left.eat(b"void");
                break;
            };
            let is_function = |id| {
                let target = info.behind(id)?;
                Ok(target.is_some_and(|(_, ty)| ty.kind == Kind::Prototype))
            };
            match ty.kind {
                Kind::Pointer if is_function(ty.of)? => {
                    left.eat(b"function *");
                    starred = true;
                    break;
                }
                Kind::Pointer => id = ty.of,
                Kind::Array => id = info.own_word(&ty, 0)?,
                Kind::Prototype => {
                    left.eat(b"function");
                    break;
                }
                _ => {
                    let name = info.name(ty.name)?;
                    left.eat(if name.is_empty() {
                        b"(anonymous)"
                    } else {
                        as_gcc_names(name)
                    });
                    break;
                }
            }
            *behind.get_mut(steps).ok_or(Damage::Loop)? = ty.kind;
            steps = steps.saturating_add(1);
        }
        for kind in behind.iter().take(steps).rev() {
            match (kind, starred) {
                (Kind::Array, _) => left.eat(b"[]"),
                (_, true) => left.eat(b"*"),
                (_, false) => left.eat(b" *"),
            }
            starred = *kind == Kind::Pointer;
        }
        Ok(())
    }
}

/// The name of a type as gcc gives it, where clang gives an integer another.
pub(crate) fn as_gcc_names(name: &[u8]) -> &[u8] {
    match name {
        b"short" => b"short int",
        b"unsigned short" => b"short unsigned int",
        b"long" => b"long int",
        b"unsigned long" => b"long unsigned int",
        b"long long" => b"long long int",
        b"unsigned long long" => b"long long unsigned int",
        name => name,
    }
}

/// What is left of a spelling; `None` once it was another.
struct Left<'a>(Option<&'a [u8]>);

impl Left<'_> {
    fn eat(&mut self, text: &[u8]) {
        self.0 = self.0.and_then(|left| left.strip_prefix(text));
    }
}
