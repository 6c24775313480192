// SPDX-License-Identifier: GPL-2.0-only
/* The system's sleep, heard of before anything is prepared for it. */
#include <linux/err.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <linux/suspend.h>

#include "shim.h"

/**
 * struct gp_sleep_watch - a watch over the system's sleep
 * @block: in the kernel's chain
 * @event: see gp_sleep_watch_start()
 * @data: passed to @event
 */
struct gp_sleep_watch {
	struct notifier_block block;
	int (*event)(void *data, bool asleep);
	void *data;
};

static int gp_sleep_event(struct notifier_block *block, unsigned long action, void *unused)
{
	struct gp_sleep_watch *watch = container_of(block, struct gp_sleep_watch, block);

	switch (action) {
	case PM_HIBERNATION_PREPARE:
	case PM_SUSPEND_PREPARE:
	case PM_RESTORE_PREPARE:
		return notifier_from_errno(watch->event(watch->data, true));
	case PM_POST_HIBERNATION:
	case PM_POST_SUSPEND:
	case PM_POST_RESTORE:
		watch->event(watch->data, false);
		break;
	}
	return NOTIFY_DONE;
}

/**
 * gp_sleep_watch_start() - hear of the system's sleep
 * @event: called in process context while nothing is frozen, with @asleep true
 *	before the system sleeps, which a negative errno keeps awake, and false
 *	when it is awake again or stays so
 * @data: passed to @event
 *
 * Context: process context, sleeps.  Return: the watch, or an error pointer.
 */
struct gp_sleep_watch *gp_sleep_watch_start(int (*event)(void *data, bool asleep), void *data)
{
	struct gp_sleep_watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL);
	int error;

	if (!watch)
		return ERR_PTR(-ENOMEM);
	watch->event = event;
	watch->data = data;
	watch->block.notifier_call = gp_sleep_event;
	/* Before the driver, which treats its queues otherwise from its own notice on. */
	watch->block.priority = 1;
	error = register_pm_notifier(&watch->block);
	if (error) {
		kfree(watch);
		return ERR_PTR(error);
	}
	return watch;
}

/**
 * gp_sleep_watch_stop() - undo gp_sleep_watch_start()
 * @watch: its result
 *
 * Context: process context, sleeps until no event is being reported.
 */
void gp_sleep_watch_stop(struct gp_sleep_watch *watch)
{
	unregister_pm_notifier(&watch->block);
	kfree(watch);
}
