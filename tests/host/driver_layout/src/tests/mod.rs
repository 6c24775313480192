// SPDX-License-Identifier: GPL-2.0-only

//! Real drivers, drivers that are changed on purpose, made-up types, and damaged data.

mod changed;
mod damaged;
mod edit;
mod forms;
mod maker;
mod real;
mod rules;
