// SPDX-License-Identifier: GPL-2.0-only
/* The system's sleep, heard of before anything is prepared for it. */
#include <linux/notifier.h>
#include <linux/suspend.h>

#include "shim.h"

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
 * @watch: what to watch; must stay where it is until gp_sleep_watch_stop()
 *
 * Context: process context, sleeps.  Return: 0 or -errno.
 */
int gp_sleep_watch_start(struct gp_sleep_watch *watch)
{
	watch->block.notifier_call = gp_sleep_event;
	/* Before the driver, which treats its queues otherwise from its own notice on. */
	watch->block.priority = 1;
	return register_pm_notifier(&watch->block);
}

/**
 * gp_sleep_watch_stop() - undo gp_sleep_watch_start()
 * @watch: its argument
 *
 * Context: process context, sleeps until no event is being reported.
 */
void gp_sleep_watch_stop(struct gp_sleep_watch *watch)
{
	unregister_pm_notifier(&watch->block);
}
