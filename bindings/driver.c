// SPDX-License-Identifier: GPL-2.0-only
/* amdgpu as the driver core sees it: the driver, its module, types and devices. */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/rcupdate.h>
#include <linux/sysfs.h>

#include "shim.h"

/**
 * gp_amdgpu_get() - find amdgpu and keep it loaded
 *
 * amdgpu does not know about this module, so that nothing but the reference
 * taken here keeps the text that we call.  driver_find() takes no reference;
 * the RCU section keeps a module that is just being unloaded in memory until
 * its reference was refused.
 *
 * Context: process context.  Return: the driver, or an error pointer.
 */
struct device_driver *gp_amdgpu_get(void)
{
	struct device_driver *driver;

	rcu_read_lock();
	driver = driver_find("amdgpu", &pci_bus_type);
	if (driver && !try_module_get(driver->owner))
		driver = NULL;
	rcu_read_unlock();
	return driver ?: ERR_PTR(-ENODEV);
}

/**
 * gp_amdgpu_hold() - keep amdgpu loaded once more
 * @driver: what gp_amdgpu_get() returned, not yet put
 */
void gp_amdgpu_hold(struct device_driver *driver)
{
	__module_get(driver->owner);
}

/**
 * gp_amdgpu_put() - undo gp_amdgpu_get() or gp_amdgpu_hold()
 * @driver: what it returned
 */
void gp_amdgpu_put(struct device_driver *driver)
{
	module_put(driver->owner);
}

/**
 * gp_amdgpu_number() - what a parameter of amdgpu is, if it has such a one
 * @driver: what gp_amdgpu_get() returned, not yet put
 * @name: the parameter's
 * @value: set to it
 *
 * Return: whether amdgpu has a parameter of that name that is an int.
 */
bool gp_amdgpu_number(struct device_driver *driver, const char *name, int *value)
{
	const struct module *owner = driver->owner;
	unsigned int at;

	for (at = 0; owner && at < owner->num_kp; at++) {
		const struct kernel_param *parameter = &owner->kp[at];

		if (strcmp(parameter->name, name) || parameter->ops != &param_ops_int)
			continue;
		*value = READ_ONCE(*(int *)parameter->arg);
		return true;
	}
	return false;
}

/**
 * gp_type_info() - the kernel's copy of type information (BTF)
 * @module: of which module; "vmlinux" for that of the kernel itself
 * @size: set to the number of bytes
 *
 * The kernel has no function for it.  What /sys/kernel/btf shows is the copy
 * itself, which is only read once it is made, and lasts as long as the module
 * is loaded.  That the attribute refers to it is the kernel's own affair; the
 * reader, which copies from where the attribute refers to, says so.
 *
 * Context: process context, sleeps; the module is pinned.  Return: the bytes, NULL
 * if there are none, or an error pointer if another reader shows them.
 */
const void *gp_type_info(const char *module, size_t *size)
{
	struct kernfs_node *folder = sysfs_get_dirent(kernel_kobj->sd, "btf");
	struct kernfs_node *file = NULL;
	const void *data = NULL;

	if (folder && kernfs_type(folder) == KERNFS_DIR)
		file = sysfs_get_dirent(folder, module);
	/* Only files of fixed contents are in the folder. */
	if (file && kernfs_type(file) == KERNFS_FILE) {
		const struct bin_attribute *attribute = file->priv;

		if (attribute->read == sysfs_bin_attr_simple_read)
			data = attribute->private;
		else
			data = ERR_PTR(-EOPNOTSUPP);
		*size = attribute->size;
	}
	kernfs_put(file);
	kernfs_put(folder);
	return data;
}

struct gp_each {
	struct device_driver *driver;
	void (*found)(void *data, struct device *device);
	void *data;
};

/*
 * Most devices of the bus are another driver's, and their locks are left alone.
 * One that is being unbound still names its driver; its lock tells.
 */
static int gp_each_device(struct device *device, void *data)
{
	struct gp_each *each = data;

	if (READ_ONCE(device->driver) != each->driver)
		return 0;
	device_lock(device);
	if (device->driver == each->driver)
		each->found(each->data, device);
	device_unlock(device);
	return 0;
}

/**
 * gp_amdgpu_each() - call a function for each device that amdgpu is bound to
 * @driver: what gp_amdgpu_get() returned
 * @found: called under the device's lock
 * @data: passed to @found
 *
 * Context: process context, sleeps.
 */
int gp_amdgpu_each(struct device_driver *driver, void (*found)(void *data, struct device *device),
		   void *data)
{
	struct gp_each each = { .driver = driver, .found = found, .data = data };

	/*
	 * Not driver_for_each_device(): unbinding waits, under the device's
	 * lock, until nobody stands at the device in the driver's list.
	 */
	return bus_for_each_dev(&pci_bus_type, NULL, &each, gp_each_device);
}

static int gp_bus_event(struct notifier_block *block, unsigned long action, void *data)
{
	struct gp_bus_watch *watch = container_of(block, struct gp_bus_watch, block);
	struct device *device = data;

	if (device->driver != watch->driver)
		return NOTIFY_DONE;
	if (action == BUS_NOTIFY_BOUND_DRIVER)
		watch->event(watch->data, device, true);
	else if (action == BUS_NOTIFY_UNBIND_DRIVER)
		watch->event(watch->data, device, false);
	return NOTIFY_DONE;
}

/**
 * gp_bus_watch_start() - have events of the PCI bus reported
 * @watch: what to watch; must stay where it is until gp_bus_watch_stop()
 *
 * Context: process context, sleeps.  Return: 0 or -errno.
 */
int gp_bus_watch_start(struct gp_bus_watch *watch)
{
	watch->block.notifier_call = gp_bus_event;
	return bus_register_notifier(&pci_bus_type, &watch->block);
}

/**
 * gp_bus_watch_stop() - undo gp_bus_watch_start()
 * @watch: its argument
 *
 * Context: process context, sleeps until no event is being reported.
 */
void gp_bus_watch_stop(struct gp_bus_watch *watch)
{
	bus_unregister_notifier(&pci_bus_type, &watch->block);
}

/** gp_device_get() - take a reference to @device. */
void gp_device_get(struct device *device)
{
	get_device(device);
}

/** gp_device_put() - drop a reference to @device. */
void gp_device_put(struct device *device)
{
	put_device(device);
}

/** gp_device_data() - what the driver of @device keeps for it, or NULL. */
void *gp_device_data(struct device *device)
{
	return dev_get_drvdata(device);
}

/** gp_device_pci() - the PCI device that @device is part of. */
void *gp_device_pci(struct device *device)
{
	return to_pci_dev(device);
}

/** gp_device_name() - the name of @device, as long as a reference is held. */
const char *gp_device_name(struct device *device)
{
	return dev_name(device);
}
