// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's messages, from a mark on.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{Context, Result};
use e2e_protocol::LogLine;

/// All messages whose sequence number is at least `from`, and the number that the
/// next one will have. Messages that the kernel has already overwritten show as a
/// gap in the numbers.
pub fn read(from: u64) -> Result<(Vec<LogLine>, u64)> {
    let mut log = OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_NONBLOCK)
        .open("/dev/kmsg")
        .context("/dev/kmsg")?;
    let mut lines = Vec::new();
    let mut next = from;
    while let Some(record) = read_record(&mut log)? {
        if let Some(line) = parse(&record) {
            next = next.max(line.sequence + 1);
            lines.extend(Some(line).filter(|line| line.sequence >= from));
        }
    }
    Ok((lines, next))
}

/// Each read returns one record; none when all have been read.
fn read_record(log: &mut File) -> Result<Option<String>> {
    let mut buffer = [0; 8192];
    loop {
        match log.read(&mut buffer) {
            Ok(read) => return Ok(Some(String::from_utf8_lossy(&buffer[..read]).into_owned())),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            // The record was overwritten before it was read: the next one is there.
            Err(error) if error.raw_os_error() == Some(nix::libc::EPIPE) => {}
            Err(error) => return Err(error).context("reading /dev/kmsg"),
        }
    }
}

/// "level,sequence,microseconds,flags[,more];text" in one line, whose text may start
/// with a space and has its line ends escaped; then lines that say which device the
/// message is about.
fn parse(record: &str) -> Option<LogLine> {
    let (prefix, text) = record.split_once(';')?;
    let mut fields = prefix.split(',');
    let priority: u32 = fields.next()?.parse().ok()?;
    let sequence = fields.next()?.parse().ok()?;
    let time_us = fields.next()?.parse().ok()?;
    let text = text.lines().next().unwrap_or_default().to_owned();
    Some(LogLine {
        sequence,
        time_us,
        level: priority & 7,
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_taken_apart() {
        let record = parse(
            "4,1234,98765,-;kfd kfd: added device 1002:74a1\n SUBSYSTEM=pci\n DEVICE=+pci:0\n",
        );
        assert_eq!(
            record,
            Some(LogLine {
                sequence: 1234,
                level: 4,
                time_us: 98765,
                text: "kfd kfd: added device 1002:74a1".to_owned()
            })
        );
    }

    #[test]
    fn the_lines_of_a_trace_have_their_text() {
        let record = parse("4,1,2,-; <TASK>\n").unwrap();
        assert_eq!(record.text, " <TASK>");
    }

    #[test]
    fn the_facility_is_no_part_of_the_level() {
        assert_eq!(parse("30,1,2,-;text").unwrap().level, 6);
    }

    #[test]
    fn text_may_have_semicolons() {
        assert_eq!(parse("6,1,2,c,x=1;a;b\n DEVICE=d").unwrap().text, "a;b");
    }

    #[test]
    fn what_is_no_record_is_left_out() {
        for bad in ["", "no prefix", "a,b,c;text", "6;text", "6,1;text"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
