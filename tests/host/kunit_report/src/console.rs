// SPDX-License-Identifier: GPL-2.0-only

//! What the kernel said, without what the console added.

/// A line without carriage returns and without the time stamp, but with the
/// indentation that follows it.
pub fn strip(line: &str) -> &str {
    let line = line.trim_end_matches(['\r', '\n']);
    // A carriage return within a line begins it anew.
    let line = line.rsplit('\r').next().unwrap_or(line);
    let Some(rest) = line.strip_prefix('[') else {
        return line;
    };
    match rest.split_once("] ") {
        Some((stamp, text)) if is_stamp(stamp) => text,
        // The kernel cuts the blank off an empty message.
        None if rest.strip_suffix(']').is_some_and(is_stamp) => "",
        _ => line,
    }
}

fn is_stamp(text: &str) -> bool {
    let parts = text.trim_start().split_once('.');
    parts.is_some_and(|(seconds, fraction)| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits(seconds) && digits(fraction)
    })
}
