// SPDX-License-Identifier: GPL-2.0-only
/*
 * The type information of the fake amdgpu: that of the real driver, which the test
 * kernel shows where a kernel with type information of its own would.
 */
#include <linux/kernel_read_file.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/vmalloc.h>

#include "fake.h"

static struct kobject *folder;

static struct bin_attribute types[] = {
	{ .attr = { .name = "vmlinux", .mode = 0444 }, .read = sysfs_bin_attr_simple_read },
	{ .attr = { .name = "amdgpu", .mode = 0444 }, .read = sysfs_bin_attr_simple_read },
};

static int appear(struct bin_attribute *attribute)
{
	char path[32];
	ssize_t size;

	snprintf(path, sizeof(path), "/types/%s", attribute->attr.name);
	size = kernel_read_file_from_path(path, 0, &attribute->private, INT_MAX, NULL,
					  READING_FIRMWARE);
	if (size < 0)
		return size;
	attribute->size = size;
	sysfs_bin_attr_init(attribute);
	return sysfs_create_bin_file(folder, attribute);
}

int gp_fake_types_appear(void)
{
	int i, error = 0;

	folder = kobject_create_and_add("btf", kernel_kobj);
	if (!folder)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(types) && !error; i++)
		error = appear(&types[i]);
	if (error)
		gp_fake_types_disappear();
	return error;
}

void gp_fake_types_disappear(void)
{
	int i;

	/* With it go its files. */
	kobject_put(folder);
	for (i = 0; i < ARRAY_SIZE(types); i++)
		vfree(types[i].private);
}

/*
 * gp_fake_exchange() - have two names each stand for the other in the driver's types
 *
 * As if the driver had the fields the other way round.  The names are of the same
 * length, and parted by a space.
 */
int gp_fake_exchange(const char *text)
{
	struct bin_attribute *own = &types[1];
	char *other, *names = kstrdup(text, GFP_KERNEL);
	size_t at, length;

	if (!names)
		return -ENOMEM;
	other = strim(names);
	strsep(&other, " ");
	length = strlen(names) + 1;
	if (!other || strlen(other) + 1 != length) {
		kfree(names);
		return -EINVAL;
	}
	for (at = 1; at + length <= own->size; at++) {
		char *here = own->private + at;

		if (here[-1])
			continue;
		if (!memcmp(here, names, length))
			memcpy(here, other, length);
		else if (!memcmp(here, other, length))
			memcpy(here, names, length);
	}
	kfree(names);
	return 0;
}

EXPORT_SYMBOL_GPL(gp_fake_exchange);

/* The parameter: 'exchange' does that. */
static int set_exchange(const char *text, const struct kernel_param *parameter)
{
	return gp_fake_exchange(text);
}

static const struct kernel_param_ops exchange_ops = { .set = set_exchange };

module_param_cb(exchange, &exchange_ops, NULL, 0200);
