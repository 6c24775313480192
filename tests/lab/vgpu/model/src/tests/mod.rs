// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the whole model, driven as a driver drives it.

mod dispatch;
mod fault;
mod machine;
mod machine_changes;
mod machine_handler;
mod machine_large;
mod machine_preempt;
mod machine_scratch;
mod manual;
mod partitions;
mod pm4;
mod pm4_dispatch;
mod pm4_dispatch_rules;
mod pm4_users;
mod preempt;
mod retry;
mod strict;
mod virtual_function;
