// SPDX-License-Identifier: GPL-2.0-only
#include <linux/export.h>
#include <linux/module.h>

int amdkcl_value(void);

int amdttm_value(void);
int amdttm_value(void)
{
	return amdkcl_value();
}
EXPORT_SYMBOL(amdttm_value);

MODULE_DESCRIPTION("Stand-in for a module of amdgpu-dkms");
MODULE_LICENSE("GPL");
