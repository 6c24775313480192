// SPDX-License-Identifier: GPL-2.0-only
/* The sleep of the monitor threads, and what ends it. */
#include <linux/atomic.h>
#include <linux/fprobe.h>
#include <linux/freezer.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "shim.h"

/**
 * struct gp_alarm - what wakes one thread
 * @list: in gp_alarms
 * @sleepers: where the thread sleeps
 * @calls: how often all threads were called
 * @creations: how often a queue was created on the node
 * @node: the node's struct kfd_node, which is compared and never followed
 * @created: wakes the thread where nothing may be woken
 */
struct gp_alarm {
	struct list_head list;
	wait_queue_head_t sleepers;
	atomic_t calls;
	atomic_t creations;
	unsigned long node;
	struct irq_work created;
};

/* All alarms: changed with the mutex held, read under RCU. */
static LIST_HEAD(gp_alarms);
static DEFINE_MUTEX(gp_alarms_mutex);

static void gp_alarm_created(struct irq_work *work)
{
	struct gp_alarm *alarm = container_of(work, struct gp_alarm, created);

	atomic_inc_return_release(&alarm->creations);
	wake_up_all(&alarm->sleepers);
}

/**
 * gp_alarm_create() - make what wakes a thread
 *
 * Context: process context, may sleep.  Return: the alarm, or NULL.
 */
struct gp_alarm *gp_alarm_create(void)
{
	struct gp_alarm *alarm = kzalloc(sizeof(*alarm), GFP_KERNEL);

	if (!alarm)
		return NULL;
	init_waitqueue_head(&alarm->sleepers);
	init_irq_work(&alarm->created, gp_alarm_created);
	mutex_lock(&gp_alarms_mutex);
	list_add_tail_rcu(&alarm->list, &gp_alarms);
	mutex_unlock(&gp_alarms_mutex);
	return alarm;
}

/**
 * gp_alarm_destroy() - undo gp_alarm_create()
 * @alarm: on which nobody sleeps
 *
 * Context: process context, sleeps.
 */
void gp_alarm_destroy(struct gp_alarm *alarm)
{
	mutex_lock(&gp_alarms_mutex);
	list_del_rcu(&alarm->list);
	mutex_unlock(&gp_alarms_mutex);
	/* From then on no probe finds it any more. */
	synchronize_rcu();
	irq_work_sync(&alarm->created);
	kfree(alarm);
}

/**
 * gp_alarm_set_node() - say on which node the creation of a queue wakes
 * @alarm: the thread's
 * @node: the address of its struct kfd_node
 *
 * Context: any.
 */
void gp_alarm_set_node(struct gp_alarm *alarm, unsigned long node)
{
	WRITE_ONCE(alarm->node, node);
}

/**
 * gp_alarm_heard() - what an alarm has heard so far
 * @alarm: the thread's
 *
 * Read it before looking at anything; what happens after that ends gp_sleep().
 * Context: any.
 */
struct gp_heard gp_alarm_heard(const struct gp_alarm *alarm)
{
	return (struct gp_heard) {
		.calls = atomic_read_acquire(&alarm->calls),
		.creations = atomic_read_acquire(&alarm->creations),
	};
}

/**
 * gp_call_all() - wake all monitor threads
 *
 * Context: where a spinlock_t may be taken, which on a real-time kernel sleeps.
 */
void gp_call_all(void)
{
	struct gp_alarm *alarm;

	rcu_read_lock();
	list_for_each_entry_rcu(alarm, &gp_alarms, list) {
		atomic_inc_return_release(&alarm->calls);
		wake_up_all(&alarm->sleepers);
	}
	rcu_read_unlock();
}

static bool gp_is_over(const struct gp_alarm *alarm, struct gp_heard seen, bool hears_creations)
{
	struct gp_heard heard = gp_alarm_heard(alarm);

	return kthread_should_stop() || freezing(current) || heard.calls != seen.calls ||
	       (hears_creations && heard.creations != seen.creations);
}

static void gp_wait(struct gp_alarm *alarm, struct gp_heard seen, bool hears_creations,
		    u64 timeout_ns)
{
	ktime_t timeout = timeout_ns < KTIME_MAX ? ns_to_ktime(timeout_ns) : KTIME_MAX;

	__wait_event_hrtimeout(alarm->sleepers, gp_is_over(alarm, seen, hears_creations),
			       timeout, TASK_INTERRUPTIBLE);
}

/**
 * gp_sleep() - sleep until woken, stopped, to be frozen, or for a time
 * @alarm: the thread's
 * @seen: what gp_alarm_heard() said before the look that found nothing to do
 * @deaf_ns: for how long the creation of a queue does not end it
 * @timeout_ns: how long at most; U64_MAX is for ever
 *
 * Context: a thread of gp_thread_start() with no lock held.
 */
void gp_sleep(struct gp_alarm *alarm, struct gp_heard seen, u64 deaf_ns, u64 timeout_ns)
{
	gp_wait(alarm, seen, false, min(deaf_ns, timeout_ns));
	if (timeout_ns > deaf_ns && !gp_is_over(alarm, seen, true))
		gp_wait(alarm, seen, true,
			timeout_ns == U64_MAX ? U64_MAX : timeout_ns - deaf_ns);
}

/*
 * Probes run with preemption off, where a real-time kernel can wake nobody.  Who
 * fails to create a queue wakes nobody: anyone can do that in a loop.  A node that
 * no thread has seen yet is anyone's.
 */
static void gp_creation_ended(unsigned long node, int result)
{
	struct gp_alarm *alarm;
	bool known = false;

	if (result)
		return;
	rcu_read_lock();
	list_for_each_entry_rcu(alarm, &gp_alarms, list) {
		if (READ_ONCE(alarm->node) != node)
			continue;
		known = true;
		irq_work_queue(&alarm->created);
	}
	if (!known)
		list_for_each_entry_rcu(alarm, &gp_alarms, list)
			irq_work_queue(&alarm->created);
	rcu_read_unlock();
}

/* The node is the second argument of what is probed; at its end no register has it. */
#define GP_NODE_ARGUMENT 1

#if defined(GP_FPROBE_TAKES_PT_REGS) || defined(GP_FPROBE_TAKES_FTRACE_REGS)
#ifdef GP_FPROBE_TAKES_PT_REGS
/* Before 6.14 the registers have another type. */
#define gp_registers pt_regs
#define gp_argument(regs, number) regs_get_kernel_argument(regs, number)
#define gp_result(regs) regs_return_value(regs)
#else
#define gp_registers ftrace_regs
#define gp_argument(regs, number) ftrace_regs_get_argument(regs, number)
#define gp_result(regs) ftrace_regs_get_return_value(regs)
#endif

static int gp_creation_begins(struct fprobe *probe, unsigned long entry, unsigned long caller,
			      struct gp_registers *regs, void *data)
{
	*(unsigned long *)data = gp_argument(regs, GP_NODE_ARGUMENT);
	return 0;
}

static void gp_creation_ends(struct fprobe *probe, unsigned long entry, unsigned long caller,
			     struct gp_registers *regs, void *data)
{
	gp_creation_ended(*(unsigned long *)data, gp_result(regs));
}

static struct fprobe gp_creation_watch;

/**
 * gp_creation_watch_start() - wake a node's thread when a KFD queue is created on it
 *
 * By its symbol: a name is a pattern to the kernel, which compares it with each
 * function that there is, for seconds.
 *
 * Context: process context, may sleep.  Return: 0, or -errno where functions
 * cannot be probed; then the caller has to poll.
 */
int gp_creation_watch_start(void)
{
	const char *function = "pqm_create_queue";

	/*
	 * What an earlier registration has left in it points, on 6.12, to a list of
	 * functions that is freed, which the kernel would free once more.
	 */
	gp_creation_watch = (struct fprobe) {
		.entry_handler = gp_creation_begins,
		.exit_handler = gp_creation_ends,
		.entry_data_size = sizeof(unsigned long),
	};
	return register_fprobe_syms(&gp_creation_watch, &function, 1);
}

/**
 * gp_creation_watch_stop() - undo gp_creation_watch_start()
 *
 * Context: process context, sleeps until no probe runs.
 */
void gp_creation_watch_stop(void)
{
	unregister_fprobe(&gp_creation_watch);
}
#else
/* Kernels without such probes have those that patch the function, which cost more. */
static int gp_creation_begins(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	*(unsigned long *)instance->data = regs_get_kernel_argument(regs, GP_NODE_ARGUMENT);
	return 0;
}

static int gp_creation_ends(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	gp_creation_ended(*(unsigned long *)instance->data, regs_return_value(regs));
	return 0;
}

static struct kretprobe gp_creation_watch = {
	.entry_handler = gp_creation_begins,
	.handler = gp_creation_ends,
	.data_size = sizeof(unsigned long),
};

int gp_creation_watch_start(void)
{
	/* What an earlier registration has left in it is refused. */
	gp_creation_watch.kp = (struct kprobe) { .symbol_name = "pqm_create_queue" };
	return register_kretprobe(&gp_creation_watch);
}

void gp_creation_watch_stop(void)
{
	unregister_kretprobe(&gp_creation_watch);
}
#endif
