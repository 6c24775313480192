// SPDX-License-Identifier: GPL-2.0-only
#include <linux/export.h>
#include <linux/module.h>

int amdkcl_value(void);
int amdkcl_value(void)
{
	return 1;
}
EXPORT_SYMBOL(amdkcl_value);

MODULE_DESCRIPTION("Stand-in for a module of amdgpu-dkms");
MODULE_LICENSE("GPL");
