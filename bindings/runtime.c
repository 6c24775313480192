// SPDX-License-Identifier: GPL-2.0-only
/*
 * What rust/standalone asks of C, and how the kernel's loader gets at the module, where
 * the kernel has no Rust of its own.
 */
#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "runtime.h"

static_assert(sizeof(struct mutex) <= sizeof(struct gp_rt_mutex));
static_assert(sizeof(struct lock_class_key) <= sizeof(struct gp_rt_key));
static_assert(ARCH_KMALLOC_MINALIGN >= 8);

/* Written down once more in rust/standalone/kernel/bindings.rs. */
static_assert(offsetof(struct kernel_param, name) == 0);
static_assert(offsetof(struct kernel_param, mod) == 8);
static_assert(offsetof(struct kernel_param, ops) == 16);
static_assert(offsetof(struct kernel_param, perm) == 24);
static_assert(offsetof(struct kernel_param, level) == 26);
static_assert(offsetof(struct kernel_param, flags) == 27);
static_assert(offsetof(struct kernel_param, arg) == 32);
static_assert(sizeof(struct kernel_param) == 40);
static_assert(offsetof(struct kernel_param_ops, flags) == 0);
static_assert(offsetof(struct kernel_param_ops, set) == 8);
static_assert(offsetof(struct kernel_param_ops, get) == 16);
static_assert(offsetof(struct kernel_param_ops, free) == 24);
static_assert(sizeof(struct kernel_param_ops) == 32);

void *gp_rt_alloc(size_t size, bool contiguous)
{
	return contiguous ? kmalloc(size, GFP_KERNEL) : kvmalloc(size, GFP_KERNEL);
}

void gp_rt_free(void *memory)
{
	kvfree(memory);
}

void gp_rt_print(u8 level, const char *text, size_t length)
{
	const char start[] = { KERN_SOH_ASCII, level, 0 };

	_printk("%s" KBUILD_MODNAME ": %.*s", start, (int)length, text);
}

void gp_rt_seq_write(struct seq_file *file, const char *text, size_t length)
{
	seq_write(file, text, length);
}

void gp_rt_mutex_init(struct gp_rt_mutex *mutex, const char *name, struct gp_rt_key *key)
{
	__mutex_init((struct mutex *)mutex, name, (struct lock_class_key *)key);
}

void gp_rt_mutex_lock(struct gp_rt_mutex *mutex)
{
	mutex_lock((struct mutex *)mutex);
}

void gp_rt_mutex_unlock(struct gp_rt_mutex *mutex)
{
	mutex_unlock((struct mutex *)mutex);
}

void gp_rt_sleep(u64 us)
{
	fsleep(us);
}

/*
 * It does not return.  Some releases of objtool have to know such a function by its name
 * and others find it out, so that none may see it.
 */
void gp_rt_bug(void)
{
	static bool wrong = true;

	BUG_ON(READ_ONCE(wrong));
}

static int __init gp_rt_init(void)
{
	return rust_module_init();
}
module_init(gp_rt_init);

static void __exit gp_rt_exit(void)
{
	rust_module_exit();
}
module_exit(gp_rt_exit);
