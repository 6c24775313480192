// SPDX-License-Identifier: GPL-2.0-only

//! BTF, the kernel's compact type information, read from untrusted bytes.
//!
//! Nothing in the data is believed: every read is bounds-checked, every type id
//! and every string offset is looked up, and nothing is allocated by a count
//! that the data claims.  Damaged data gives an error that says where.
//!
//! The format is that of the kernel's `Documentation/bpf/btf.rst`.  A module's
//! BTF is "split": its type ids and string offsets go on where those of its base
//! end.

mod spelling;

use std::collections::HashMap;

const MAGIC: u16 = 0xeb9f;
const HEADER_LEN: usize = 24;
/// As many typedefs, qualifiers and tags on one type as no compiler makes.
const MAX_CHAIN: usize = 64;

/// A type by its number, 0 being `void`.
pub type TypeId = u32;

/// The types of one kind by their name.
type Names<'a> = HashMap<&'a str, Vec<TypeId>>;

/// What a type is, so far as offsets and sizes depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Pointer,
    Array,
    Struct,
    Union,
    Enum,
    Enum64,
    Forward,
    /// Typedef, const, volatile, restrict and type tags: another name for a type.
    Alias,
    Function,
    Prototype,
    Float,
    /// Variables, sections and declaration tags, which no field has as its type.
    Other,
}

/// The fixed part of one type.
#[derive(Clone, Copy, Debug)]
pub struct Type {
    pub kind: Kind,
    name: u32,
    vlen: usize,
    kind_flag: bool,
    /// A size or another type's id, by the kind.
    size_or_type: u32,
    /// Where the kind's own data stand.
    payload: usize,
}

/// One member of a structure or union.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub name: &'a str,
    pub type_id: TypeId,
    pub bit_offset: u32,
    /// The width of a bit-field, 0 for an ordinary member.
    pub bits: u32,
}

/// The type information of a kernel or of a module, over its base.
#[derive(Debug)]
pub struct Btf<'a> {
    base: Option<&'a Btf<'a>>,
    types: Vec<Type>,
    type_data: &'a [u8],
    strings: &'a [u8],
    /// The number of the first own type.
    first_id: TypeId,
    /// The offset of the first own string.
    first_string: u32,
    structs: Names<'a>,
    enums: Names<'a>,
    functions: Names<'a>,
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn section<'a>(data: &'a [u8], start: usize, len: usize, what: &str) -> Result<&'a [u8], String> {
    let end = start.checked_add(len);
    end.and_then(|end| data.get(start..end)).ok_or(format!(
        "damaged BTF: the {what} section ({len} bytes at {start}) lies beyond the end of the data \
         ({} bytes)",
        data.len()
    ))
}

impl<'a> Btf<'a> {
    /// Reads all types of `data`, which goes on from `base` if there is one.
    pub fn parse(data: &'a [u8], base: Option<&'a Btf<'a>>) -> Result<Self, String> {
        let magic = data.get(..2).ok_or("not BTF: the data is empty")?;
        if magic == MAGIC.to_be_bytes() {
            return Err("BTF of a big-endian machine, which no MI300 host is".into());
        }
        if magic != MAGIC.to_le_bytes() {
            return Err(format!(
                "not BTF: it starts with {:02x}{:02x}",
                magic[0], magic[1]
            ));
        }
        let header = |at| u32_at(data, at).ok_or("damaged BTF: the header is cut off");
        if data.get(2) != Some(&1) {
            return Err("BTF of an unknown version: this program knows version 1".into());
        }
        let header_len = header(4)? as usize;
        if header_len < HEADER_LEN {
            return Err(format!("damaged BTF: a header of {header_len} bytes"));
        }
        let [type_off, type_len, string_off, string_len] = [8, 12, 16, 20].map(header);
        let body = data
            .get(header_len..)
            .ok_or("damaged BTF: the header is cut off")?;
        let type_data = section(body, type_off? as usize, type_len? as usize, "type")?;
        let strings = section(body, string_off? as usize, string_len? as usize, "string")?;
        if strings.last() != Some(&0) {
            return Err("damaged BTF: the string section does not end with a zero byte".into());
        }

        let mut btf = Btf {
            base,
            types: Vec::new(),
            type_data,
            strings,
            first_id: base.map_or(1, Btf::next_id),
            first_string: base.map_or(0, Btf::next_string),
            structs: HashMap::new(),
            enums: HashMap::new(),
            functions: HashMap::new(),
        };
        btf.read_types()?;
        btf.index_names()?;
        Ok(btf)
    }

    fn next_id(&self) -> TypeId {
        // A type takes 12 bytes at least, and a section has fewer than 2^32.
        self.first_id.saturating_add(self.types.len() as u32)
    }

    fn next_string(&self) -> u32 {
        self.first_string.saturating_add(self.strings.len() as u32)
    }

    fn read_types(&mut self) -> Result<(), String> {
        let mut at = 0;
        while at < self.type_data.len() {
            let id = self.next_id();
            let cut = || format!("damaged BTF: type {id} is cut off");
            let word = |i: usize| u32_at(self.type_data, at + 4 * i).ok_or_else(cut);
            let (name, info, size_or_type) = (word(0)?, word(1)?, word(2)?);
            let vlen = (info & 0xffff) as usize;
            let (kind, payload_len) = match (info >> 24) & 0x1f {
                1 => (Kind::Int, 4),
                2 => (Kind::Pointer, 0),
                3 => (Kind::Array, 12),
                4 => (Kind::Struct, 12 * vlen),
                5 => (Kind::Union, 12 * vlen),
                6 => (Kind::Enum, 8 * vlen),
                7 => (Kind::Forward, 0),
                8..=11 | 18 => (Kind::Alias, 0),
                12 => (Kind::Function, 0),
                13 => (Kind::Prototype, 8 * vlen),
                14 | 17 => (Kind::Other, 4),
                15 => (Kind::Other, 12 * vlen),
                16 => (Kind::Float, 0),
                19 => (Kind::Enum64, 12 * vlen),
                other => {
                    return Err(format!(
                        "type {id} is of kind {other}, which is not known here"
                    ))
                }
            };
            let payload = at + 12;
            at = payload + payload_len;
            if at > self.type_data.len() {
                return Err(cut());
            }
            let kind_flag = info >> 31 == 1;
            self.types.push(Type {
                kind,
                name,
                vlen,
                kind_flag,
                size_or_type,
                payload,
            });
        }
        Ok(())
    }

    fn index_names(&mut self) -> Result<(), String> {
        for (index, ty) in self.types.iter().enumerate() {
            let map = match ty.kind {
                Kind::Struct | Kind::Union => &mut self.structs,
                Kind::Enum | Kind::Enum64 => &mut self.enums,
                Kind::Function => &mut self.functions,
                _ => continue,
            };
            let id = self.first_id.saturating_add(index as u32);
            let name = string(self.base, self.strings, self.first_string, ty.name)
                .map_err(|e| format!("{e}, in type {id}"))?;
            map.entry(name).or_default().push(id);
        }
        Ok(())
    }

    /// All definitions of the structure or union `name`: the module's own, or
    /// the base's where the module has none.
    pub fn structs(&self, name: &str) -> &[TypeId] {
        self.own_or_base(name, |btf| &btf.structs)
    }

    /// All definitions of the enumeration `name`, likewise.
    pub fn enums(&self, name: &str) -> &[TypeId] {
        self.own_or_base(name, |btf| &btf.enums)
    }

    /// All functions of that name that the module itself has.
    pub fn functions(&self, name: &str) -> &[TypeId] {
        self.functions.get(name).map_or(&[], Vec::as_slice)
    }

    fn own_or_base<'b>(&'b self, name: &str, map: fn(&'b Self) -> &'b Names<'a>) -> &'b [TypeId] {
        let found = map(self).get(name).or_else(|| map(self.base?).get(name));
        found.map_or(&[], Vec::as_slice)
    }

    /// The type of that number, and the BTF that holds it.
    fn owner(&self, id: TypeId) -> Result<(&Btf<'a>, &Type), String> {
        let index = id.checked_sub(self.first_id);
        match (index, self.base) {
            (Some(index), _) => {
                let found = self.types.get(index as usize).map(|ty| (self, ty));
                found.ok_or(format!("damaged BTF: there is no type {id}"))
            }
            (None, Some(base)) => base.owner(id),
            (None, None) => Err(format!(
                "damaged BTF: type {id} is void where it may not be"
            )),
        }
    }

    fn string(&self, offset: u32) -> Result<&'a str, String> {
        string(self.base, self.strings, self.first_string, offset)
    }

    /// The `index`th group of `N` words that a type carries.
    fn words<const N: usize>(&self, ty: &Type, index: usize) -> Result<[u32; N], String> {
        let mut words = [0; N];
        for (i, word) in words.iter_mut().enumerate() {
            let at = ty.payload + 4 * (index * N + i);
            *word = u32_at(self.type_data, at).ok_or("damaged BTF: a type is cut off")?;
        }
        Ok(words)
    }

    /// Follows typedefs, qualifiers and tags to the type behind them.
    pub fn strip(&self, id: TypeId) -> Result<TypeId, String> {
        let mut id = id;
        for _ in 0..MAX_CHAIN {
            if id == 0 {
                return Ok(0);
            }
            match self.owner(id)?.1 {
                Type {
                    kind: Kind::Alias,
                    size_or_type,
                    ..
                } => id = *size_or_type,
                _ => return Ok(id),
            }
        }
        Err(format!("damaged BTF: a loop of typedefs at type {id}"))
    }

    /// The kind of the type behind all other names of `id`; `None` is `void`.
    pub fn kind(&self, id: TypeId) -> Result<Option<Kind>, String> {
        match self.strip(id)? {
            0 => Ok(None),
            id => Ok(Some(self.owner(id)?.1.kind)),
        }
    }

    /// The bytes that a value of the type takes.
    pub fn size(&self, id: TypeId) -> Result<u64, String> {
        self.size_within(id, MAX_CHAIN)
    }

    fn size_within(&self, id: TypeId, depth: usize) -> Result<u64, String> {
        let id = self.strip(id)?;
        if id == 0 {
            return Err("a field of type void has no size".into());
        }
        let ty = self.owner(id)?.1;
        match ty.kind {
            Kind::Pointer => Ok(8),
            Kind::Int | Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 | Kind::Float => {
                Ok(u64::from(ty.size_or_type))
            }
            Kind::Array => {
                let depth = depth.checked_sub(1);
                let depth = depth.ok_or(format!("damaged BTF: a loop of arrays at type {id}"))?;
                let (element, count) = self.array(id)?;
                let size = self.size_within(element, depth)?.checked_mul(count);
                size.ok_or(format!(
                    "damaged BTF: array type {id} is larger than memory"
                ))
            }
            Kind::Forward => Err(format!("type {id} is only declared, never defined, there")),
            Kind::Function | Kind::Prototype | Kind::Alias | Kind::Other => {
                Err(format!("damaged BTF: type {id} has no size"))
            }
        }
    }

    /// Element type and number of elements of the array type `id`.
    fn array(&self, id: TypeId) -> Result<(TypeId, u64), String> {
        let (owner, ty) = self.owner(id)?;
        let [element, _index, count] = owner.words::<3>(ty, 0)?;
        Ok((element, u64::from(count)))
    }

    /// Element type and number of elements of an array, of all dimensions
    /// together; `None` where `id` is not an array.
    pub fn flat_array(&self, id: TypeId) -> Result<Option<(TypeId, u64)>, String> {
        let mut element = self.strip(id)?;
        let mut total: Option<u64> = None;
        for _ in 0..MAX_CHAIN {
            if self.kind(element)? != Some(Kind::Array) {
                return Ok(total.map(|count| (element, count)));
            }
            let (inner, count) = self.array(element)?;
            total = total.unwrap_or(1).checked_mul(count);
            if total.is_none() {
                return Err(format!(
                    "damaged BTF: array type {id} is larger than memory"
                ));
            }
            element = self.strip(inner)?;
        }
        Err(format!("damaged BTF: a loop of arrays at type {id}"))
    }

    /// The members of the structure or union `id`.
    pub fn members(
        &self,
        id: TypeId,
    ) -> Result<impl Iterator<Item = Result<Member<'a>, String>> + '_, String> {
        let (owner, ty) = self.owner(id)?;
        if !matches!(ty.kind, Kind::Struct | Kind::Union) {
            return Err(format!("type {id} has no members"));
        }
        Ok((0..ty.vlen).map(move |index| {
            let [name, type_id, offset] = owner.words::<3>(ty, index)?;
            let (bit_offset, bits) = match ty.kind_flag {
                true => (offset & 0xff_ffff, offset >> 24),
                false => (offset, 0),
            };
            Ok(Member {
                name: owner.string(name)?,
                type_id,
                bit_offset,
                bits,
            })
        }))
    }

    /// The value that the enumeration `id` gives to `name`.
    pub fn enumerator(&self, id: TypeId, name: &str) -> Result<Option<i64>, String> {
        let (owner, ty) = self.owner(id)?;
        for index in 0..ty.vlen {
            let (offset, value) = if ty.kind == Kind::Enum64 {
                let [offset, low, high] = owner.words::<3>(ty, index)?;
                (offset, ((u64::from(high) << 32) | u64::from(low)) as i64)
            } else {
                let [offset, value] = owner.words::<2>(ty, index)?;
                let signed = ty.kind_flag;
                (
                    offset,
                    if signed {
                        i64::from(value as i32)
                    } else {
                        i64::from(value)
                    },
                )
            };
            if owner.string(offset)? == name {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

/// A name by its offset, which counts through the base's strings first.
fn string<'a>(
    base: Option<&'a Btf<'a>>,
    own: &'a [u8],
    first: u32,
    offset: u32,
) -> Result<&'a str, String> {
    let Some(at) = offset.checked_sub(first) else {
        // Only split BTF has a first offset above 0.
        let base = base.ok_or("damaged BTF: a name without a base")?;
        return string(base.base, base.strings, base.first_string, offset);
    };
    let damaged = || format!("damaged BTF: a name at {offset}, beyond the end of the names");
    let rest = own
        .get(at as usize..)
        .filter(|rest| !rest.is_empty())
        .ok_or_else(damaged)?;
    let end = rest
        .iter()
        .position(|&byte| byte == 0)
        .ok_or_else(damaged)?;
    let name = std::str::from_utf8(&rest[..end]);
    name.map_err(|_| format!("damaged BTF: the name at {offset} is no text"))
}
