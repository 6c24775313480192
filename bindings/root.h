/* SPDX-License-Identifier: GPL-2.0-only */
/* What the C files of the shim say to each other of the device in sysfs. */
#ifndef GP_ROOT_H
#define GP_ROOT_H

struct gp_root;
struct kobject;

struct kobject *gp_root_kobject(struct gp_root *root);

#endif /* GP_ROOT_H */
