// SPDX-License-Identifier: GPL-2.0-only
//! Numbers as operators write them. `core` reads them too, but adds and
//! multiplies in ways that can panic in a kernel that checks for overflow.

use crate::settings::set_error::SetError;

/// A whole number in a range. A number too long for 32 bits is out of range,
/// not nonsense.
pub(crate) fn whole(digits: &[u8], min: u32, max: u32) -> Result<u32, SetError> {
    if digits.is_empty() {
        return Err(SetError::Invalid);
    }
    let mut value = Some(0u32);
    for digit in digits {
        let digit = match digit {
            b'0'..=b'9' => u32::from(digit.saturating_sub(b'0')),
            _ => return Err(SetError::Invalid),
        };
        value = value
            .and_then(|value| value.checked_mul(10))
            .and_then(|value| value.checked_add(digit));
    }
    value
        .filter(|value| (min..=max).contains(value))
        .ok_or(SetError::OutOfRange { min, max })
}

/// The byte that two hexadecimal digits stand for.
pub(crate) fn byte(digits: [u8; 2]) -> Option<u8> {
    let [high, low] = digits;
    let high = hexadecimal(high)?;
    let low = hexadecimal(low)?;
    Some(high.wrapping_shl(4) | low)
}

fn hexadecimal(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(digit.wrapping_sub(b'a').wrapping_add(10)),
        b'A'..=b'F' => Some(digit.wrapping_sub(b'A').wrapping_add(10)),
        _ => None,
    }
}
