// SPDX-License-Identifier: GPL-2.0-only
/* amdgpu as the driver core sees it: the driver, its module, types and devices. */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
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

/*
 * The bytes that a file of /sys/kernel/btf shows.  Since 6.16 the file refers to the
 * kernel's own copy, which is only read once it is made, and lasts as long as the
 * module is loaded; who reads from where the file refers to says so.  Before that each
 * kind of file has a reader of its own, and is asked for a copy.
 */
static int gp_type_info_read(const struct bin_attribute *attribute, struct gp_type_info *info)
{
	ssize_t length;

#ifdef GP_SYSFS_HAS_SIMPLE_READ
	if (attribute->read == sysfs_bin_attr_simple_read) {
		info->bytes = attribute->private;
		info->size = attribute->size;
		return 0;
	}
#endif
	if (!attribute->read || !attribute->size)
		return -EOPNOTSUPP;
	info->copy = kvmalloc(attribute->size, GFP_KERNEL);
	if (!info->copy)
		return -ENOMEM;
	/* Releases differ in whether the reader may change the attribute; none does. */
	length = attribute->read(NULL, NULL, (void *)attribute, info->copy, 0, attribute->size);
	if (length != attribute->size) {
		gp_type_info_put(info);
		return length < 0 ? length : -EIO;
	}
	info->bytes = info->copy;
	info->size = length;
	return 0;
}

/**
 * gp_type_info_get() - the type information (BTF) of a module
 * @module: of which; "vmlinux" for that of the kernel itself
 * @info: set to it, until gp_type_info_put()
 *
 * The kernel has no function for it.
 *
 * Context: process context, sleeps; the module is pinned until gp_type_info_put().
 * Return: 0, also if there is none, or -errno.
 */
int gp_type_info_get(const char *module, struct gp_type_info *info)
{
	struct kernfs_node *folder = sysfs_get_dirent(kernel_kobj->sd, "btf");
	struct kernfs_node *file = NULL;
	int error = 0;

	*info = (struct gp_type_info) { };
	if (folder && kernfs_type(folder) == KERNFS_DIR)
		file = sysfs_get_dirent(folder, module);
	/* Only files of fixed contents are in the folder. */
	if (file && kernfs_type(file) == KERNFS_FILE)
		error = gp_type_info_read(file->priv, info);
	kernfs_put(file);
	kernfs_put(folder);
	return error;
}

/** gp_type_info_put() - undo gp_type_info_get() */
void gp_type_info_put(struct gp_type_info *info)
{
	kvfree(info->copy);
	*info = (struct gp_type_info) { };
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

/**
 * struct gp_bus_watch - a watch over devices that amdgpu is bound to
 * @block: in the bus's chain
 * @driver: the amdgpu driver; other drivers' events are not reported
 * @event: see gp_bus_watch_start()
 * @data: passed to @event
 */
struct gp_bus_watch {
	struct notifier_block block;
	struct device_driver *driver;
	void (*event)(void *data, struct device *device, bool bound);
	void *data;
};

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
 * @driver: what gp_amdgpu_get() returned, not put before gp_bus_watch_stop()
 * @event: called under the device's lock, in process context, with @bound true
 *	after the driver took the device and false before it lets go of it
 * @data: passed to @event
 *
 * Context: process context, sleeps.  Return: the watch, or an error pointer.
 */
struct gp_bus_watch *gp_bus_watch_start(struct device_driver *driver,
					void (*event)(void *data, struct device *device,
						      bool bound),
					void *data)
{
	struct gp_bus_watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL);
	int error;

	if (!watch)
		return ERR_PTR(-ENOMEM);
	watch->driver = driver;
	watch->event = event;
	watch->data = data;
	watch->block.notifier_call = gp_bus_event;
	error = bus_register_notifier(&pci_bus_type, &watch->block);
	if (error) {
		kfree(watch);
		return ERR_PTR(error);
	}
	return watch;
}

/**
 * gp_bus_watch_stop() - undo gp_bus_watch_start()
 * @watch: its result
 *
 * Context: process context, sleeps until no event is being reported.
 */
void gp_bus_watch_stop(struct gp_bus_watch *watch)
{
	bus_unregister_notifier(&pci_bus_type, &watch->block);
	kfree(watch);
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
