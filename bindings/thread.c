// SPDX-License-Identifier: GPL-2.0-only
/* The monitor threads: their start and their end, and their part in a suspend. */
#include <linux/err.h>
#include <linux/freezer.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "shim.h"

/* What a timer may be late, so that several wake-ups may become one. */
#define SLACK_NS 5000

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
	kthread_stop(thread);
	put_task_struct(thread);
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

/**
 * gp_nice_raise() - be preferred to all ordinary work
 *
 * Context: the current task.  Return: what gp_nice_restore() wants.
 */
int gp_nice_raise(void)
{
	int nice = task_nice(current);

	set_user_nice(current, MIN_NICE);
	return nice;
}

/**
 * gp_nice_restore() - undo gp_nice_raise()
 * @nice: what it returned
 *
 * Context: the same task.
 */
void gp_nice_restore(int nice)
{
	set_user_nice(current, nice);
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
 * gp_thread_should_freeze() - whether gp_thread_freeze() would stay
 *
 * Context: a thread of gp_thread_start().
 */
bool gp_thread_should_freeze(void)
{
	return freezing(current);
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
