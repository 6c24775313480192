// SPDX-License-Identifier: GPL-2.0-only
//! A client whose queue is within a buffer of PM4 packets nearly all the time: each
//! round waits there for the host and then writes a word, once.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{ensure, Result};
use serde::Serialize;

use crate::hsa::{Buffer, Place, Pm4Queue, Runtime};
use crate::packet;

/// Words of a round: the gate, the word that is written, and what is executed.
const ROUND_WORDS: usize = 16;
const PROGRAM: usize = 2;
const CLOSED: u32 = 1;
const OPEN: u32 = 0;
const LOOK: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Outcome {
    pub rounds: usize,
    /// Words that were written again after they had been seen and cleared.
    pub repeated: usize,
}

/// Runs rounds one after the other, each held for a while.
pub fn run(gpu: usize, rounds: usize, hold: Duration, patience: Duration) -> Result<Outcome> {
    let runtime = Runtime::open()?;
    let memory = Buffer::allocate(&runtime, gpu, Place::Host, rounds * ROUND_WORDS * 4)?;
    let mut queue = Pm4Queue::create(&runtime, gpu)?;
    let written = |round: usize| &memory.words()[round * ROUND_WORDS + 1];
    for round in 0..rounds {
        let words = &memory.words()[round * ROUND_WORDS..][..ROUND_WORDS];
        let at = |word: usize| memory.address() + ((round * ROUND_WORDS + word) * 4) as u64;
        let mark = round as u32 + 1;
        let program: Vec<u32> = packet::wait_for_zero(at(0))
            .into_iter()
            .chain(packet::write_word(at(1), mark))
            .collect();
        for (place, word) in words[PROGRAM..].iter().zip(&program) {
            place.store(*word, Ordering::Relaxed);
        }
        words[0].store(CLOSED, Ordering::Release);
        queue.submit(&packet::indirect_buffer(at(PROGRAM), program.len() as u32));
        thread::sleep(hold);
        ensure!(
            written(round).load(Ordering::Acquire) == 0,
            "round {round} did not wait"
        );
        words[0].store(OPEN, Ordering::Release);
        wait_for(written(round), mark, patience)?;
        written(round).store(0, Ordering::Release);
    }
    drop(queue);
    let again = (0..rounds).filter(|&round| written(round).load(Ordering::Acquire) != 0);
    Ok(Outcome {
        rounds,
        repeated: again.count(),
    })
}

fn wait_for(word: &AtomicU32, mark: u32, patience: Duration) -> Result<()> {
    let start = Instant::now();
    loop {
        match word.load(Ordering::Acquire) {
            0 => {}
            found if found == mark => return Ok(()),
            found => anyhow::bail!("{found} was written instead of {mark}"),
        }
        ensure!(start.elapsed() < patience, "{mark} was never written");
        thread::sleep(LOOK);
    }
}
