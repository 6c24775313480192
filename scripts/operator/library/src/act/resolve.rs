// SPDX-License-Identifier: GPL-2.0-only
//! What a name stands for at this moment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use nix::unistd::{Uid, User};

use crate::host::cgroups::{of_user, Cgroups, Units};
use crate::host::containers::{containers, Account, Container};
use crate::host::tree::{Host, Refusal};
use crate::words::names::{Name, Part};

/// The cgroups that a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// In the order of their paths, each once, and at least one.
    Paths(Vec<Vec<u8>>),
    /// The same, and there are others of which it cannot be said, and why.
    Partly {
        paths: Vec<Vec<u8>>,
        unknown: Vec<Vec<u8>>,
        why: String,
    },
    /// There is nothing of that name now, and why.
    Nothing(String),
    /// It cannot be said, and why.
    Unknown(String),
}

/// Looks names up on a host, the units and the containers once for all names.
pub struct Finder<'h> {
    host: &'h Host,
    units: BTreeMap<Option<u32>, Result<Units, Refusal>>,
    containers: BTreeMap<Option<u32>, Result<Vec<Container>, Refusal>>,
}

impl<'h> Finder<'h> {
    pub fn new(host: &'h Host) -> Finder<'h> {
        Finder {
            host,
            units: BTreeMap::new(),
            containers: BTreeMap::new(),
        }
    }

    pub fn find(&mut self, name: &Name) -> Answer {
        let account = match &name.user {
            None => None,
            Some(user) => match account(self.host, user) {
                Ok(Some(account)) => Some(account),
                Ok(None) => return Answer::Nothing(format!("there is no user '{user}'")),
                Err(error) => {
                    return Answer::Unknown(format!(
                        "who user '{user}' is cannot be found out now: {}",
                        error.desc()
                    ))
                }
            },
        };
        match &name.part {
            Part::Unit(unit) => {
                let user = account.map(|account| account.number);
                let units = self.units.entry(user);
                let units = units.or_insert_with(|| Cgroups::new(self.host, user).units());
                let found = units.as_ref().map(|units| units.get(unit));
                one(found.map_err(Refusal::clone), || {
                    format!("{unit} does not run")
                })
            }
            Part::Slice => {
                let found = account.and_then(|account| of_user(self.host, account.number));
                one(Ok(found), || "nothing of that user runs".to_owned())
            }
            Part::Container(text) => match self.containers(account.as_ref()) {
                Ok(all) => by_name(all, text),
                Err(refusal) => Answer::Unknown(refusal.to_string()),
            },
            Part::Label { key, value } => match self.containers(account.as_ref()) {
                Ok(all) => {
                    let has = |one: &&Container| one.labels.get(key) == Some(value);
                    let found = several(all.iter().filter(has), || {
                        "no container with that label runs".into()
                    });
                    in_part(found, all)
                }
                Err(refusal) => Answer::Unknown(refusal.to_string()),
            },
        }
    }

    fn containers(&mut self, account: Option<&Account>) -> &Result<Vec<Container>, Refusal> {
        self.containers
            .entry(account.map(|account| account.number))
            .or_insert_with(|| containers(self.host, account))
    }
}

fn one(found: Result<Option<Vec<u8>>, Refusal>, why: impl FnOnce() -> String) -> Answer {
    match found {
        Ok(Some(path)) => Answer::Paths(vec![path]),
        Ok(None) => Answer::Nothing(why()),
        Err(refusal) => Answer::Unknown(refusal.to_string()),
    }
}

fn several<'c>(found: impl Iterator<Item = &'c Container>, why: impl FnOnce() -> String) -> Answer {
    let mut paths: Vec<Vec<u8>> = found.map(|one| one.running.path.clone()).collect();
    paths.sort();
    paths.dedup();
    match paths.is_empty() {
        true => Answer::Nothing(why()),
        false => Answer::Paths(paths),
    }
}

/// An answer by names, where there are containers whose names cannot be said.
fn in_part(answer: Answer, all: &[Container]) -> Answer {
    let Some(why) = all.iter().find_map(|one| one.unknown.as_ref()) else {
        return answer;
    };
    let why = why.to_string();
    let unknown = all.iter().filter(|one| one.unknown.is_some());
    match answer {
        Answer::Paths(paths) => Answer::Partly {
            paths,
            unknown: unknown.map(|one| one.running.path.clone()).collect(),
            why,
        },
        _ => Answer::Unknown(why),
    }
}

/// All containers of a name, or the one whose number begins so.
fn by_name(all: &[Container], text: &str) -> Answer {
    let named = |one: &&Container| one.names.contains(text);
    let found = several(all.iter().filter(named), String::new);
    if matches!(found, Answer::Paths(_)) {
        return in_part(found, all);
    }
    let mut numbers: Vec<&str> = Vec::new();
    for one in all.iter().filter(|one| one.begins_with(text)) {
        numbers.push(&one.running.number);
    }
    numbers.dedup();
    match numbers.len() {
        0 => in_part(
            Answer::Nothing("no container of that name runs".into()),
            all,
        ),
        1 => several(all.iter().filter(|one| one.begins_with(text)), String::new),
        many => Answer::Nothing(format!(
            "{many} containers have numbers that begin so: give more digits"
        )),
    }
}

/// A user by name or number, as the system's own list has it, or else whoever else is
/// asked for users, who may not answer.
fn account(host: &Host, user: &str) -> nix::Result<Option<Account>> {
    let number: Option<u32> = user.parse().ok();
    let list = host.try_read("etc/passwd").unwrap_or_default();
    let listed = list.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let own: u32 = fields.get(2)?.parse().ok()?;
        (fields[0] == user || Some(own) == number).then(|| Account {
            number: own,
            home: below_root(PathBuf::from(fields.get(5).unwrap_or(&""))),
        })
    });
    if listed.is_some() {
        return Ok(listed);
    }
    let found = match number {
        Some(number) => User::from_uid(Uid::from_raw(number)),
        None => User::from_name(user),
    };
    told(found, number)
}

/// An account as whoever was asked for it has told.
fn told(found: nix::Result<Option<User>>, number: Option<u32>) -> nix::Result<Option<Account>> {
    Ok(match (found?, number) {
        (Some(found), _) => Some(Account {
            number: found.uid.as_raw(),
            home: below_root(found.dir),
        }),
        // A number needs no entry to have processes.
        (None, Some(number)) => Some(Account {
            number,
            home: PathBuf::from("nonexistent"),
        }),
        (None, None) => None,
    })
}

fn below_root(path: PathBuf) -> PathBuf {
    path.strip_prefix("/").map(PathBuf::from).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::errno::Errno;

    #[test]
    fn that_nobody_answers_does_not_mean_that_there_is_no_such_user() {
        for number in [None, Some(7)] {
            assert_eq!(
                told(Err(Errno::ECONNREFUSED), number),
                Err(Errno::ECONNREFUSED)
            );
        }
        assert_eq!(told(Ok(None), None), Ok(None));
        let home = PathBuf::from("nonexistent");
        let number = 7;
        assert_eq!(told(Ok(None), Some(7)), Ok(Some(Account { number, home })));
    }
}
