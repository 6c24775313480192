// SPDX-License-Identifier: GPL-2.0-only
//! What an image has of machine code.

use super::{checksum, push, word, Image, Part, HEADER, PROGRAM};
use crate::compute::machine::{Group, Program};
use crate::compute::relaunch;
use crate::compute::work::{Suspended, Work};

impl Image {
    /// The stack itself if there is no machine code; otherwise one as AMD has it.
    pub(super) fn with_programs(&self, mut stack: Vec<u8>, granule: u32) -> Vec<u8> {
        let programs: Vec<&Program> = self.parts.iter().filter_map(Part::program).collect();
        if programs.is_empty() {
            return stack;
        }
        let from = stack.len();
        for program in programs {
            push(&mut stack, &program.to_words());
        }
        let sum = checksum(&stack[from..]);
        push(&mut stack, &[sum]);
        let mut words = Vec::new();
        for part in self.parts.iter().rev() {
            if let Some(program) = part.program() {
                words.push(relaunch::state(program, part.dispatch.lds, granule));
                words.extend(relaunch::waves(part.waves.iter()));
            }
        }
        relaunch::stack(&stack, &words)
    }

    /// The workgroups that execute machine code, with their vector registers, in the
    /// order of the wave state.
    pub fn groups_mut(&mut self) -> impl Iterator<Item = (&mut Group, u32)> {
        self.parts.iter_mut().flat_map(|part| {
            let vgprs = part.dispatch.vgprs;
            let groups = part.share.waiting.iter_mut();
            groups.filter_map(move |work| Some((work.group_mut()?, vgprs)))
        })
    }

    /// Reads a control stack; the workgroups come with their records.
    pub fn from_stack(stack: &[u8]) -> Result<Image, &'static str> {
        let Some((own, words)) = relaunch::parts(stack) else {
            return Image::from_own(stack);
        };
        const LENGTH: &str = "the control stack has the wrong length";
        if own.len() < HEADER {
            return Err(LENGTH);
        }
        let length = (word(&own, 4) as usize).checked_add(HEADER).ok_or(LENGTH)?;
        let (fixed, programs) = own.split_at_checked(length).ok_or(LENGTH)?;
        let mut image = Image::from_own(fixed)?;
        image.add_programs(programs, &words)?;
        Ok(image)
    }

    /// Adds what the control stack has of machine code.
    fn add_programs(&mut self, programs: &[u8], words: &[u32]) -> Result<(), &'static str> {
        const BYTES: usize = Program::WORDS * 8;
        let is_program = |part: &&mut Part| matches!(&part.dispatch.work, Work::Countable(work) if work.to_words() == [PROGRAM, PROGRAM, 0]);
        let parts: Vec<&mut Part> = self.parts.iter_mut().filter(is_program).collect();
        if programs.len() != parts.len() * BYTES + 8 {
            return Err("the control stack has the wrong length");
        }
        let (programs, sum) = programs.split_at(parts.len() * BYTES);
        if word(sum, 0) != checksum(programs) {
            return Err("a program's checksum is wrong");
        }
        let mut states = words.split(|word| relaunch::is_state(*word)).skip(1);
        for (part, bytes) in parts.into_iter().zip(programs.chunks_exact(BYTES)).rev() {
            let mut fields = [0; Program::WORDS];
            for (index, field) in fields.iter_mut().enumerate() {
                *field = word(bytes, index);
            }
            let program = Box::new(Program::from_words(&fields));
            part.dispatch.work = Work::Machine(program);
            let waves = states.next().and_then(relaunch::groups);
            let limit = part.dispatch.waves;
            let waves = waves.filter(|waves| {
                waves.len() as u64 == part.count
                    && waves.iter().all(|group| group.len() as u32 <= limit)
            });
            part.waves = waves.ok_or("the control stack has other waves")?;
        }
        match states.next() {
            Some(_) => Err("the control stack has other waves"),
            None => Ok(()),
        }
    }

    /// What the workgroups of a part execute, and the vector registers and local memory
    /// that they have.
    pub fn program(&self, part: usize) -> Option<(&Program, u32, u32)> {
        let part = self.parts.get(part)?;
        Some((part.program()?, part.dispatch.vgprs, part.dispatch.lds))
    }

    pub fn add_group(&mut self, part: usize, group: Group) {
        let work = Suspended::restored(group);
        self.parts[part].share.waiting.push_back(work);
    }
}
