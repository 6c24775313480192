// SPDX-License-Identifier: GPL-2.0-only
/* The monitor threads: their start, their sleep and what wakes them. */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/fprobe.h>
#include <linux/freezer.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "shim.h"

/* What a timer may be late, so that several wake-ups may become one. */
#define SLACK_NS 5000

static DECLARE_WAIT_QUEUE_HEAD(gp_sleepers);
static atomic_t gp_wakes = ATOMIC_INIT(0);

/**
 * gp_thread_start() - start a kernel thread
 * @body: runs in the thread
 * @data: passed to @body
 * @name: shown in the process list
 *
 * Context: process context, may sleep.  Return: the thread, with a reference
 * that gp_thread_stop() drops, or an error pointer.
 */
struct task_struct *gp_thread_start(int (*body)(void *data), void *data, const char *name)
{
	struct task_struct *thread = kthread_create(body, data, "%s", name);

	if (!IS_ERR(thread)) {
		/*
		 * As the kernel's own urgent workers: what it does between taking
		 * queues off a GPU and putting them back, the whole GPU waits for.
		 */
		set_user_nice(thread, MIN_NICE);
		get_task_struct(thread);
		wake_up_process(thread);
	}
	return thread;
}

/**
 * gp_thread_stop() - have a thread end, and wait until it has
 * @thread: what gp_thread_start() returned
 *
 * Context: process context, sleeps.  Hold nothing that the thread may take.
 */
void gp_thread_stop(struct task_struct *thread)
{
	kthread_stop_put(thread);
}

/**
 * gp_thread_should_stop() - whether gp_thread_stop() was called
 *
 * Context: a thread of gp_thread_start().
 */
bool gp_thread_should_stop(void)
{
	return kthread_should_stop();
}

/**
 * gp_thread_prepare() - make the current thread freezable
 *
 * A suspended system has no monitor that touches the driver.  It is frozen in
 * gp_thread_freeze(), where it holds nothing.
 * Context: a thread of gp_thread_start(), once.
 */
void gp_thread_prepare(void)
{
	set_freezable();
	current->timer_slack_ns = SLACK_NS;
}

/** gp_preempt_disable() - have no other task run here until gp_preempt_enable(). */
void gp_preempt_disable(void)
{
	preempt_disable();
}

/** gp_preempt_enable() - undo gp_preempt_disable(), by the same task. */
void gp_preempt_enable(void)
{
	preempt_enable();
}

/**
 * gp_wake_count() - how often gp_wake() was called
 *
 * Read it before looking at anything; a wake-up after that ends gp_sleep().
 * Context: any.
 */
u32 gp_wake_count(void)
{
	return atomic_read_acquire(&gp_wakes);
}

/**
 * gp_wake() - wake all monitor threads
 *
 * Context: where a spinlock_t may be taken, which on a real-time kernel sleeps.
 */
void gp_wake(void)
{
	atomic_inc_return_release(&gp_wakes);
	wake_up_all(&gp_sleepers);
}

/**
 * gp_thread_should_freeze() - whether gp_thread_freeze() would stay
 *
 * Context: a thread of gp_thread_start().
 */
bool gp_thread_should_freeze(void)
{
	return freezing(current);
}

/**
 * gp_sleep() - sleep until woken, stopped, to be frozen, or for a time
 * @seen: what gp_wake_count() said before the look that found nothing to do
 * @timeout_ns: how long at most; U64_MAX is for ever
 *
 * Context: a thread of gp_thread_start() with no lock held.
 */
void gp_sleep(u32 seen, u64 timeout_ns)
{
	ktime_t timeout = timeout_ns < KTIME_MAX ? ns_to_ktime(timeout_ns) : KTIME_MAX;

	__wait_event_hrtimeout(gp_sleepers,
			       kthread_should_stop() || gp_wake_count() != seen ||
			       gp_thread_should_freeze(),
			       timeout, TASK_INTERRUPTIBLE);
}

/**
 * gp_thread_freeze() - stay here while the system is frozen
 *
 * Context: a thread of gp_thread_start() with no lock held.
 */
void gp_thread_freeze(void)
{
	try_to_freeze();
}

/**
 * gp_thread_yield() - let others run
 *
 * Context: a thread of gp_thread_start() with no lock held.
 */
void gp_thread_yield(void)
{
	cond_resched();
}

static void gp_creation_wake(struct irq_work *work)
{
	gp_wake();
}

static DEFINE_IRQ_WORK(gp_creation, gp_creation_wake);

/* Probes run with preemption off, where a real-time kernel can wake nobody. */
static void gp_queue_created(struct fprobe *probe, unsigned long entry, unsigned long caller,
			     struct ftrace_regs *regs, void *data)
{
	irq_work_queue(&gp_creation);
}

static struct fprobe gp_creation_watch = { .exit_handler = gp_queue_created };

/**
 * gp_creation_watch_start() - wake the threads whenever a KFD queue is created
 *
 * Context: process context, may sleep.  Return: 0, or -errno where functions
 * cannot be probed; then the caller has to poll.
 */
int gp_creation_watch_start(void)
{
	return register_fprobe(&gp_creation_watch, "pqm_create_queue", NULL);
}

/**
 * gp_creation_watch_stop() - undo gp_creation_watch_start()
 *
 * Context: process context, sleeps until neither a probe nor its wake-up runs.
 */
void gp_creation_watch_stop(void)
{
	unregister_fprobe(&gp_creation_watch);
	irq_work_sync(&gp_creation);
}
