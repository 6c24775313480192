// SPDX-License-Identifier: GPL-2.0-only
//! Names that a rule may have instead of a cgroup's path: a unit, a container, a
//! label of containers, a user.
//!
//! The kernel knows cgroups alone. What a name stands for is found out where the
//! configuration is applied, and again while it is in force.

use std::fmt;

use gpreempt_policy::unescaped;

use crate::words::escape::escaped;

/// The words that name something.
pub const WORDS: [&str; 4] = ["unit", "container", "label", "user"];

/// The longest name that the kernel has for a cgroup.
const LONGEST: usize = 255;
/// The kinds of units in which programs run.
const UNITS: [&str; 3] = [".service", ".scope", ".slice"];

/// What a rule is for, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// Whose it is; where nobody is named, the system's.
    pub user: Option<String>,
    pub part: Part,
}

/// What of the system or of a user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Unit(String),
    /// By its name or the beginning of its number.
    Container(String),
    /// Containers with this label.
    Label {
        key: String,
        value: String,
    },
    /// Everything of a user.
    Slice,
}

impl Name {
    /// Whether it may be for several cgroups.
    pub fn is_for_several(&self) -> bool {
        matches!(self.part, Part::Container(_) | Part::Label { .. })
    }

    /// The words of a rule, each with its value.
    pub fn words(&self) -> Vec<(&'static str, String)> {
        let mut words = Vec::new();
        if let Some(user) = &self.user {
            words.push(("user", user.clone()));
        }
        match &self.part {
            Part::Unit(unit) => words.push(("unit", unit.clone())),
            Part::Container(name) => words.push(("container", name.clone())),
            Part::Label { key, value } => words.push(("label", format!("{key}={value}"))),
            Part::Slice => {}
        }
        words
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (word, text)) in self.words().iter().enumerate() {
            let space = if number > 0 { " " } else { "" };
            write!(out, "{space}{word}={}", escaped(text.as_bytes()))?;
        }
        Ok(())
    }
}

/// The words of a name as they are read, one after the other.
#[derive(Debug, Default)]
pub struct Words {
    user: Option<String>,
    part: Option<Part>,
}

impl Words {
    /// Takes a word, or says what is wrong with it.
    pub fn take(&mut self, word: &str, text: &str) -> Result<(), String> {
        let bytes: Vec<u8> = unescaped(text)
            .map_err(|error| error.to_string())?
            .collect();
        let text = String::from_utf8(bytes)
            .map_err(|_| format!("'{word}' takes a name in UTF-8: mend its escapes"))?;
        if text.is_empty() || text.contains(char::is_control) {
            return Err(format!(
                "'{word}' takes a name of one line: take what is no letter out"
            ));
        }
        let part = match word {
            "unit" => Part::Unit(unit(text)?),
            "container" => Part::Container(container(text)?),
            "label" => label(&text)?,
            _ => return put(&mut self.user, user(text)?, "'user' is there twice"),
        };
        put(
            &mut self.part,
            part,
            "give only one of 'unit', 'container' and 'label'",
        )
    }

    /// The name, if there was a word of one.
    pub fn name(self) -> Option<Name> {
        let user = self.user;
        match self.part {
            Some(part) => Some(Name { user, part }),
            None => user.map(|user| Name {
                user: Some(user),
                part: Part::Slice,
            }),
        }
    }
}

fn put<T>(place: &mut Option<T>, value: T, otherwise: &str) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(otherwise.to_owned()),
    }
}

fn unit(text: String) -> Result<String, String> {
    let strange = |c: char| !(c.is_ascii_alphanumeric() || ":-_.\\@".contains(c));
    let stem = UNITS.iter().find_map(|kind| text.strip_suffix(kind));
    match stem {
        Some(stem) if stem.ends_with('@') => Err(format!(
            "'{text}' is a template: name one that it makes, as in {stem}1.service"
        )),
        Some(stem) if !["", "-"].contains(&stem) && !text.contains(strange) => match text.len() {
            0..=LONGEST => Ok(text),
            _ => Err(format!("'unit' takes at most {LONGEST} characters")),
        },
        _ => Err(
            "'unit' takes the whole name of a service, scope or slice, as in train.service".into(),
        ),
    }
}

fn container(text: String) -> Result<String, String> {
    let strange = |c: char| !(c.is_ascii_alphanumeric() || "_.-".contains(c));
    let begins_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins_well || text.contains(strange) || text.len() > LONGEST {
        return Err(
            "'container' takes a name or at least 12 digits of a number, as 'docker ps' and \
             'podman ps' show them"
                .into(),
        );
    }
    Ok(text)
}

fn label(text: &str) -> Result<Part, String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok(Part::Label {
            key: key.to_owned(),
            value: value.to_owned(),
        }),
        _ => Err("'label' takes a key and a value, as in team=research".into()),
    }
}

fn user(text: String) -> Result<String, String> {
    // The last number stands for nobody at all.
    if text.contains(['/', ':']) || text.parse() == Ok(u32::MAX) {
        return Err("'user' takes a name or a number, as in /etc/passwd".into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::rule::Rule;

    fn typed(text: &str) -> Result<String, String> {
        Rule::typed(text).map(|rule| rule.to_string())
    }

    #[test]
    fn what_is_named_is_written_as_it_was_typed() {
        for text in [
            "1 unit=train.service prio=3",
            "1 unit=a\\x2db@7.scope prio=3"
                .replace('\\', "%5C")
                .as_str(),
            "1 user=alice unit=train.service exempt",
            "1 container=0123456789ab prio=3",
            "1 user=1000 container=a.b_c-d prio=3",
            "1 label=team=a%20%25b prio=3",
            "1 label=a.b/c= prio=3",
            "1 user=alice prio=3",
            "1 comm=x prio=3",
        ] {
            assert_eq!(typed(text).as_deref(), Ok(text));
        }
        assert_eq!(
            typed("1 prio=3 unit=x.slice user=a").as_deref(),
            Ok("1 user=a unit=x.slice prio=3")
        );
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let long = format!("1 unit={}.service prio=3", "x".repeat(LONGEST));
        for (text, why) in [
            ("1 unit=train prio=3", "the whole name of a service"),
            ("1 unit=.service prio=3", "the whole name of a service"),
            ("1 unit=-.slice prio=3", "the whole name of a service"),
            ("1 unit=a/b.service prio=3", "the whole name of a service"),
            ("1 unit=../x.service prio=3", "the whole name of a service"),
            ("1 unit=a%25.service prio=3", "the whole name of a service"),
            ("1 unit=a*.service prio=3", "the whole name of a service"),
            (long.as_str(), "at most 255 characters"),
            ("1 unit=a@.service prio=3", "as in a@1.service"),
            ("1 unit=a%.service prio=3", "two hexadecimal digits"),
            ("1 unit=a%0A.service prio=3", "a name of one line"),
            ("1 container= prio=3", "a name of one line"),
            ("1 container=.. prio=3", "at least 12 digits"),
            ("1 container=a/b prio=3", "at least 12 digits"),
            ("1 container=%C3%A4 prio=3", "at least 12 digits"),
            ("1 container=%FF prio=3", "in UTF-8"),
            ("1 label=team prio=3", "a key and a value"),
            ("1 label==x prio=3", "a key and a value"),
            ("1 user=a:b prio=3", "a name or a number"),
            ("1 user=../a prio=3", "a name or a number"),
            ("1 user=4294967295 prio=3", "a name or a number"),
            ("1 user=a user=b prio=3", "'user' is there twice"),
            ("1 unit=a.scope label=b=c prio=3", "only one of 'unit'"),
            ("1 unit=a.scope comm=x prio=3", "only one of pid="),
            ("1 unit=a.scope pid=7 prio=3", "only one of pid="),
            ("1 unit=a.scope", "say what it does"),
            ("unit=a.scope prio=3", "begin with the rule's number"),
        ] {
            let error = typed(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
