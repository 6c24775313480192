// SPDX-License-Identifier: GPL-2.0-only

//! Looks up each line of the list in the type information.
//!
//! A module often holds the same structure several times.  All definitions must
//! agree on everything that is asked of them, or the answer would depend on which
//! one is taken.

use std::collections::HashSet;

use crate::btf::{Btf, Kind, TypeId};
use crate::expected::{Expected, Fact};
use crate::fields::{Entry, Extent, Item, Part};
use crate::layout::{Constant, Layout, Value};
use crate::type_info::Class;

/// Anonymous members nested deeper than this are a loop.
const MAX_NESTING: usize = 16;
/// Members looked at for one field.  The largest real structure, with its
/// anonymous members, has about a thousand.
const MAX_MEMBERS: usize = 1_000_000;

/// A field found: where, and of which type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    bit_offset: u64,
    type_id: TypeId,
}

/// Resolves the whole list, or says everything that is wrong with it.
pub fn resolve<'a>(btf: &Btf<'_>, list: &[Entry<'a>]) -> Result<Layout<'a>, String> {
    let mut constants: Vec<Constant> = Vec::new();
    let mut expected = Vec::new();
    let mut direct = Vec::new();
    let mut errors = Vec::new();
    for entry in list {
        match (resolve_entry(btf, entry), entry.part) {
            (Ok((found, facts)), Part::Whole) => {
                constants.extend(found);
                expected.extend(facts);
            }
            (resolved, Part::Direct) => {
                let (found, facts) = resolved.unwrap_or_else(|_| unlike(entry));
                constants.extend(found.into_iter().map(|constant| Constant {
                    value: constant.value.optional(),
                    ..constant
                }));
                direct.extend(facts);
            }
            (Err(error), Part::Whole) => errors.push(error),
        }
    }
    expected.sort_by_key(Expected::order);
    direct.sort_by_key(Expected::order);
    let mut names = HashSet::new();
    for constant in &constants {
        if !names.insert(constant.name.as_str()) {
            errors.push(format!(
                "two lines of the list give the constant {}",
                constant.name
            ));
        }
    }
    if !errors.is_empty() {
        return Err(format!(
            "the layout is not the one expected:\n  {}",
            errors.join("\n  ")
        ));
    }
    Ok(Layout {
        constants,
        expected,
        direct,
    })
}

/// What a line comes to of which the driver is not as expected: no constant, and what the
/// list says about it, which that driver will not fit either.
fn unlike<'a>(entry: &Entry<'a>) -> Resolved<'a> {
    match entry.item {
        Item::Struct { name, size } => {
            let constant = Constant {
                name: constant_name(&[name, "size"]),
                meaning: format!("Bytes of `struct {name}`."),
                value: Value::OptionalAmount(None),
            };
            let fact = Fact::Bytes(size.unwrap_or(0));
            (vec![constant], about(Class::Structure, name, fact))
        }
        Item::Field {
            owner,
            path,
            extent,
        } => {
            let fact = Fact::Field {
                path,
                offset: u64::MAX,
                bytes: 0,
                elements: None,
            };
            (
                absent(owner, path, extent),
                about(Class::Structure, owner, fact),
            )
        }
        Item::Enumerator { owner, name, value } => {
            let constant = Constant {
                name: constant_name(&[name]),
                meaning: format!("Of `enum {owner}`."),
                value: Value::OptionalEnumerator(None),
            };
            let fact = Fact::Value(name, value.unwrap_or(i64::MIN));
            (vec![constant], about(Class::Enumeration, owner, fact))
        }
        Item::Pointer {
            owner,
            path,
            signature,
        } => (
            absent(owner, path, Extent::Bytes(8)),
            about(Class::Structure, owner, Fact::Pointer { path, signature }),
        ),
        Item::Function { name, signature } => (
            Vec::new(),
            about(Class::Function, name, Fact::Signature(signature)),
        ),
    }
}

fn constant_name(parts: &[&str]) -> String {
    parts.join("_").replace('.', "_").to_ascii_uppercase()
}

/// What a line of the list comes to.
type Resolved<'a> = (Vec<Constant>, Vec<Expected<'a>>);

fn about<'a>(class: Class, owner: &'a str, fact: Fact<'a>) -> Vec<Expected<'a>> {
    vec![Expected { class, owner, fact }]
}

fn resolve_entry<'a>(btf: &Btf<'_>, entry: &Entry<'a>) -> Result<Resolved<'a>, String> {
    let optional = entry.optional;
    match entry.item {
        Item::Struct { name, size } => {
            let found = agree(btf, name, |id| btf.size(id).map(Some))
                .map_err(|e| format!("struct {name}: {e}"))?;
            if found.is_none() && !optional {
                return Err(format!("struct {name} is missing"));
            }
            expect(found, size).map_err(|e| format!("struct {name} {e}"))?;
            let constant = Constant {
                name: constant_name(&[name, "size"]),
                meaning: format!("Bytes of `struct {name}`."),
                value: amount(found, optional),
            };
            let fact = found.map(|bytes| about(Class::Structure, name, Fact::Bytes(bytes)));
            Ok((vec![constant], fact.unwrap_or_default()))
        }
        Item::Field {
            owner,
            path,
            extent,
        } => resolve_field(btf, owner, path, extent, optional)
            .map_err(|e| format!("{owner}.{path} {e}")),
        Item::Enumerator { owner, name, value } => {
            let (constants, value) = resolve_enumerator(btf, owner, name, value, optional)
                .map_err(|e| format!("enum {owner}: {name} {e}"))?;
            let fact =
                value.map(|value| about(Class::Enumeration, owner, Fact::Value(name, value)));
            Ok((constants, fact.unwrap_or_default()))
        }
        Item::Pointer {
            owner,
            path,
            signature,
        } => {
            let (constants, mut facts) = resolve_field(btf, owner, path, Extent::Bytes(8), false)
                .map_err(|e| format!("{owner}.{path} {e}"))?;
            let found = agree(btf, owner, |id| match walk(btf, id, path)? {
                Some(place) => btf.signature(place.type_id),
                None => Ok(None),
            });
            same_signature(found, signature).map_err(|e| format!("{owner}.{path} {e}"))?;
            let fact = Fact::Pointer { path, signature };
            facts.extend(about(Class::Structure, owner, fact));
            Ok((constants, facts))
        }
        Item::Function { name, signature } => {
            let found = all_equal(btf.functions(name), |id| btf.signature(id));
            same_signature(found, signature).map_err(|e| format!("function {name} {e}"))?;
            let fact = Fact::Signature(signature);
            Ok((Vec::new(), about(Class::Function, name, fact)))
        }
    }
}

fn same_signature(found: Result<Option<String>, String>, expected: &str) -> Result<(), String> {
    match found.map_err(|e| format!("cannot be read: {e}"))? {
        None => Err("is missing, or is no function".into()),
        Some(found) if found != expected => Err(format!("is {found}, expected is {expected}")),
        Some(_) => Ok(()),
    }
}

fn expect(found: Option<u64>, expected: Option<u64>) -> Result<(), String> {
    match (found, expected) {
        (Some(found), Some(expected)) if found != expected => {
            Err(format!("has {found} bytes, expected are {expected}"))
        }
        _ => Ok(()),
    }
}

fn amount(value: Option<u64>, optional: bool) -> Value {
    match value {
        Some(value) if !optional => Value::Amount(value),
        value => Value::OptionalAmount(value),
    }
}

/// The one answer that all types give, `None` where there is no type.
fn all_equal<T: PartialEq>(
    types: &[TypeId],
    ask: impl Fn(TypeId) -> Result<Option<T>, String>,
) -> Result<Option<T>, String> {
    let Some((&first, others)) = types.split_first() else {
        return Ok(None);
    };
    let answer = ask(first)?;
    for &other in others {
        if ask(other)? != answer {
            return Err(format!(
                "its definitions disagree (BTF types {first} and {other})"
            ));
        }
    }
    Ok(answer)
}

fn agree<T: PartialEq>(
    btf: &Btf<'_>,
    name: &str,
    ask: impl Fn(TypeId) -> Result<Option<T>, String>,
) -> Result<Option<T>, String> {
    all_equal(btf.structs(name), ask)
}

/// What is compared between the definitions of a structure: type ids differ
/// between copies of one type, offsets and sizes may not.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    offset: u64,
    size: u64,
    /// Size and number of the elements, where it is an array.
    array: Option<(u64, u64)>,
}

fn shape(btf: &Btf<'_>, place: Place) -> Result<Shape, String> {
    if place.bit_offset % 8 != 0 {
        return Err("does not start at a byte".into());
    }
    let array = match btf.flat_array(place.type_id)? {
        Some((element, count)) => Some((btf.size(element)?, count)),
        None => None,
    };
    Ok(Shape {
        offset: place.bit_offset / 8,
        size: btf.size(place.type_id)?,
        array,
    })
}

fn resolve_field<'a>(
    btf: &Btf<'_>,
    owner: &'a str,
    path: &'a str,
    extent: Extent,
    optional: bool,
) -> Result<Resolved<'a>, String> {
    if btf.structs(owner).is_empty() && !optional {
        return Err(format!("is missing: there is no struct {owner}"));
    }
    let found = agree(btf, owner, |id| match walk(btf, id, path)? {
        Some(place) => shape(btf, place).map(Some),
        None => Ok(None),
    })?;
    let Some(found) = found else {
        return if optional {
            let fact = about(Class::Structure, owner, Fact::NoField(path));
            Ok((absent(owner, path, extent), fact))
        } else {
            Err("is missing".into())
        };
    };

    let name = constant_name(&[owner, path]);
    let mut constants = vec![Constant {
        meaning: format!("Offset of `{owner}.{path}`, {} bytes.", found.size),
        value: match optional {
            true => Value::OptionalOffset(Some(found.offset)),
            false => Value::Offset(found.offset),
        },
        name: name.clone(),
    }];
    match extent {
        Extent::Bytes(expected) => expect(Some(found.size), Some(expected))?,
        Extent::Open => constants.push(Constant {
            name: name + "_BYTES",
            meaning: format!("Bytes of `{owner}.{path}`."),
            value: amount(Some(found.size), optional),
        }),
        Extent::Array { element, count } => {
            let (size, found) = found.array.ok_or("is no array")?;
            if size != element {
                return Err(format!(
                    "has elements of {size} bytes, expected are {element}"
                ));
            }
            if count.is_some_and(|count| count != found) {
                return Err(format!(
                    "has {found} elements, expected are {}",
                    count.unwrap_or(0)
                ));
            }
            constants.push(Constant {
                name: name + "_LEN",
                meaning: format!("Elements of `{owner}.{path}`, all dimensions together."),
                value: amount(Some(found), optional),
            });
        }
    }
    let fact = Fact::Field {
        path,
        offset: found.offset,
        bytes: found.size,
        elements: found.array,
    };
    Ok((constants, about(Class::Structure, owner, fact)))
}

fn absent(owner: &str, path: &str, extent: Extent) -> Vec<Constant> {
    let name = constant_name(&[owner, path]);
    let suffix = match extent {
        Extent::Bytes(_) => None,
        Extent::Open => Some("_BYTES"),
        Extent::Array { .. } => Some("_LEN"),
    };
    let meaning = format!("`{owner}.{path}`, which this kernel does not have.");
    let mut constants = vec![Constant {
        name: name.clone(),
        meaning: meaning.clone(),
        value: Value::OptionalOffset(None),
    }];
    constants.extend(suffix.map(|suffix| Constant {
        name: name + suffix,
        meaning,
        value: Value::OptionalAmount(None),
    }));
    constants
}

fn resolve_enumerator(
    btf: &Btf<'_>,
    owner: &str,
    name: &str,
    expected: Option<i64>,
    optional: bool,
) -> Result<(Vec<Constant>, Option<i64>), String> {
    let found = all_equal(btf.enums(owner), |id| btf.enumerator(id, name))?;
    let value = match (found, optional) {
        (None, false) => return Err("is missing".into()),
        (Some(value), false) => Value::Enumerator(value),
        (value, true) => Value::OptionalEnumerator(value),
    };
    match (found, expected) {
        (Some(found), Some(expected)) if found != expected => {
            return Err(format!("is {found}, expected is {expected}"));
        }
        _ => {}
    }
    let name = constant_name(&[name]);
    let constant = Constant {
        name,
        meaning: format!("Of `enum {owner}`."),
        value,
    };
    Ok((vec![constant], found))
}

/// Follows a dotted path through the structure `id`.
fn walk(btf: &Btf<'_>, id: TypeId, path: &str) -> Result<Option<Place>, String> {
    let mut budget = MAX_MEMBERS;
    let mut place = Place {
        bit_offset: 0,
        type_id: id,
    };
    for name in path.split('.') {
        let inside = find(btf, place.type_id, name, MAX_NESTING, &mut budget)?;
        let Some(inside) = inside else {
            return Ok(None);
        };
        place.bit_offset += inside.bit_offset;
        place.type_id = inside.type_id;
    }
    Ok(Some(place))
}

/// Finds a member by its name, in anonymous members too.
fn find(
    btf: &Btf<'_>,
    id: TypeId,
    name: &str,
    depth: usize,
    budget: &mut usize,
) -> Result<Option<Place>, String> {
    if !matches!(btf.kind(id)?, Some(Kind::Struct | Kind::Union)) {
        return Ok(None);
    }
    let looped = || format!("cannot be found: type {id} nests anonymous members without end");
    let depth = depth.checked_sub(1).ok_or_else(looped)?;
    for member in btf.members(btf.strip(id)?)? {
        *budget = budget.checked_sub(1).ok_or_else(looped)?;
        let member = member?;
        let here = Place {
            bit_offset: member.bit_offset.into(),
            type_id: member.type_id,
        };
        if member.name == name {
            if member.bits != 0 {
                return Err("is a bit-field, which has no offset".into());
            }
            return Ok(Some(here));
        }
        if member.name.is_empty() {
            if let Some(inside) = find(btf, member.type_id, name, depth, budget)? {
                let bit_offset = here.bit_offset + inside.bit_offset;
                return Ok(Some(Place {
                    bit_offset,
                    ..inside
                }));
            }
        }
    }
    Ok(None)
}
