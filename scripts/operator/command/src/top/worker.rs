// SPDX-License-Identifier: GPL-2.0-only
//! Reading and writing beside the view, which so has an ear for keys also while the
//! module lets a reader wait.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use gpreempt_operator::host::{Host, Refusal};

use super::look::{look, Look};
use super::question::Change;

/// What the view wants.
pub enum Wish {
    Look,
    /// A change, and a look at what it has changed.
    Change(Change),
}

/// What it gets.
pub enum Reply {
    Looked(Box<Result<Look, Refusal>>),
    Changed(Box<Change>, Result<(), Refusal>),
}

/// The two ends of the thread. It ends when its wishes do.
pub fn start(mut host: Host) -> Result<(Sender<Wish>, Receiver<Reply>), Refusal> {
    let (wishes, wished) = mpsc::channel();
    let (replies, replied) = mpsc::channel();
    let serve = move || {
        for wish in wished {
            if let Wish::Change(change) = wish {
                let result = change.make(&mut host);
                if replies
                    .send(Reply::Changed(Box::new(change), result))
                    .is_err()
                {
                    return;
                }
            }
            let found = Box::new(look(&host));
            if replies.send(Reply::Looked(found)).is_err() {
                return;
            }
        }
    };
    let started = thread::Builder::new().spawn(serve);
    started.map_err(|error| Refusal(format!("cannot start a thread: {error}")))?;
    Ok((wishes, replied))
}
