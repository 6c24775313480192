// SPDX-License-Identifier: GPL-2.0-only

//! How types and the signatures of functions are spelled, to be compared with what
//! the shim expects.

use super::{Btf, Kind, TypeId, MAX_CHAIN};
use crate::prototype::as_gcc_names;

impl Btf<'_> {
    /// The type as C would write it, qualifiers and names of typedefs left out.
    /// Structures go by their name, so that `struct queue *` is `queue *`.
    pub fn spelling(&self, id: TypeId) -> Result<String, String> {
        self.spelling_within(id, MAX_CHAIN)
    }

    fn spelling_within(&self, id: TypeId, depth: usize) -> Result<String, String> {
        let depth = depth.checked_sub(1);
        let depth = depth.ok_or(format!("damaged BTF: a loop of pointers at type {id}"))?;
        let id = self.strip(id)?;
        if id == 0 {
            return Ok("void".into());
        }
        let (owner, ty) = self.owner(id)?;
        match ty.kind {
            Kind::Pointer => match self.prototype_of(ty.size_or_type)? {
                // One function pointer taken by another is not spelt out.
                Some(_) => Ok("function *".into()),
                None => {
                    let target = self.spelling_within(ty.size_or_type, depth)?;
                    let space = if target.ends_with('*') { "" } else { " " };
                    Ok(format!("{target}{space}*"))
                }
            },
            Kind::Array => Ok(format!(
                "{}[]",
                self.spelling_within(self.array(id)?.0, depth)?
            )),
            Kind::Prototype => Ok("function".into()),
            _ => {
                let name = owner.string(ty.name)?;
                Ok(if name.is_empty() {
                    "(anonymous)".into()
                } else {
                    String::from_utf8_lossy(as_gcc_names(name.as_bytes())).into()
                })
            }
        }
    }

    fn prototype_of(&self, id: TypeId) -> Result<Option<TypeId>, String> {
        let id = self.strip(id)?;
        Ok((id != 0 && self.owner(id)?.1.kind == Kind::Prototype).then_some(id))
    }

    /// How a function, or what a function pointer points to, is declared:
    /// `int(device_queue_manager *)`.
    pub fn signature(&self, id: TypeId) -> Result<Option<String>, String> {
        let id = self.strip(id)?;
        if id == 0 {
            return Ok(None);
        }
        let ty = self.owner(id)?.1;
        if !matches!(ty.kind, Kind::Function | Kind::Pointer) {
            return Ok(None);
        }
        let Some(prototype) = self.prototype_of(ty.size_or_type)? else {
            return Ok(None);
        };
        let (owner, ty) = self.owner(prototype)?;
        let mut parameters = Vec::new();
        for index in 0..ty.vlen {
            let [_name, parameter] = owner.words::<2>(ty, index)?;
            parameters.push(self.spelling(parameter)?);
        }
        Ok(Some(format!(
            "{}({})",
            self.spelling(ty.size_or_type)?,
            parameters.join(", ")
        )))
    }
}
