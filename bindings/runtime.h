/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What rust/standalone asks of C, where the kernel has no Rust of its own.
 *
 * As of shim.h, bindgen's output is the same for all kernels: bindings/runtime.rs.
 */
#ifndef GP_RUNTIME_H
#define GP_RUNTIME_H

#include <linux/types.h>

struct seq_file;

/* Room for the kernel's struct mutex, and for its struct lock_class_key. */
struct gp_rt_mutex {
	u64 space[24];
};

struct gp_rt_key {
	u64 space[8];
};

void *gp_rt_alloc(size_t size, bool contiguous);
void gp_rt_free(void *memory);
void gp_rt_print(u8 level, const char *text, size_t length);
void gp_rt_seq_write(struct seq_file *file, const char *text, size_t length);
void gp_rt_mutex_init(struct gp_rt_mutex *mutex, const char *name, struct gp_rt_key *key);
void gp_rt_mutex_lock(struct gp_rt_mutex *mutex);
void gp_rt_mutex_unlock(struct gp_rt_mutex *mutex);
void gp_rt_sleep(u64 us);
void gp_rt_bug(void);

/* Made by Rust's module!(), and so not for bindgen, which takes what begins with gp_. */
int rust_module_init(void);
void rust_module_exit(void);

#endif /* GP_RUNTIME_H */
