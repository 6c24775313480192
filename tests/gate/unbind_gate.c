// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps amdgpu's devices from being unbound, after everybody has been told and
 * before the driver itself is called, until the parameter "open" is written.
 *
 * The driver cannot be unbound while programs use the GPU: it frees its own DRM
 * client first and then has the programs' memory freed through it.  A test ends
 * them here.
 */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/pci.h>

static bool open;
module_param(open, bool, 0644);
MODULE_PARM_DESC(open, "let unbinding go on");

static bool waiting;
module_param(waiting, bool, 0444);
MODULE_PARM_DESC(waiting, "whether unbinding waits here");

static int gate_event(struct notifier_block *block, unsigned long action, void *data)
{
	const struct device *device = data;

	if (action != BUS_NOTIFY_UNBIND_DRIVER || strcmp(device->driver->name, "amdgpu"))
		return NOTIFY_DONE;
	WRITE_ONCE(waiting, true);
	while (!READ_ONCE(open))
		msleep(20);
	WRITE_ONCE(waiting, false);
	return NOTIFY_DONE;
}

static struct notifier_block gate = {
	.notifier_call = gate_event,
	/* After everybody else. */
	.priority = INT_MIN,
};

static int __init gate_start(void)
{
	return bus_register_notifier(&pci_bus_type, &gate);
}

static void __exit gate_end(void)
{
	bus_unregister_notifier(&pci_bus_type, &gate);
}

module_init(gate_start);
module_exit(gate_end);
MODULE_DESCRIPTION("Holds the unbinding of amdgpu up, for tests");
MODULE_LICENSE("GPL");
