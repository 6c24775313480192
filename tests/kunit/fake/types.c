// SPDX-License-Identifier: GPL-2.0-only
/*
 * The type information of the fake amdgpu: that of the real driver, which the test
 * kernel shows where a kernel with type information of its own would.  Only locks,
 * which are larger on this kernel, are where the fake has them (see tests/kunit/layout).
 */
#include <linux/btf.h>
#include <linux/kernel_read_file.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/vmalloc.h>

#include "fake.h"
#include "generated_layout.h"

static struct kobject *folder;

/* Where the kernel has type information of its own: its folder, and its file. */
static struct kernfs_node *real_folder;
static struct bin_attribute *real_file;

#ifdef GP_SYSFS_HAS_SIMPLE_READ
#define read_types sysfs_bin_attr_simple_read
#else
static ssize_t read_types(struct file *file, struct kobject *object, struct bin_attribute *attribute,
			  char *buffer, loff_t from, size_t length)
{
	memcpy(buffer, attribute->private + from, length);
	return length;
}
#endif

static struct bin_attribute types[] = {
	{ .attr = { .name = "vmlinux", .mode = 0444 }, .read = read_types },
	{ .attr = { .name = "amdgpu", .mode = 0444 }, .read = read_types },
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

/* How many bytes a type has beyond its fixed part. */
static size_t own_bytes(const struct btf_type *type)
{
	size_t count = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(u32);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return count * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return count * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return count * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return count * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return count * sizeof(struct btf_var_secinfo);
	default:
		return 0;
	}
}

/* A name, of which the driver's are counted from where the kernel's end. */
static const char *name_at(u32 at)
{
	const struct btf_header *header = types[0].private;

	if (at >= header->str_len) {
		at -= header->str_len;
		header = types[1].private;
	}
	return (const char *)header + header->hdr_len + header->str_off + at;
}

/* Gives a structure another size and, if one is named, has one of its members elsewhere. */
static void change(const char *structure, u32 size, const char *member, u32 offset)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		const struct btf_header *header = types[i].private;
		void *at = types[i].private + header->hdr_len + header->type_off;
		void *end = at + header->type_len;

		while (at < end) {
			struct btf_type *type = at;
			struct btf_member *members = at + sizeof(*type);
			unsigned int count = BTF_INFO_VLEN(type->info);

			at += sizeof(*type) + own_bytes(type);
			if (BTF_INFO_KIND(type->info) != BTF_KIND_STRUCT ||
			    strcmp(name_at(type->name_off), structure))
				continue;
			type->size = size;
			while (member && count--) {
				if (!strcmp(name_at(members[count].name_off), member))
					members[count].offset = offset * 8;
			}
		}
	}
}

/* Has the types say where the fake's locks are. */
static void move_locks(void)
{
	change("mutex", sizeof(struct mutex), NULL, 0);
	change("rw_semaphore", sizeof(struct rw_semaphore), NULL, 0);
	change("device_queue_manager", GP_DEVICE_QUEUE_MANAGER_SIZE, "lock_hidden",
	       GP_DEVICE_QUEUE_MANAGER_LOCK_HIDDEN);
	change("amdgpu_reset_domain", PAGE_SIZE, "sem", GP_AMDGPU_RESET_DOMAIN_SEM);
}

/* Has the kernel's own file give way, until the fake goes. */
static void take_place(void)
{
	struct kernfs_node *file;

	real_folder = sysfs_get_dirent(kernel_kobj->sd, "btf");
	if (!real_folder)
		return;
	folder = real_folder->priv;
	file = sysfs_get_dirent(real_folder, types[0].attr.name);
	if (!file)
		return;
	real_file = file->priv;
	kernfs_put(file);
	sysfs_remove_bin_file(folder, real_file);
}

/* Undoes take_place(). */
static void give_place_back(void)
{
	if (real_file && sysfs_create_bin_file(folder, real_file))
		pr_warn("the kernel's type information is gone from sysfs\n");
	real_file = NULL;
	kernfs_put(real_folder);
	real_folder = NULL;
}

int gp_fake_types_appear(void)
{
	int i, error = 0;

	take_place();
	if (!real_folder)
		folder = kobject_create_and_add("btf", kernel_kobj);
	if (!folder)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(types) && !error; i++)
		error = appear(&types[i]);
	if (error)
		gp_fake_types_disappear();
	else
		move_locks();
	return error;
}

void gp_fake_types_disappear(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		if (types[i].size)
			sysfs_remove_bin_file(folder, &types[i]);
		vfree(types[i].private);
	}
	if (real_folder)
		give_place_back();
	else
		kobject_put(folder);
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
