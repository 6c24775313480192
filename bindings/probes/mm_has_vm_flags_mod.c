// SPDX-License-Identifier: GPL-2.0-only
/* Compiles where the flags of an area are changed by a function. */
#include <linux/mm.h>

void gp_probe(struct vm_area_struct *vma);

void gp_probe(struct vm_area_struct *vma)
{
	vm_flags_mod(vma, VM_IO, VM_MAYEXEC);
}
