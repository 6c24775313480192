// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device that our sysfs files hang on, with the files for rules.  It has no bus and
 * no driver: the kernel has faux devices for such since 6.14.  Before that this makes
 * the same two folders from what there was.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#if __has_include("linux/device/faux.h")
#include <linux/device/faux.h>
#endif

#include "root.h"
#include "shim.h"

static ssize_t gp_rules_store(struct device *device, bool add, const char *text, size_t length)
{
	struct gp_root_ops *ops = dev_get_drvdata(device);
	int error = ops ? ops->change(ops->data, add, text, length) : -ENXIO;

	return error ?: (ssize_t)length;
}

static ssize_t rules_add_store(struct device *device, struct device_attribute *attribute,
			       const char *text, size_t length)
{
	return gp_rules_store(device, true, text, length);
}
static DEVICE_ATTR_WO(rules_add);

static ssize_t rules_del_store(struct device *device, struct device_attribute *attribute,
			       const char *text, size_t length)
{
	return gp_rules_store(device, false, text, length);
}
static DEVICE_ATTR_WO(rules_del);

static struct attribute *gp_root_attrs[] = {
	&dev_attr_rules_add.attr,
	&dev_attr_rules_del.attr,
	NULL,
};
ATTRIBUTE_GROUPS(gp_root);

#if __has_include("linux/device/faux.h")
struct gp_root {
	struct faux_device device;
};

/**
 * gp_root_create() - create the device that our sysfs files hang on
 * @name: of the device
 * @ops: what the files call; must stay until gp_root_remove()
 *
 * Context: process context, sleeps.  Return: the device, or an error pointer.
 */
struct gp_root *gp_root_create(const char *name, struct gp_root_ops *ops)
{
	struct faux_device *device;

	device = faux_device_create_with_groups(name, NULL, NULL, gp_root_groups);
	if (!device)
		return ERR_PTR(-ENODEV);
	dev_set_drvdata(&device->dev, ops);
	return container_of(device, struct gp_root, device);
}

/**
 * gp_root_remove() - undo gp_root_create()
 * @root: its result
 *
 * Context: process context, sleeps until no file is in use.
 */
void gp_root_remove(struct gp_root *root)
{
	faux_device_destroy(&root->device);
}

struct kobject *gp_root_kobject(struct gp_root *root)
{
	return &root->device.dev.kobj;
}
#else
struct gp_root {
	struct device *folder;
	struct device device;
};

static void gp_root_release(struct device *device)
{
	kfree(container_of(device, struct gp_root, device));
}

struct gp_root *gp_root_create(const char *name, struct gp_root_ops *ops)
{
	struct gp_root *root = kzalloc(sizeof(*root), GFP_KERNEL);
	struct device *folder;
	int error;

	if (!root)
		return ERR_PTR(-ENOMEM);
	folder = root_device_register("faux");
	if (IS_ERR(folder)) {
		kfree(root);
		return ERR_CAST(folder);
	}
	device_initialize(&root->device);
	/* As a faux device: no files about power, some of which cannot be read. */
	device_set_pm_not_required(&root->device);
	root->folder = folder;
	root->device.release = gp_root_release;
	root->device.parent = folder;
	root->device.groups = gp_root_groups;
	dev_set_drvdata(&root->device, ops);
	error = dev_set_name(&root->device, "%s", name) ?: device_add(&root->device);
	if (error) {
		put_device(&root->device);
		root_device_unregister(folder);
		return ERR_PTR(error);
	}
	return root;
}

void gp_root_remove(struct gp_root *root)
{
	struct device *folder = root->folder;

	device_unregister(&root->device);
	root_device_unregister(folder);
}

struct kobject *gp_root_kobject(struct gp_root *root)
{
	return &root->device.kobj;
}
#endif
