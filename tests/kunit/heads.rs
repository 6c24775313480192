// SPDX-License-Identifier: GPL-2.0-only

//! What stands at the head of a queue: by the packet in its owner's memory, unless the
//! packet processor has moved on meanwhile.

use crate::contexts::{with_pointers_read, with_rings_read};
use crate::fake::layout::*;
use crate::fake::{expect, look, put, with_node, Fake};
use gpreempt_policy::Head;
use kernel::bindings;
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;
use kernel::uaccess::{UserPtr, UserSlice};
use kfd::look::survey::Survey;

/// Bytes of a packet.
const PACKET: usize = 64;

/// A reserved slot, or one whose packet has been taken.
const INVALID: u32 = 1;

const KERNEL_DISPATCH: u32 = 2;

/// A page of the test's memory that nobody has touched.
fn page() -> Result<usize> {
    const READ_AND_WRITE: usize = 3;
    const PRIVATE_AND_ANONYMOUS: usize = 0x22;
    // SAFETY: The current task is that of a test, which gets a memory of its own with the
    // first page that it asks for and keeps it to its end.
    let address = unsafe {
        bindings::kunit_vm_mmap(
            bindings::kunit_get_current_test(),
            core::ptr::null_mut(),
            0,
            PAGE_SIZE,
            READ_AND_WRITE,
            PRIVATE_AND_ANONYMOUS,
            0,
        )
    };
    Ok(address)
}

/// Writes a word of the test's own memory.
fn store(address: usize, value: u64) -> Result {
    let place = UserPtr::from_addr(address);
    UserSlice::new(place, size_of::<u64>())
        .writer()
        .write(&value)
}

/// Has the queues of the first process in a page of memory: the read pointer, the write
/// pointer, and from the second packet on the ring, each packet with this header. Returns
/// the page's address.
fn submit(read: u64, write: u64, header: u32) -> Result<usize> {
    let address = page()?;
    Fake::own_test()?;
    let first = Fake::now().processes[0];
    let store = |at: usize, value: u64| store(address + at, value);
    store(0, read)?;
    store(8, write)?;
    for packet in (PACKET..PAGE_SIZE).step_by(PACKET) {
        store(packet, header.into())?;
    }
    for queue in first.queues {
        for (field, at) in [
            (QUEUE_PROPERTIES_READ_PTR, 0),
            (QUEUE_PROPERTIES_WRITE_PTR, 8),
            (QUEUE_PROPERTIES_QUEUE_ADDRESS, PACKET),
        ] {
            put(queue, QUEUE_PROPERTIES + field, address + at);
        }
    }
    Ok(address)
}

/// What is seen at the head of queues that are submitted so, and of which the registers
/// have told these pointers, if any, before their memory was read.
fn seen(submitted: (u64, u64, u32), registers: Option<(u64, u64)>) -> Result<Head> {
    with_node(|node| {
        let (read, write, header) = submitted;
        submit(read, write, header)?;
        let mut survey = look(node)?;
        for queue in survey.forge() {
            (queue.sample.read, queue.sample.write) = registers.unzip();
        }
        with_pointers_read(survey, |survey, first| {
            expect(first.sample.backlog(&first.facts).is_some(), true)?;
            expect(survey.any_unread(), false)?;
            Ok(first.sample.head)
        })
    })
}

/// Whether any packet is found not to be written yet, of rings with these pointers in which
/// all packets have this header but for the one with this number.
fn unwritten(submitted: (u64, u64, u32), other: (u64, u32)) -> Result<bool> {
    with_node(|node| {
        let (read, write, header) = submitted;
        let address = submit(read, write, header)?;
        let (number, header) = other;
        store(address + PACKET + number as usize * PACKET, header.into())?;
        let survey = look(node)?;
        with_rings_read(survey, |_, _, unwritten| Ok(unwritten))
    })
}

/// Whether a read pointer cannot be read, and what is seen at the heads, of queues of
/// which one of these fields is another address.
fn with_field(field: usize, address: usize) -> Result<(bool, Head)> {
    with_node(|node| {
        submit(0, 5, KERNEL_DISPATCH)?;
        for queue in Fake::now().processes[0].queues {
            put(queue, QUEUE_PROPERTIES + field, address);
        }
        let survey = look(node)?;
        with_pointers_read(survey, |survey, first| {
            Ok((survey.any_unread(), first.sample.head))
        })
    })
}

#[kunit_tests(amd_gpreempt_heads)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_memory_of_the_process_is_not_read() -> Result {
        static OURS: u64 = KERNEL_DISPATCH as u64;
        let untouched = page()?;
        let ours = (&raw const OURS) as usize;
        for address in [0, 1, untouched, ours, 1 << 63, usize::MAX] {
            let of = |field| with_field(field, address);
            expect(of(QUEUE_PROPERTIES_READ_PTR)?, (true, Head::Unknown))?;
            expect(of(QUEUE_PROPERTIES_QUEUE_ADDRESS)?, (false, Head::Unknown))?;
        }
        Ok(())
    }

    #[test]
    fn the_memory_of_a_program_that_gives_it_up_is_left_alone() -> Result {
        for ways in 0..16 {
            with_node(|node| {
                submit(0, 5, KERNEL_DISPATCH)?;
                Fake::own_leaving(ways)?;
                let survey = look(node)?;
                with_pointers_read(survey, |_, first| {
                    expect(first.sample.read.is_some(), ways == 0)
                })
            })?;
        }
        Ok(())
    }

    #[test]
    fn a_program_that_never_comes_to_give_its_memory_up_is_asked_now_and_then() -> Result {
        const LOOKS: u32 = 1024;
        for (looks, asked) in [(LOOKS - 1, false), (LOOKS, true)] {
            with_node(|node| {
                submit(0, 5, KERNEL_DISPATCH)?;
                Fake::own_leaving(1)?;
                let mut survey = Survey::new()?;
                for _ in 0..looks {
                    survey.take(node, core::iter::empty());
                }
                with_pointers_read(survey, |_, first| {
                    expect(first.sample.read.is_some(), asked)
                })
            })?;
        }
        Ok(())
    }

    #[test]
    fn a_head_is_what_its_packet_says() -> Result {
        for (header, head) in [
            (INVALID, Head::Invalid),
            (KERNEL_DISPATCH, Head::Runnable),
            (3, Head::Barrier),
            (4, Head::Runnable),
            (5, Head::Barrier),
            // The vendor's: one that waits for a value, and a buffer of commands.
            (2 << 16, Head::Barrier),
            (1 << 16, Head::Unknown),
            (0xff, Head::Unknown),
            // What is no part of the type tells nothing.
            (KERNEL_DISPATCH | 0xffff_ff00, Head::Runnable),
            (INVALID | 0xffff_ff00, Head::Invalid),
        ] {
            expect(seen((3, 5, header), None)?, head)?;
        }
        Ok(())
    }

    #[test]
    fn a_queue_without_backlog_has_no_head() -> Result {
        expect(seen((3, 3, INVALID), None)?, Head::Unknown)?;
        expect(seen((3, 3, KERNEL_DISPATCH), None)?, Head::Unknown)
    }

    #[test]
    fn a_packet_that_was_taken_meanwhile_is_no_reserved_slot() -> Result {
        for (read, head) in [(4, Head::Invalid), (5, Head::Unknown), (6, Head::Unknown)] {
            expect(seen((read, 6, INVALID), Some((4, 6)))?, head)?;
        }
        // Another packet was not taken: it is what it was when it was read.
        expect(seen((5, 6, KERNEL_DISPATCH), Some((4, 6)))?, Head::Runnable)
    }

    #[test]
    fn the_next_packet_and_the_last_ones_may_not_be_written_yet() -> Result {
        let ring = (10, 30, KERNEL_DISPATCH);
        expect(unwritten(ring, (10, KERNEL_DISPATCH))?, false)?;
        for number in [10, 22, 25, 29] {
            expect(unwritten(ring, (number, INVALID))?, true)?;
        }
        // What is between is not looked at, and what is beyond is not in the ring.
        for number in [9, 11, 21, 30] {
            expect(unwritten(ring, (number, INVALID))?, false)?;
        }
        Ok(())
    }

    #[test]
    fn in_a_short_backlog_no_packet_before_it_counts() -> Result {
        let (one, three) = ((10, 11, KERNEL_DISPATCH), (10, 13, KERNEL_DISPATCH));
        for (number, of_one, of_three) in [
            (9, false, false),
            (10, true, true),
            (11, false, true),
            (12, false, true),
            (13, false, false),
        ] {
            expect(unwritten(one, (number, INVALID))?, of_one)?;
            expect(unwritten(three, (number, INVALID))?, of_three)?;
        }
        // Taken packets are no longer valid.
        expect(unwritten((10, 10, INVALID), (10, INVALID))?, false)
    }
}
