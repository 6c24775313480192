// SPDX-License-Identifier: GPL-2.0-only
//! Where an address leads: the kernel's apertures and the walk of a process's
//! page table.

use super::{FaultCause, Memory, MemoryFault, Space, Target, FB_BASE, PAGE};

const ADDRESS: u64 = 0x0000_ffff_ffff_f000;
pub(super) const VALID: u64 = 1 << 0;
pub(super) const SYSTEM: u64 = 1 << 1;
pub(super) const READABLE: u64 = 1 << 5;
pub(super) const WRITEABLE: u64 = 1 << 6;
const PDE_AS_PTE: u64 = 1 << 54;
/// Set in the last directory level when a table follows; clear for a page of
/// 2 MiB (the driver calls this bit "translate further").
pub(super) const FURTHER: u64 = 1 << 56;

/// What the driver writes for a page that it has no memory for, so that accesses to it
/// are not tried again: a big page, further, and code, but not valid.
const FINAL: u64 = PDE_AS_PTE | FURTHER | (1 << 4);

impl Memory {
    fn target(&self, entry: u64, offset: u64) -> Target {
        let address = (entry & ADDRESS).wrapping_add(offset);
        if entry & SYSTEM != 0 {
            Target::Guest(address)
        } else {
            Target::Vram(address)
        }
    }

    fn load_entry(&self, target: Target) -> Option<u64> {
        let mut bytes = [0; 8];
        match target {
            Target::Vram(offset) => {
                if offset.checked_add(8)? > self.vram.size() {
                    return None;
                }
                self.vram.read(offset, &mut bytes);
            }
            Target::Guest(address) => self.bus.read(address, &mut bytes).ok()?,
        }
        Some(u64::from_le_bytes(bytes))
    }

    /// Where an address leads, and how many bytes are contiguous there.
    pub(super) fn translate(
        &self,
        space: Space,
        address: u64,
        write: bool,
    ) -> Result<(Target, u64), MemoryFault> {
        let rest = PAGE - address % PAGE;
        let fault = |cause| MemoryFault {
            address,
            write,
            cause,
        };
        match space {
            Space::Bus => Ok((Target::Guest(address), rest)),
            Space::Kernel => {
                if let Some(offset) = address.checked_sub(FB_BASE) {
                    if offset < self.vram.size() {
                        return Ok((Target::Vram(offset), self.vram.size() - offset));
                    }
                }
                let gart = &self.gart;
                if gart.end > gart.start && (gart.start..=gart.end).contains(&address) {
                    let index = (address - gart.start) / PAGE;
                    let entry = self
                        .load_entry(Target::Vram(gart.table.wrapping_add(index * 8)))
                        .filter(|entry| entry & VALID != 0)
                        .ok_or_else(|| fault(FaultCause::NotMapped))?;
                    return Ok((self.target(entry, address % PAGE), rest));
                }
                Ok((Target::Guest(address), rest))
            }
            Space::Process { root, via } => {
                let found = self.walk(root, address, write);
                if let Some(cache) = self.cache.borrow_mut().as_mut() {
                    let target = found.as_ref().ok().map(|(target, _)| *target);
                    cache.accessed((root, via), address, write, target);
                }
                found
            }
        }
    }

    /// An access goes on behind the page that was translated, in bytes that follow each
    /// other: each page of them is a translation of its own.
    pub(super) fn note_span(
        &self,
        space: Space,
        address: u64,
        length: u64,
        (target, write): (Target, bool),
    ) {
        let Space::Process { root, via } = space else {
            return;
        };
        let first = PAGE - address % PAGE;
        if first >= length {
            return;
        }
        if let Some(cache) = self.cache.borrow_mut().as_mut() {
            for more in (first..length).step_by(PAGE as usize) {
                let at = address.wrapping_add(more);
                cache.accessed((root, via), at, write, Some(target.plus(more)));
            }
        }
    }

    /// The four-level walk of a process's page table.
    fn walk(&self, root: u64, address: u64, write: bool) -> Result<(Target, u64), MemoryFault> {
        let rest = PAGE - address % PAGE;
        let fault = |cause| MemoryFault {
            address,
            write,
            cause,
        };
        let mut entry = root | VALID;
        for (level, shift) in [39u32, 30, 21, 12].into_iter().enumerate() {
            let index = (address >> shift) & 0x1ff;
            entry = match self.load_entry(self.target(entry, index * 8)) {
                Some(entry) if entry & VALID != 0 => entry,
                Some(entry) if entry & FINAL == FINAL => return Err(fault(FaultCause::Final)),
                _ => return Err(fault(FaultCause::NotMapped)),
            };
            let last =
                level == 3 || entry & PDE_AS_PTE != 0 || (level == 2 && entry & FURTHER == 0);
            if last {
                let needed = if write { WRITEABLE } else { READABLE };
                if entry & needed == 0 {
                    return Err(fault(FaultCause::Forbidden));
                }
                // A sum, since a big page of guest memory need be
                // aligned in the process's addresses only.
                let size = 1 << shift;
                let offset = address & (size - 1);
                // Guest memory comes in pieces of any size; pages
                // are safe.
                return Ok(match self.target(entry, offset) {
                    target @ Target::Guest(_) => (target, rest),
                    target => (target, size - offset),
                });
            }
        }
        unreachable!("the last level always ends the walk")
    }

    pub(super) fn check(&self, target: Target, length: u64) -> Option<Target> {
        match target {
            Target::Vram(offset) => {
                (offset.checked_add(length)? <= self.vram.size()).then_some(target)
            }
            Target::Guest(_) => Some(target),
        }
    }
}
