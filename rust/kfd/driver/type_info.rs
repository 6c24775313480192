// SPDX-License-Identifier: GPL-2.0-only

//! The type information (BTF) of a driver and of the kernel, read from bytes that
//! nobody vouches for.
//!
//! Every read is within bounds, every number of a type and every place of a name is
//! looked up, and every loop has an end, so that any bytes at all come to an answer or
//! to a [`Damage`]. Nothing is allocated: the caller gives the room for the places of
//! the types. Pure, so that the host tests it as it is.
//!
//! The format is that of the kernel's `Documentation/bpf/btf.rst`. A module's own goes
//! on, in the numbers of types and the places of names, where the kernel's ends.

#![forbid(unsafe_code)]

const MAGIC: [u8; 2] = [0x9f, 0xeb];
const VERSION: u8 = 1;
const HEADER_LEN: usize = 24;
/// As many names for one type, or pointers in a row, as no compiler makes.
pub(crate) const MOST_STEPS: usize = 32;
/// Structures without a name within one another; each takes a little stack.
const MOST_NESTING: usize = 8;
/// Members that are looked at for one field, of which the largest structure has a
/// thousand.
const MOST_MEMBERS: u32 = 100_000;

/// What is wrong with type information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    Header,
    CutOff,
    Kind,
    Name,
    Number,
    Loop,
    Size,
}

impl Damage {
    /// In words.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Damage::Header => "it does not begin as type information does",
            Damage::CutOff => "a type is cut off",
            Damage::Kind => "a type is of an unknown kind",
            Damage::Name => "a name is not among the names",
            Damage::Number => "a type is not among the types",
            Damage::Loop => "a type is made of itself",
            Damage::Size => "a type has no size",
        }
    }
}

/// What a type is, as far as offsets and sizes depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    Float,
    Pointer,
    Array,
    Composite,
    Enum,
    Enum64,
    /// A typedef, a qualifier or a tag: another name for a type.
    Alias,
    Function,
    Prototype,
    Other,
}

/// What a name may be the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A structure or a union.
    Structure,
    Enumeration,
    Function,
}

/// The fixed part of a type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    pub(crate) name: u32,
    /// How many members, values or parameters it has.
    pub(crate) count: usize,
    /// How many words it has beyond the fixed part.
    length: usize,
    flag: bool,
    /// A size or another type, by the kind.
    pub(crate) of: u32,
    /// Where the kind's own words are.
    words: usize,
}

/// A field that was found, or an array's element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    bit: u64,
    id: u32,
    /// It is a part of a word.
    narrow: bool,
}

/// The two parts of type information, and how many types there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sections<'a> {
    types: &'a [u8],
    names: &'a [u8],
    count: usize,
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at.checked_add(4)?)?;
    bytes.try_into().ok().map(u32::from_le_bytes)
}

fn section(data: &[u8], start: u32, length: u32) -> Option<&[u8]> {
    let start = usize::try_from(start).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    data.get(start..end)
}

impl<'a> Sections<'a> {
    /// Takes type information apart.
    pub(crate) fn of(data: &'a [u8]) -> Result<Self, Damage> {
        let (types, names) = Self::split(data).ok_or(Damage::Header)?;
        let mut sections = Self {
            types,
            names,
            count: 0,
        };
        let mut count = 0usize;
        sections.each(|_| count = count.saturating_add(1))?;
        sections.count = count;
        Ok(sections)
    }

    fn split(data: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        if data.get(..2)? != MAGIC || *data.get(2)? != VERSION {
            return None;
        }
        let header = usize::try_from(word(data, 4)?).ok()?;
        if header < HEADER_LEN {
            return None;
        }
        let body = data.get(header..)?;
        let types = section(body, word(data, 8)?, word(data, 12)?)?;
        let names = section(body, word(data, 16)?, word(data, 20)?)?;
        (names.last() == Some(&0)).then_some((types, names))
    }

    /// How many types there are: so much room does [`TypeInfo::new`] need.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Calls a function for the place of each type.
    fn each(&self, mut place: impl FnMut(u32)) -> Result<(), Damage> {
        let mut at = 0usize;
        while at < self.types.len() {
            place(u32::try_from(at).map_err(|_| Damage::CutOff)?);
            let ty = self.type_at(at)?;
            let end = ty
                .length
                .checked_mul(4)
                .and_then(|own| ty.words.checked_add(own));
            at = end.ok_or(Damage::CutOff)?;
        }
        if at == self.types.len() {
            Ok(())
        } else {
            Err(Damage::CutOff)
        }
    }

    fn type_at(&self, at: usize) -> Result<Type, Damage> {
        let word = |index: usize| {
            let at = at.checked_add(index).ok_or(Damage::CutOff)?;
            word(self.types, at).ok_or(Damage::CutOff)
        };
        let (name, info, of) = (word(0)?, word(4)?, word(8)?);
        let count = usize::try_from(info & 0xffff).unwrap_or(0);
        let (kind, length) = match (info >> 24) & 0x1f {
            1 => (Kind::Integer, 1),
            2 => (Kind::Pointer, 0),
            3 => (Kind::Array, 3),
            4 | 5 => (Kind::Composite, count.saturating_mul(3)),
            6 => (Kind::Enum, count.saturating_mul(2)),
            8..=11 | 18 => (Kind::Alias, 0),
            12 => (Kind::Function, 0),
            13 => (Kind::Prototype, count.saturating_mul(2)),
            7 => (Kind::Other, 0),
            14 | 17 => (Kind::Other, 1),
            15 => (Kind::Other, count.saturating_mul(3)),
            16 => (Kind::Float, 0),
            19 => (Kind::Enum64, count.saturating_mul(3)),
            _ => return Err(Damage::Kind),
        };
        Ok(Type {
            kind,
            name,
            count,
            length,
            flag: info >> 31 == 1,
            of,
            words: at.saturating_add(12),
        })
    }
}

impl Type {
    fn class(&self) -> Option<Class> {
        match self.kind {
            Kind::Composite => Some(Class::Structure),
            Kind::Enum | Kind::Enum64 => Some(Class::Enumeration),
            Kind::Function => Some(Class::Function),
            _ => None,
        }
    }
}

/// Type information that goes on from that of the kernel, or the kernel's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeInfo<'a> {
    sections: Sections<'a>,
    /// Where each type is.
    places: &'a [u32],
    base: Option<&'a TypeInfo<'a>>,
    first_type: u32,
    first_name: u32,
}

impl<'a> TypeInfo<'a> {
    /// The type information in `sections`, which goes on from `base` if there is one.
    /// There has to be room for the place of each type.
    pub(crate) fn new(
        sections: Sections<'a>,
        places: &'a mut [u32],
        base: Option<&'a TypeInfo<'a>>,
    ) -> Result<Self, Damage> {
        let mut room = places.iter_mut();
        let mut full = false;
        sections.each(|at| match room.next() {
            Some(place) => *place = at,
            None => full = true,
        })?;
        if full {
            return Err(Damage::CutOff);
        }
        let after = |first: u32, count: usize| {
            let count = u32::try_from(count).ok();
            count.and_then(|count| first.checked_add(count))
        };
        let (first_type, first_name) = match base {
            None => (Some(1), Some(0)),
            Some(base) => (
                after(base.first_type, base.sections.count),
                after(base.first_name, base.sections.names.len()),
            ),
        };
        Ok(Self {
            sections,
            places,
            base,
            first_type: first_type.ok_or(Damage::Number)?,
            first_name: first_name.ok_or(Damage::Name)?,
        })
    }

    /// The type information that this goes on from.
    pub(crate) fn base(&self) -> Option<&'a TypeInfo<'a>> {
        self.base
    }

    /// Calls a function for each structure, enumeration and function, but for those of
    /// the base, until it fails.
    pub(crate) fn each_named<E: From<Damage>>(
        &self,
        mut named: impl FnMut(Class, &[u8], u32) -> Result<(), E>,
    ) -> Result<(), E> {
        for (&place, id) in self.places.iter().zip(self.first_type..) {
            let at = usize::try_from(place).map_err(|_| Damage::CutOff)?;
            let ty = self.sections.type_at(at)?;
            if let Some(class) = ty.class() {
                named(class, self.name(ty.name)?, id)?;
            }
        }
        Ok(())
    }

    /// A type, and the information that it is in.
    fn get(&self, id: u32) -> Result<(&Self, Type), Damage> {
        let Some(index) = id.checked_sub(self.first_type) else {
            let base = self.base.ok_or(Damage::Number)?;
            return base.get(id);
        };
        let place = usize::try_from(index)
            .ok()
            .and_then(|index| self.places.get(index));
        let at = place.and_then(|&at| usize::try_from(at).ok());
        let ty = self.sections.type_at(at.ok_or(Damage::Number)?)?;
        Ok((self, ty))
    }

    /// A name, which may be one of the base's.
    pub(crate) fn name(&self, at: u32) -> Result<&'a [u8], Damage> {
        let Some(own) = at.checked_sub(self.first_name) else {
            return self.base.ok_or(Damage::Name)?.name(at);
        };
        let own = usize::try_from(own).map_err(|_| Damage::Name)?;
        let rest = self.sections.names.get(own..).ok_or(Damage::Name)?;
        let end = rest.iter().position(|&byte| byte == 0);
        end.and_then(|end| rest.get(..end)).ok_or(Damage::Name)
    }

    /// A word that a type has beyond the fixed part.
    pub(crate) fn own_word(&self, ty: &Type, index: usize) -> Result<u32, Damage> {
        let at = index.checked_mul(4).and_then(|at| ty.words.checked_add(at));
        at.and_then(|at| word(self.sections.types, at))
            .ok_or(Damage::CutOff)
    }

    /// The type behind all other names of a type; `None` is `void`.
    pub(crate) fn behind(&self, id: u32) -> Result<Option<(&Self, Type)>, Damage> {
        let mut id = id;
        for _ in 0..MOST_STEPS {
            if id == 0 {
                return Ok(None);
            }
            let (info, ty) = self.get(id)?;
            if ty.kind != Kind::Alias {
                return Ok(Some((info, ty)));
            }
            id = ty.of;
        }
        Err(Damage::Loop)
    }

    /// The bytes that a value of a type takes.
    pub(crate) fn size(&self, id: u32) -> Result<u64, Damage> {
        match self.elements(id)? {
            Some((size, count)) => size.checked_mul(count).ok_or(Damage::Size),
            None => self.size_of_one(id),
        }
    }

    fn size_of_one(&self, id: u32) -> Result<u64, Damage> {
        match self.behind(id)? {
            Some((_, ty)) => match ty.kind {
                Kind::Pointer => Ok(8),
                Kind::Integer | Kind::Float | Kind::Composite | Kind::Enum | Kind::Enum64 => {
                    Ok(u64::from(ty.of))
                }
                _ => Err(Damage::Size),
            },
            None => Err(Damage::Size),
        }
    }

    /// The size of an element of an array, and how many there are in all dimensions
    /// together.
    pub(crate) fn elements(&self, id: u32) -> Result<Option<(u64, u64)>, Damage> {
        let (mut id, mut count) = (id, None);
        for _ in 0..MOST_STEPS {
            match self.behind(id)? {
                Some((info, ty)) if ty.kind == Kind::Array => {
                    let more = u64::from(info.own_word(&ty, 2)?);
                    let all = count.unwrap_or(1u64).checked_mul(more);
                    count = Some(all.ok_or(Damage::Size)?);
                    id = info.own_word(&ty, 0)?;
                }
                _ => {
                    let Some(count) = count else {
                        return Ok(None);
                    };
                    return Ok(Some((self.size_of_one(id)?, count)));
                }
            }
        }
        Err(Damage::Loop)
    }

    /// The field of a structure that a path such as `virt.caps` leads to.
    pub(crate) fn field(&self, id: u32, path: &str) -> Result<Option<Field>, Damage> {
        let mut budget = MOST_MEMBERS;
        let mut place = Field {
            bit: 0,
            id,
            narrow: false,
        };
        for name in path.split('.') {
            let inside = self.member(place.id, name.as_bytes(), MOST_NESTING, &mut budget)?;
            let Some(inside) = inside else {
                return Ok(None);
            };
            place = Field {
                bit: place.bit.saturating_add(inside.bit),
                ..inside
            };
        }
        Ok(Some(place))
    }

    /// A member by its name, also within members without a name.
    fn member(
        &self,
        id: u32,
        name: &[u8],
        nesting: usize,
        budget: &mut u32,
    ) -> Result<Option<Field>, Damage> {
        let Some((info, ty)) = self.behind(id)? else {
            return Ok(None);
        };
        if ty.kind != Kind::Composite {
            return Ok(None);
        }
        let nesting = nesting.checked_sub(1).ok_or(Damage::Loop)?;
        for index in 0..ty.count {
            *budget = budget.checked_sub(1).ok_or(Damage::Loop)?;
            let first = index.saturating_mul(3);
            let id = info.own_word(&ty, first.saturating_add(1))?;
            let offset = info.own_word(&ty, first.saturating_add(2))?;
            let (bit, width) = match ty.flag {
                true => (offset & 0xff_ffff, offset >> 24),
                false => (offset, 0),
            };
            let here = Field {
                bit: u64::from(bit),
                id,
                narrow: width != 0,
            };
            let its = info.name(info.own_word(&ty, first)?)?;
            if its == name {
                return Ok(Some(here));
            }
            if its.is_empty() {
                if let Some(inside) = self.member(id, name, nesting, budget)? {
                    let bit = here.bit.saturating_add(inside.bit);
                    return Ok(Some(Field { bit, ..inside }));
                }
            }
        }
        Ok(None)
    }

    /// The value that an enumeration gives to a name.
    pub(crate) fn value(&self, id: u32, name: &str) -> Result<Option<i64>, Damage> {
        let (info, ty) = self.get(id)?;
        let step = if ty.kind == Kind::Enum64 { 3 } else { 2 };
        for index in 0..ty.count {
            let first = index.saturating_mul(step);
            if info.name(info.own_word(&ty, first)?)? != name.as_bytes() {
                continue;
            }
            let low = info.own_word(&ty, first.saturating_add(1))?;
            return Ok(Some(match ty.kind {
                Kind::Enum64 => {
                    let high = info.own_word(&ty, first.saturating_add(2))?;
                    ((u64::from(high) << 32) | u64::from(low)) as i64
                }
                _ if ty.flag => i64::from(low as i32),
                _ => i64::from(low),
            }));
        }
        Ok(None)
    }
}

impl Field {
    /// Where it begins, unless within a byte.
    pub(crate) fn offset(&self) -> Option<u64> {
        let whole = !self.narrow && self.bit % 8 == 0;
        whole.then_some(self.bit / 8)
    }

    /// Its type.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }
}
