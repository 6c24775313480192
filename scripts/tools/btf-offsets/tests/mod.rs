// SPDX-License-Identifier: GPL-2.0-only

//! Real drivers, made-up types, and damaged data.

mod damaged;
mod elf_files;
mod list;
mod loaded;
mod maker;
mod real;
mod rules;
