// SPDX-License-Identifier: GPL-2.0-only
//! A parameter in a file, for all GPUs or for one.

use gpreempt_policy::TIMESLICE_NAME;
use toml::de::DeValue;

use crate::words::table::{shown, Name, Reader, Value};
use crate::words::{gone, parameters};

/// Whether a parameter with this value is gone, which is noted then.
pub(crate) fn is_gone(reader: &mut Reader<'_>, name: &Name<'_>, value: &Value<'_>) -> bool {
    let gone = gone::setting(name.get_ref(), value.get_ref().as_str().unwrap_or(""));
    if let Some(gone) = gone {
        reader.gone(name.span().start, gone.to_string());
    }
    gone.is_some()
}

/// The value of a parameter, as the kernel writes it.
pub(crate) fn parameter(
    reader: &mut Reader<'_>,
    name: &'static str,
    value: &Value<'_>,
) -> Option<String> {
    let at = value.span().start;
    let text = match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(_) => reader.whole(name, value).map(|number| number.to_string()),
        DeValue::Array(values) if name == TIMESLICE_NAME => {
            let numbers: Option<Vec<String>> = values
                .iter()
                .map(|value| Some(reader.whole(name, value)?.to_string()))
                .collect();
            match numbers {
                // One for each level, and not one for all of them.
                Some(numbers) if numbers.len() == 1 => Some("one".to_owned()),
                numbers => numbers.map(|numbers| numbers.join(",")),
            }
        }
        _ => Some(String::new()),
    };
    let text = text?;
    match parameters::canonical(name, &text) {
        Ok(value) => Some(value),
        Err(remedy) => {
            let what = match text.is_empty() {
                true => "this".to_owned(),
                false => format!("'{}'", shown(&text)),
            };
            reader.fault(at, format!("'{name}' cannot be {what}: {remedy}"));
            None
        }
    }
}
