// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs files and sysfs folders.  The file operations live here because they
 * name their owner: while one of our files is open, the module stays.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "root.h"
#include "shim.h"

static int gp_file_show(struct seq_file *m, void *position)
{
	struct gp_file *file = m->private;

	return file->show(m, file->data);
}

static int gp_file_open(struct inode *inode, struct file *file)
{
	return single_open(file, gp_file_show, inode->i_private);
}

static const struct file_operations gp_file_operations = {
	.owner = THIS_MODULE,
	.open = gp_file_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

/**
 * gp_debugfs_create() - create our folder in debugfs
 * @name: of the folder
 *
 * Context: process context, sleeps.  Return: the folder.  An error needs no
 * care: debugfs takes it where it takes a folder, and does nothing.
 */
struct dentry *gp_debugfs_create(const char *name)
{
	return debugfs_create_dir(name, NULL);
}

/**
 * gp_debugfs_remove() - remove the folder and everything in it
 * @directory: what gp_debugfs_create() returned
 *
 * Context: process context, sleeps until no file is being read.
 */
void gp_debugfs_remove(struct dentry *directory)
{
	debugfs_remove(directory);
}

/**
 * gp_debugfs_file() - create a file that root can read
 * @directory: what gp_debugfs_create() returned
 * @name: of the file
 * @file: what it shows; must stay until the folder is removed
 */
void gp_debugfs_file(struct dentry *directory, const char *name, struct gp_file *file)
{
	debugfs_create_file(name, 0400, directory, file, &gp_file_operations);
}

/**
 * struct gp_folder - a folder in sysfs
 * @kobj: its place
 * @ops: how its values are read and written
 * @data: passed to @ops
 * @released: nobody uses the folder any more
 */
struct gp_folder {
	struct kobject kobj;
	const struct gp_folder_ops *ops;
	void *data;
	struct completion released;
};

struct gp_value {
	struct attribute attr;
	u32 value;
};

static ssize_t gp_value_show(struct kobject *kobj, struct attribute *attr, char *page)
{
	struct gp_folder *folder = container_of(kobj, struct gp_folder, kobj);
	struct gp_value *value = container_of(attr, struct gp_value, attr);

	return folder->ops->show(folder->data, value->value, page);
}

static ssize_t gp_value_store(struct kobject *kobj, struct attribute *attr, const char *text,
			      size_t length)
{
	struct gp_folder *folder = container_of(kobj, struct gp_folder, kobj);
	struct gp_value *value = container_of(attr, struct gp_value, attr);
	int error = folder->ops->store(folder->data, value->value, text, length);

	return error ?: (ssize_t)length;
}

static const struct sysfs_ops gp_value_ops = { .show = gp_value_show, .store = gp_value_store };

#define GP_DEFINE_NODE_VALUE(_name, _mode)						\
	static struct gp_value gp_node_##_name = {					\
		.attr = { .name = #_name, .mode = VERIFY_OCTAL_PERMISSIONS(_mode) },	\
		.value = GP_NODE_VALUE_##_name,						\
	};
GP_NODE_VALUES(GP_DEFINE_NODE_VALUE)

#define GP_LIST_NODE_VALUE(_name, _mode) &gp_node_##_name.attr,
static struct attribute *gp_node_attrs[] = { GP_NODE_VALUES(GP_LIST_NODE_VALUE) NULL };
ATTRIBUTE_GROUPS(gp_node);

static struct gp_value gp_gpu_mode = {
	.attr = { .name = "mode", .mode = 0600 },
};
static struct attribute *gp_gpu_attrs[] = { &gp_gpu_mode.attr, NULL };
ATTRIBUTE_GROUPS(gp_gpu);

static void gp_folder_release(struct kobject *kobj)
{
	complete(&container_of(kobj, struct gp_folder, kobj)->released);
}

static const struct kobj_type gp_gpu_type = {
	.release = gp_folder_release,
	.sysfs_ops = &gp_value_ops,
	.default_groups = gp_gpu_groups,
};

static const struct kobj_type gp_node_type = {
	.release = gp_folder_release,
	.sysfs_ops = &gp_value_ops,
	.default_groups = gp_node_groups,
};

/**
 * gp_folder_create() - create a folder below our device or in another folder
 * @root: our device, if it goes into that
 * @parent: the folder that it goes into, or NULL for the device
 * @name: of the folder
 * @kind: what files are in it
 * @ops: how its values are read and written
 * @data: passed to @ops; must stay until gp_folder_remove()
 *
 * Context: process context, sleeps.  Return: the folder, or an error pointer.
 */
struct gp_folder *gp_folder_create(struct gp_root *root, struct gp_folder *parent,
				   const char *name, enum gp_folder_kind kind,
				   const struct gp_folder_ops *ops, void *data)
{
	struct gp_folder *folder = kzalloc(sizeof(*folder), GFP_KERNEL);
	int error;

	if (!folder)
		return ERR_PTR(-ENOMEM);
	folder->ops = ops;
	folder->data = data;
	init_completion(&folder->released);
	error = kobject_init_and_add(&folder->kobj,
				     kind == GP_FOLDER_GPU ? &gp_gpu_type : &gp_node_type,
				     parent ? &parent->kobj : gp_root_kobject(root), "%s", name);
	if (error) {
		gp_folder_remove(folder);
		return ERR_PTR(error);
	}
	return folder;
}

/**
 * gp_folder_remove() - undo gp_folder_create()
 * @folder: its result; the folders in it are removed already
 *
 * Context: process context, sleeps until nobody uses the folder.
 */
void gp_folder_remove(struct gp_folder *folder)
{
	kobject_put(&folder->kobj);
	wait_for_completion(&folder->released);
	kfree(folder);
}
