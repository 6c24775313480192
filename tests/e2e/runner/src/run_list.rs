// SPDX-License-Identifier: GPL-2.0-only
//! KFD's run list as debugfs shows it. KFD sizes it by its counters of processes
//! and active queues and fills it by walking the queues themselves, so that the
//! two agree exactly when the packets fill it to the last word.

use std::time::Duration;

use anyhow::{ensure, Context, Result};
use vgpu_model::QueueReport;

use crate::guest::Guest;

const PATIENCE: Duration = Duration::from_secs(300);

/// The opcodes of the packets that a run list is made of.
const MAP_PROCESS: u32 = 0xa1;
const MAP_QUEUES: u32 = 0xa2;
const RUN_LIST: u32 = 0xa5;
/// Where MAP_PROCESS has the number of its GWS, and MAP_QUEUES whether the queue
/// uses it: a dword and the bits in it.
const LENT_GWS: (usize, u32) = (13, 0x7f);
const WITH_GWS: (usize, u32) = (1, 1 << 12);

/// What a run list names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunList {
    pub processes: usize,
    pub queues: usize,
    /// Processes that are lent GWS, and queues that use it.
    pub lent_gws: usize,
    pub with_gws: usize,
    /// It does not fit the hardware and begins again at its end.
    pub chained: bool,
}

/// The run list of each GPU, by KFD's number of the GPU. A GPU with nothing to
/// run has an empty one.
pub fn parse(dump: &str) -> Result<Vec<(u32, RunList)>> {
    let mut lists: Vec<(u32, Vec<u32>)> = Vec::new();
    for line in dump.lines() {
        if let Some((_, id)) = line.split_once("gpu_id ") {
            let id = u32::from_str_radix(id.trim_end_matches(':'), 16)?;
            lists.push((id, Vec::new()));
        } else if let Some((_, words)) = line.split_once(": ") {
            let (_, list) = lists.last_mut().context("words of no GPU")?;
            for word in words.split_whitespace() {
                list.push(u32::from_str_radix(word, 16).with_context(|| format!("word {word}"))?);
            }
        }
    }
    lists
        .into_iter()
        .map(|(id, words)| Ok((id, packets(&words)?)))
        .collect()
}

/// Checks KFD's counters against its queues, and both against what the GPU runs,
/// while nothing stops any queue.
pub fn accounts(guest: &mut Guest) -> Result<()> {
    const QUEUES: &str = "ls -d /sys/class/kfd/kfd/proc/*/queues/* | wc -l";
    let mut last = String::new();
    // Loads may be creating or destroying queues meanwhile.
    let waited = guest.wait_until("KFD's accounts agree", PATIENCE, |guest| {
        let known: usize = guest.agent().shell(QUEUES)?.trim().parse()?;
        let lists = guest.agent().read_file("/sys/kernel/debug/kfd/rls")?;
        let lists: Vec<(u32, RunList)> = parse(&lists)?;
        let listed: usize = lists.iter().map(|(_, list)| list.queues).sum();
        let mut mapped = count_mapped(&guest.device.queues()?);
        for other in &mut guest.others {
            mapped += count_mapped(&other.queues()?);
        }
        last = format!("KFD has {known} queues, its run lists {lists:?}, the GPU maps {mapped}");
        Ok(listed == known && known == mapped)
    });
    waited.context(last)
}

fn count_mapped(queues: &[QueueReport]) -> usize {
    queues.iter().filter(|queue| queue.mapped.is_some()).count()
}

fn packets(words: &[u32]) -> Result<RunList> {
    let mut list = RunList::default();
    let mut rest = words;
    while let Some(header) = rest.first() {
        let (kind, opcode) = (header >> 30, (header >> 8) & 0xff);
        let length = ((header >> 16) & 0x3fff) as usize + 2;
        let says = |(at, bits): (usize, u32)| {
            usize::from(rest.get(at).is_some_and(|word| word & bits != 0))
        };
        match (kind, opcode) {
            (3, MAP_PROCESS) => {
                list.processes += 1;
                list.lent_gws += says(LENT_GWS);
            }
            (3, MAP_QUEUES) => {
                list.queues += 1;
                list.with_gws += says(WITH_GWS);
            }
            (3, RUN_LIST) => list.chained = true,
            _ => {
                let at = words.len() - rest.len();
                anyhow::bail!(
                    "KFD counts more than its queues: of {} words of the run list {at} are used \
                     ({list:?}), and then comes {header:#x}",
                    words.len()
                );
            }
        }
        ensure!(length <= rest.len(), "a packet of the run list is cut off");
        rest = &rest[length..];
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Node 0, gpu_id 1f:\n  No active runlist\nNode 1, gpu_id 83a1:\n";

    #[test]
    fn packets_are_counted_for_each_gpu() {
        let dump = format!(
            "{HEAD}  00000000: c001a100 00000000 00000000 c001a200 00000000 00000000 c001a200 00000001\n\
             \x20 00000020: 00000002 c000a500 00000000\n"
        );
        let list = RunList {
            processes: 1,
            queues: 2,
            chained: true,
            ..RunList::default()
        };
        assert_eq!(
            parse(&dump).unwrap(),
            [(0x1f, RunList::default()), (0x83a1, list)]
        );
    }

    #[test]
    fn gws_is_told_from_its_bits() {
        let mut words = vec![0; 20];
        (words[0], words[13]) = (0xc012_a100, 64);
        words.extend([0xc005_a200, 1 << 12, 0, 0, 0, 0, 0]);
        let list = packets(&words).unwrap();
        assert_eq!((list.lent_gws, list.with_gws), (1, 1));
        (words[13], words[21]) = (!0x7f, !(1 << 12));
        let list = packets(&words).unwrap();
        assert_eq!((list.lent_gws, list.with_gws), (0, 0));
    }

    #[test]
    fn room_that_is_left_over_is_an_error() {
        let dump = format!("{HEAD}  00000000: c000a100 00000000 00000000 00000000\n");
        let error = format!("{:#}", parse(&dump).unwrap_err());
        assert!(error.contains("more than its queues"), "{error}");
    }

    #[test]
    fn a_packet_that_is_cut_off_is_an_error() {
        let dump = format!("{HEAD}  00000000: c004a200 00000000\n");
        assert!(parse(&dump).is_err());
    }
}
