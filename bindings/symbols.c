// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two functions of amdgpu that make a transaction: stop everything under
 * the queue manager's lock, and map what is active again.  amdgpu exports
 * neither.  Their addresses come from the probe code, and the calls are direct
 * ones: on CPUs with indirect branch tracking an indirect call to either would
 * be fatal, because nobody else takes their address.
 */
#include <linux/errno.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/printk.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "shim.h"

static_assert(GP_SYMBOL_LEN <= KSYM_SYMBOL_LEN);

static int gp_not_bound(void *dqm)
{
	return -EOPNOTSUPP;
}

DEFINE_STATIC_CALL(gp_lock_and_unmap, gp_not_bound);
DEFINE_STATIC_CALL(gp_map_and_unlock, gp_not_bound);

/**
 * gp_symbol_name() - the symbol at an address, as "name+0x0/0x10 [module]"
 * @address: of code
 * @name: takes GP_SYMBOL_LEN bytes
 *
 * Context: any.
 */
void gp_symbol_name(unsigned long address, char *name)
{
	char buffer[KSYM_SYMBOL_LEN];

	sprint_symbol(buffer, address);
	strscpy(name, buffer, GP_SYMBOL_LEN);
}

/*
 * The offset of @address from the entry of the function @name of amdgpu, or
 * -ENOENT when it belongs to another function or another module.
 */
static int gp_symbol_offset(const char *name, unsigned long address)
{
	char buffer[KSYM_SYMBOL_LEN];
	size_t length = strlen(name);
	unsigned int offset;

	sprint_symbol(buffer, address);
	if (strncmp(buffer, name, length) || sscanf(buffer + length, "+0x%x/", &offset) != 1 ||
	    !strstr(buffer, " [amdgpu]")) {
		pr_err("amd_gpreempt: %s is %s, not a function of amdgpu\n", name, buffer);
		return -ENOENT;
	}
	return offset;
}

/**
 * gp_function_of_amdgpu() - where the function of amdgpu with this name begins
 * @name: its name
 *
 * The probe is never armed; only its address is of interest.  That is behind
 * the landing pad of indirect branch tracking where the kernel has such.
 *
 * Context: process context, sleeps.  Return: the address, or 0 if there is none.
 */
unsigned long gp_function_of_amdgpu(const char *name)
{
	struct kprobe probe = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };
	unsigned long address;
	int offset, error = register_kprobe(&probe);

	if (error) {
		pr_info("amd_gpreempt: amdgpu has no function %s (%d)\n", name, error);
		return 0;
	}
	address = (unsigned long)probe.addr;
	unregister_kprobe(&probe);
	offset = gp_symbol_offset(name, address);
	return offset == 0 || offset == 4 ? address - offset : 0;
}

/**
 * gp_hws_bind() - find the two functions
 *
 * Context: process context, sleeps; amdgpu is pinned.  Return: 0, or -ENOENT
 * when one of them is not there.
 */
int gp_hws_bind(void)
{
	unsigned long unmap = gp_function_of_amdgpu("debug_lock_and_unmap");
	unsigned long map = gp_function_of_amdgpu("debug_map_and_unlock");

	if (!unmap || !map)
		return -ENOENT;
	static_call_update(gp_lock_and_unmap, (int (*)(void *))unmap);
	static_call_update(gp_map_and_unlock, (int (*)(void *))map);
	return 0;
}

/**
 * gp_hws_unbind() - forget the two functions
 *
 * Context: process context, sleeps; no call is under way.
 */
void gp_hws_unbind(void)
{
	static_call_update(gp_lock_and_unmap, gp_not_bound);
	static_call_update(gp_map_and_unlock, gp_not_bound);
}

/**
 * gp_hws_lock_and_unmap() - take the queue manager's lock and unmap all queues
 * @dqm: struct device_queue_manager
 *
 * Context: process context, sleeps up to queue_preemption_timeout_ms.
 * Return: 0 with the lock held, or -errno without it.
 */
int gp_hws_lock_and_unmap(void *dqm)
{
	return static_call(gp_lock_and_unmap)(dqm);
}

/**
 * gp_hws_map_and_unlock() - map all active queues and release the lock
 * @dqm: struct device_queue_manager, locked by gp_hws_lock_and_unmap()
 *
 * Context: the task that took the lock.  Return: 0 or -errno; the lock is
 * released in either case.
 */
int gp_hws_map_and_unlock(void *dqm)
{
	return static_call(gp_map_and_unlock)(dqm);
}
