// SPDX-License-Identifier: GPL-2.0-only
/*
 * Has the driver's name and drives nothing, so that the module finds it and reads its
 * type information, which builds upon a type of the kernel's.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/pci.h>

int amdttm_value(void);
int amdxcp_value(void);

struct stand_in_node {
	struct list_head list;
	unsigned int id;
};

struct stand_in_node stand_in_first = {
	.list = LIST_HEAD_INIT(stand_in_first.list),
	.id = 1,
};

static const struct pci_device_id stand_in_ids[] = {
	{ }
};

static int stand_in_probe(struct pci_dev *device, const struct pci_device_id *id)
{
	return -ENODEV;
}

static struct pci_driver stand_in_driver = {
	.name = "amdgpu",
	.id_table = stand_in_ids,
	.probe = stand_in_probe,
};

static int __init stand_in_init(void)
{
	pr_info("amdgpu: stand-in for " STAND_IN_KERNEL ", %d\n",
		amdttm_value() + amdxcp_value() + list_empty(&stand_in_first.list));
	return pci_register_driver(&stand_in_driver);
}

static void __exit stand_in_exit(void)
{
	pci_unregister_driver(&stand_in_driver);
}

module_init(stand_in_init);
module_exit(stand_in_exit);
MODULE_DESCRIPTION("Stand-in for amdgpu of amdgpu-dkms");
MODULE_VERSION("1.0");
MODULE_LICENSE("GPL");
