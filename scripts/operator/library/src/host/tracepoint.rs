// SPDX-License-Identifier: GPL-2.0-only
//! The module's tracepoints, as the kernel prints them.

/// Which tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    Inversion,
    Stop,
    Start,
    Fallback,
}

/// What a tracepoint has told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub time_ns: u64,
    pub point: Point,
    pub gpu_id: u32,
    pub node: u32,
    pub pid: i64,
    pub queue: u32,
    pub prio: u32,
    pub eff_prio: u32,
    pub reason: String,
    pub age_ns: u64,
}

impl Occurrence {
    /// Understands a line of `trace`, `trace_pipe` or `perf script`. Nothing comes of
    /// one that is about something else, or is damaged.
    pub fn parse(line: &str) -> Option<Occurrence> {
        // A thread may have such a name as well.
        let mut places = line.match_indices("gp_");
        places.find_map(|(at, _)| Occurrence::at(line, at))
    }

    fn at(line: &str, at: usize) -> Option<Occurrence> {
        let before = line[..at].trim_end().trim_end_matches("amd_gpreempt:");
        let time = before.trim_end().strip_suffix(':')?;
        let time = time.split_whitespace().next_back()?;
        let (point, rest) = line[at..].split_once(": ")?;
        let point = match point {
            "gp_inversion" => Point::Inversion,
            "gp_stop" => Point::Stop,
            "gp_start" => Point::Start,
            "gp_fallback" => Point::Fallback,
            _ => return None,
        };
        let word = |name: &str| {
            let mut words = rest.split_whitespace();
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        Some(Occurrence {
            time_ns: nanos(time)?,
            point,
            gpu_id: word("gpu_id")?.parse().ok()?,
            node: word("node")?.parse().ok()?,
            pid: word("pid")?.parse().ok()?,
            queue: word("queue_id")?.parse().ok()?,
            prio: word("prio")?.parse().ok()?,
            eff_prio: word("eff_prio")?.parse().ok()?,
            reason: word("reason")?.to_owned(),
            age_ns: word("age_ns")?.parse().ok()?,
        })
    }
}

/// How many events a line says that the kernel has lost.
pub fn lost(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("[LOST ")?;
    rest.strip_suffix(" EVENTS]")?.parse().ok()
}

/// Seconds with a fraction of any length.
fn nanos(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<9}").parse().ok()?;
    let seconds: u64 = seconds.parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &str = "gpu_id=51110 node=0 pid=4711 queue_id=3 prio=7 eff_prio=12 reason=calm age_ns=1234567890123";

    #[test]
    fn a_line_is_understood_however_it_was_taken() {
        for line in [
            format!("  gp/0000:01:00.0/0-812   [001] d..1.   123.456789: gp_start: {FIELDS}"),
            format!(" gp_stop: b [1]-8 [000] .....  123.456789: amd_gpreempt:gp_start: {FIELDS}"),
        ] {
            let found = Occurrence::parse(&line);
            let found = found.unwrap_or_else(|| panic!("{line}"));
            assert_eq!(
                (found.time_ns, found.point),
                (123_456_789_000, Point::Start)
            );
            assert_eq!((found.pid, found.queue, found.eff_prio), (4711, 3, 12));
            assert_eq!(
                (found.reason.as_str(), found.age_ns),
                ("calm", 1_234_567_890_123)
            );
        }
    }

    #[test]
    fn a_line_of_another_kind_or_a_damaged_one_is_none() {
        for line in [
            String::new(),
            "# tracer: nop".to_owned(),
            format!("x-1 [0] 1.5: gp_stall: {FIELDS}"),
            format!("x-1 [0] 15: gp_stop: {FIELDS}"),
            format!("gp_stop: {FIELDS}"),
            "x-1 [0] 1.5: gp_stop: gpu_id=1 node=0 pid=1".to_owned(),
            format!("x-1 [0] 99999999999999.5: gp_stop: {FIELDS}"),
            format!(
                "x-1 [0] 1.5: gp_stop: {}",
                FIELDS.replace("pid=4711", "pid=x")
            ),
        ] {
            assert_eq!(Occurrence::parse(&line), None, "{line}");
        }
        assert_eq!(lost("CPU:0 [LOST 12 EVENTS]"), Some(12));
        assert_eq!(lost("CPU:0 [LOST]"), None);
    }
}
