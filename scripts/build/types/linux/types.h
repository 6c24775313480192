/* SPDX-License-Identifier: GPL-2.0-only */
/* What bindings/shim.h needs of the kernel's header: the types that are the same on all. */
#include <stdbool.h>

/* No typedef: bindgen would give it a name beside Rust's own. */
#define u8 unsigned char
#define u32 unsigned int
#define u64 unsigned long long
typedef unsigned long size_t;
typedef long ssize_t;
