// SPDX-License-Identifier: GPL-2.0-only
//! Reading and writing beside the view, which so has an ear for keys also while the
//! module lets a reader wait.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use gpreempt_operator::host::tree::{Host, Refusal};

use super::look::{look, Look};
use super::question::Change;

/// What the view wants.
pub enum Wish {
    Look,
    /// A change, and a look at what it has changed.
    Change(Change),
}

/// What it gets. What became of a change comes with the look at what it has changed, so
/// that whoever reads the one and goes on does so with the other.
pub enum Reply {
    Looked(Box<Result<Look, Refusal>>),
    Changed(Box<Change>, Result<(), Refusal>, Box<Result<Look, Refusal>>),
}

/// The two ends of the thread. It ends when its wishes do.
pub fn start(mut host: Host) -> Result<(Sender<Wish>, Receiver<Reply>), Refusal> {
    let (wishes, wished) = mpsc::channel();
    let (replies, replied) = mpsc::channel();
    let serve = move || {
        for wish in wished {
            let reply = match wish {
                Wish::Look => Reply::Looked(Box::new(look(&host))),
                Wish::Change(change) => {
                    let result = change.make(&mut host);
                    Reply::Changed(Box::new(change), result, Box::new(look(&host)))
                }
            };
            if replies.send(reply).is_err() {
                return;
            }
        }
    };
    let started = thread::Builder::new().spawn(serve);
    started.map_err(|error| Refusal(format!("cannot start a thread: {error}")))?;
    Ok((wishes, replied))
}
