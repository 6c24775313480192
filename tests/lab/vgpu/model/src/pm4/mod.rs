// SPDX-License-Identifier: GPL-2.0-only
//! The command processor's own packets (PM4), as the driver's rings and the
//! scheduler firmware's ring carry them.

mod execute;
