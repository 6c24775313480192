// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions of amdgpu that an unmapping of our own is made of.  amdgpu exports
 * none of them; they are found and called as the two in symbols.c are.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/static_call.h>

#include "shim.h"

static int gp_no_configure(void *manager, u32 command, u32 value)
{
	return -EOPNOTSUPP;
}

static int gp_no_unmap(void *manager, u32 filter, u32 parameter, bool reset)
{
	return -EOPNOTSUPP;
}

static int gp_no_query(void *manager, u64 address, u64 value)
{
	return -EOPNOTSUPP;
}

static int gp_no_wait(void *dqm, u64 value, unsigned int timeout_ms)
{
	return -EOPNOTSUPP;
}

static void gp_no_release(void *manager)
{
}

DEFINE_STATIC_CALL(gp_configure_wait, gp_no_configure);
DEFINE_STATIC_CALL(gp_send_unmap, gp_no_unmap);
DEFINE_STATIC_CALL(gp_send_query, gp_no_query);
DEFINE_STATIC_CALL(gp_wait_for_fence, gp_no_wait);
DEFINE_STATIC_CALL(gp_release_run_list, gp_no_release);

/**
 * gp_direct_bind() - find the functions
 *
 * Context: process context, sleeps; amdgpu is pinned.  Return: 0, or -ENOENT
 * when one of them is not there.
 */
int gp_direct_bind(void)
{
	unsigned long configure = gp_function_of_amdgpu("pm_config_dequeue_wait_counts");
	unsigned long unmap = gp_function_of_amdgpu("pm_send_unmap_queue");
	unsigned long query = gp_function_of_amdgpu("pm_send_query_status");
	unsigned long wait = gp_function_of_amdgpu("amdkfd_fence_wait_timeout");
	unsigned long release = gp_function_of_amdgpu("pm_release_ib");

	if (!configure || !unmap || !query || !wait || !release)
		return -ENOENT;
	static_call_update(gp_configure_wait, (int (*)(void *, u32, u32))configure);
	static_call_update(gp_send_unmap, (int (*)(void *, u32, u32, bool))unmap);
	static_call_update(gp_send_query, (int (*)(void *, u64, u64))query);
	static_call_update(gp_wait_for_fence, (int (*)(void *, u64, unsigned int))wait);
	static_call_update(gp_release_run_list, (void (*)(void *))release);
	return 0;
}

/**
 * gp_direct_unbind() - forget the functions
 *
 * Context: process context, sleeps; no call is under way.
 */
void gp_direct_unbind(void)
{
	static_call_update(gp_configure_wait, gp_no_configure);
	static_call_update(gp_send_unmap, gp_no_unmap);
	static_call_update(gp_send_query, gp_no_query);
	static_call_update(gp_wait_for_fence, gp_no_wait);
	static_call_update(gp_release_run_list, gp_no_release);
}

/**
 * gp_direct_configure() - have the firmware change how long waves may go on
 * @manager: struct packet_manager
 * @command: an enum kfd_config_dequeue_wait_counts_cmd
 * @value: what it is about
 *
 * Context: under the queue manager's lock, sleeps.  Return: 0 or -errno.
 */
int gp_direct_configure(void *manager, u32 command, u32 value)
{
	return static_call(gp_configure_wait)(manager, command, value);
}

/**
 * gp_direct_unmap() - have the firmware take queues off the hardware
 * @manager: struct packet_manager
 * @filter: an enum kfd_unmap_queues_filter that needs no parameter
 *
 * Context: under the queue manager's lock, sleeps.  Return: 0 or -errno.
 */
int gp_direct_unmap(void *manager, u32 filter)
{
	return static_call(gp_send_unmap)(manager, filter, 0, false);
}

/**
 * gp_direct_ask() - have the firmware write a number when it has come so far
 * @manager: struct packet_manager
 * @fence: where the driver sees the number
 * @address: where the firmware writes it
 * @before: the number until then
 * @after: the number from then on
 *
 * Context: under the queue manager's lock, sleeps.  Return: 0 or -errno.
 */
int gp_direct_ask(void *manager, u64 *fence, u64 address, u64 before, u64 after)
{
	WRITE_ONCE(*fence, before);
	/* The firmware's write is not to be lost under ours. */
	mb();
	return static_call(gp_send_query)(manager, address, after);
}

/**
 * gp_direct_wait() - wait until the driver sees a number at its fence
 * @dqm: struct device_queue_manager
 * @after: the number
 * @timeout_ms: for how long at most
 *
 * Context: under the queue manager's lock, sleeps.  Return: 0 or -errno.
 */
int gp_direct_wait(void *dqm, u64 after, u32 timeout_ms)
{
	return static_call(gp_wait_for_fence)(dqm, after, timeout_ms);
}

/**
 * gp_direct_release() - free the run list that the firmware does not read any more
 * @manager: struct packet_manager
 *
 * Context: under the queue manager's lock, sleeps.
 */
void gp_direct_release(void *manager)
{
	static_call(gp_release_run_list)(manager);
}
