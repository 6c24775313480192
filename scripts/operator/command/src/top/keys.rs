// SPDX-License-Identifier: GPL-2.0-only
//! What the keys do.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::draft::Draft;
use super::look::Look;
use super::question::Change;
use super::rows::{Sort, COLUMNS};
use super::state::{Entry, State, View, INTERVALS};
use crate::clean::clean;
use crate::cli::Mode;

/// What is to be done outside the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Quit,
    /// Let the shell have the terminal until it gives it back.
    Suspend,
    Change(Change),
}

impl State {
    pub fn press(&mut self, key: KeyEvent) -> Option<Act> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            match key.code {
                KeyCode::Char('c') => return Some(Act::Quit),
                KeyCode::Char('z') => return Some(Act::Suspend),
                KeyCode::Char('u') => self.clear_line(),
                _ => {}
            }
            self.settle();
            return None;
        }
        let act = match std::mem::replace(&mut self.entry, Entry::Table) {
            Entry::Table => {
                self.message = None;
                self.press_in_table(key.code)
            }
            Entry::Help => None,
            Entry::Filter => {
                self.press_in_filter(key.code);
                None
            }
            Entry::Modes => {
                self.press_in_modes(key.code);
                None
            }
            Entry::Draft(draft) => {
                self.press_in_draft(draft, key.code);
                None
            }
            Entry::Question(change, question) => self.answer(change, question, key.code),
        };
        self.settle();
        act
    }

    fn clear_line(&mut self) {
        match &mut self.entry {
            Entry::Filter => {
                self.filter.clear();
                self.refresh();
            }
            Entry::Draft(draft) => draft.clear(),
            _ => {}
        }
    }

    fn press_in_table(&mut self, key: KeyCode) -> Option<Act> {
        let page = self.page();
        match key {
            KeyCode::Char('q') => return Some(Act::Quit),
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.entry = Entry::Help,
            KeyCode::Char('/') => self.entry = Entry::Filter,
            KeyCode::Esc => {
                self.filter.clear();
                self.refresh();
            }
            KeyCode::Tab => self.show(match self.view {
                View::Queues => View::Processes,
                View::Processes | View::Rules => View::Queues,
            }),
            KeyCode::Char('r') => self.show(match self.view {
                View::Rules => View::Queues,
                View::Queues | View::Processes => View::Rules,
            }),
            KeyCode::Up | KeyCode::Char('k') => self.select(self.selected.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.select(self.selected.saturating_add(1)),
            KeyCode::PageUp => self.select(self.selected.saturating_sub(page)),
            KeyCode::PageDown => self.select(self.selected.saturating_add(page)),
            KeyCode::Home | KeyCode::Char('g') => self.select_first(),
            KeyCode::End | KeyCode::Char('G') => self.select(usize::MAX),
            KeyCode::Left | KeyCode::Char('<') => self.sort_by_next(COLUMNS.len() - 1),
            KeyCode::Right | KeyCode::Char('>') => self.sort_by_next(1),
            KeyCode::Char('i') => {
                self.sort.falling = !self.sort.falling;
                self.refresh();
            }
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('+') => self.change_interval(true),
            KeyCode::Char('-') => self.change_interval(false),
            KeyCode::Char('m') if self.may_change() => self.entry = Entry::Modes,
            KeyCode::Char('a') if self.may_change() => self.begin_rule(),
            KeyCode::Char('d') if self.may_change() => self.delete_rule(),
            _ => {}
        }
        None
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.select_first();
        self.refresh();
    }

    fn sort_by_next(&mut self, steps: usize) {
        let at = COLUMNS
            .iter()
            .position(|column| *column == self.sort.column);
        let next = (at.unwrap_or(0) + steps) % COLUMNS.len();
        self.sort = Sort::by(COLUMNS[next]);
        self.refresh();
    }

    fn change_interval(&mut self, longer: bool) {
        let mut all = INTERVALS.map(Duration::from_millis).to_vec();
        if !longer {
            all.reverse();
        }
        let next = all.into_iter().find(|step| match longer {
            true => *step > self.interval,
            false => *step < self.interval,
        });
        self.interval = next.unwrap_or(self.interval);
    }

    /// Whether something may be changed; if not, why is said.
    fn may_change(&mut self) -> bool {
        let why = match &self.look {
            None => Some("there is nothing to change: the module cannot be read".to_owned()),
            Some(look) => look
                .read_only
                .as_ref()
                .map(|why| format!("read-only: {}", clean(why))),
        };
        let may = why.is_none();
        self.message = why;
        may
    }

    /// Takes something from the last look, which may have been impossible.
    fn known<T>(&self, take: impl FnOnce(&Look) -> T) -> T {
        match &self.look {
            Some(look) => take(look),
            None => take(&Look::default()),
        }
    }

    fn begin_rule(&mut self) {
        match (self.row(), &self.look) {
            (Some(row), Some(look)) => self.entry = Entry::Draft(Draft::of(row, look)),
            _ => {
                self.message =
                    Some("select a queue or a process for the rule first: Tab lists them".into());
            }
        }
    }

    fn delete_rule(&mut self) {
        let rule = match self.view {
            View::Rules => self.rules.get(self.selected).map(|rule| rule.id),
            View::Queues | View::Processes => {
                let number = self.row().and_then(|row| row.rule);
                number.and_then(|number| u32::try_from(number).ok())
            }
        };
        match rule {
            Some(number) => {
                let change = self.known(|look| Change::delete(number, look));
                self.put_question(change, None);
            }
            None => self.message = Some("no rule applies here: r lists all rules".into()),
        }
    }

    fn put_question(&mut self, change: Change, applies: Option<u64>) {
        let question = change.question(applies);
        self.entry = Entry::Question(change, question);
    }

    fn press_in_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => return,
            KeyCode::Esc => {
                self.filter.clear();
                self.refresh();
                return;
            }
            KeyCode::Char(character) if self.filter.len() < 200 => self.filter.push(character),
            KeyCode::Backspace => {
                self.filter.pop();
            }
            _ => {}
        }
        self.entry = Entry::Filter;
        self.refresh();
    }

    fn press_in_modes(&mut self, key: KeyCode) {
        let mode = match key {
            KeyCode::Char('1') => Mode::Off,
            KeyCode::Char('2') => Mode::Observe,
            KeyCode::Char('3') => Mode::Enforce,
            KeyCode::Esc | KeyCode::Char('q' | 'n') => return,
            _ => {
                self.entry = Entry::Modes;
                return;
            }
        };
        self.put_question(Change::Mode(mode), None);
    }

    fn press_in_draft(&mut self, mut draft: Draft, key: KeyCode) {
        match key {
            KeyCode::Esc => return,
            KeyCode::Enter => {
                if let Ok(rule) = draft.rule() {
                    let change = self.known(|look| Change::add(rule, &draft, look));
                    self.put_question(change, draft.applies);
                    return;
                }
            }
            KeyCode::Tab => draft.next_subject(),
            KeyCode::Up | KeyCode::Down => draft.next_effect(),
            KeyCode::Backspace => draft.pop(),
            KeyCode::Char(character) => draft.push(character),
            _ => {}
        }
        self.entry = Entry::Draft(draft);
    }

    fn answer(&mut self, change: Change, question: String, key: KeyCode) -> Option<Act> {
        match key {
            KeyCode::Char('n' | 'q') | KeyCode::Esc => {
                self.message = Some("nothing was written".into());
                None
            }
            KeyCode::Char('y') => {
                self.entry = Entry::Question(change.clone(), question);
                let fits = self.question_fits();
                self.entry = Entry::Table;
                if !fits {
                    self.message = Some(
                        "nothing was written: the terminal is too small to show the question"
                            .into(),
                    );
                    return None;
                }
                self.message = Some(format!("writing '{}' to {}", change.words(), change.file()));
                Some(Act::Change(change))
            }
            _ => {
                self.entry = Entry::Question(change, question);
                None
            }
        }
    }
}
