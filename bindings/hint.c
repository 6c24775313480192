// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device that programs map a page of, to say that they prepare a request.
 *
 * A page is that of an address space: it exists while the mapping does, and there is
 * one for each address space at most.  So it ends with munmap(), with an exec and with
 * the process, and however often the device is opened, there are no more pages than
 * processes.  An open file is of use to the address space that opened it alone.
 *
 * The file operations live here because they name their owner: while the device is
 * open or mapped, the module stays.
 */
#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "amd_gpreempt_hint.h"
#include "shim.h"

static_assert(GPREEMPT_HINT_BYTES == PAGE_SIZE);

/**
 * struct gp_hint - the page of an address space
 * @node: in gp_hints
 * @mm: the address space, which is compared; it is there while it has the mapping
 * @areas: how many areas map the page: while one is moved there are two
 * @page: the page, with a reference of its own
 */
struct gp_hint {
	struct hlist_node node;
	const struct mm_struct *mm;
	unsigned int areas;
	struct gpreempt_hint_page *page;
};

/* All pages by their address space, and how many there are, which is read without the lock. */
static DEFINE_HASHTABLE(gp_hints, 8);
static DEFINE_SPINLOCK(gp_hints_lock);
static atomic_t gp_hint_count = ATOMIC_INIT(0);

static struct gp_hint *gp_hint_find(const struct mm_struct *mm)
{
	struct gp_hint *hint;

	lockdep_assert_held(&gp_hints_lock);
	hash_for_each_possible(gp_hints, hint, node, (unsigned long)mm)
		if (hint->mm == mm)
			return hint;
	return NULL;
}

/**
 * gp_hint_read() - read what a program has written last
 * @mm: its address space, with a reference by gp_mm_handle_get()
 * @number: where to
 *
 * Context: process context.  Return: whether the address space has a page.
 */
bool gp_hint_read(const struct mm_struct *mm, u32 *number)
{
	const struct gp_hint *hint;

	if (!atomic_read(&gp_hint_count))
		return false;
	spin_lock(&gp_hints_lock);
	hint = gp_hint_find(mm);
	if (hint)
		*number = READ_ONCE(hint->page->preparing);
	spin_unlock(&gp_hints_lock);
	return hint;
}

static void gp_hint_free(struct gp_hint *hint)
{
	free_page((unsigned long)hint->page);
	kfree(hint);
}

static struct gp_hint *gp_hint_create(const struct mm_struct *mm)
{
	struct gp_hint *hint = kzalloc(sizeof(*hint), GFP_KERNEL_ACCOUNT);

	if (!hint)
		return NULL;
	hint->page = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!hint->page) {
		kfree(hint);
		return NULL;
	}
	hint->page->magic = GPREEMPT_HINT_MAGIC;
	hint->page->version = GPREEMPT_HINT_VERSION;
	hint->mm = mm;
	hint->areas = 1;
	return hint;
}

/* Whether the page of @hint is that of its address space from now on: there was none. */
static bool gp_hint_publish(struct gp_hint *hint)
{
	bool first;

	spin_lock(&gp_hints_lock);
	first = !gp_hint_find(hint->mm);
	if (first) {
		hash_add(gp_hints, &hint->node, (unsigned long)hint->mm);
		atomic_inc(&gp_hint_count);
	}
	spin_unlock(&gp_hints_lock);
	return first;
}

/* The area is moved: the new one is there before the old one goes. */
static void gp_hint_area_open(struct vm_area_struct *vma)
{
	struct gp_hint *hint = vma->vm_private_data;

	if (!hint)
		return;
	/* No flag of the area lets a fork copy it, and a copy would have no part in the page. */
	if (WARN_ON_ONCE(vma->vm_mm != hint->mm)) {
		vma->vm_private_data = NULL;
		return;
	}
	spin_lock(&gp_hints_lock);
	hint->areas++;
	spin_unlock(&gp_hints_lock);
}

static void gp_hint_area_close(struct vm_area_struct *vma)
{
	struct gp_hint *hint = vma->vm_private_data;
	bool last;

	if (!hint)
		return;
	spin_lock(&gp_hints_lock);
	last = !--hint->areas;
	if (last) {
		hash_del(&hint->node);
		atomic_dec(&gp_hint_count);
	}
	spin_unlock(&gp_hints_lock);
	/* Nobody maps it any more, and who read it held the lock. */
	if (last)
		gp_hint_free(hint);
}

static const struct vm_operations_struct gp_hint_area_operations = {
	.open = gp_hint_area_open,
	.close = gp_hint_area_close,
};

#ifndef GP_MM_HAS_VM_FLAGS_MOD
/* Older kernels leave it to each driver. */
static void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

static int gp_hint_map(struct file *file, struct vm_area_struct *vma)
{
	const vm_flags_t needed = VM_READ | VM_WRITE | VM_SHARED;
	struct gp_hint *hint;
	int error;

	if (vma->vm_mm != file->private_data)
		return -EPERM;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (vma->vm_end - vma->vm_start != PAGE_SIZE || vma->vm_pgoff)
		return -EINVAL;
	if ((vma->vm_flags & needed) != needed)
		return -EINVAL;
	hint = gp_hint_create(vma->vm_mm);
	if (!hint)
		return -ENOMEM;
	if (!gp_hint_publish(hint)) {
		gp_hint_free(hint);
		return -EBUSY;
	}
	/*
	 * Neither grown nor copied nor dumped, and no ptrace. A device that the program
	 * has read into the page may keep it beyond the mapping: what is in it is the
	 * program's alone, and the last reference frees it.
	 */
	vm_flags_mod(vma, VM_IO | VM_DONTEXPAND | VM_DONTCOPY | VM_DONTDUMP | VM_MIXEDMAP,
		     VM_MAYEXEC);
	vma->vm_private_data = hint;
	error = vm_insert_page(vma, vma->vm_start, virt_to_page(hint->page));
	if (error)
		gp_hint_area_close(vma);
	else
		vma->vm_ops = &gp_hint_area_operations;
	return error;
}

static int gp_hint_open(struct inode *inode, struct file *file)
{
	if (!current->mm)
		return -ENXIO;
	mmgrab(current->mm);
	file->private_data = current->mm;
	return nonseekable_open(inode, file);
}

static int gp_hint_release(struct inode *inode, struct file *file)
{
	mmdrop(file->private_data);
	return 0;
}

static const struct file_operations gp_hint_operations = {
	.owner = THIS_MODULE,
	.open = gp_hint_open,
	.mmap = gp_hint_map,
	.release = gp_hint_release,
};

static struct miscdevice gp_hint_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "amd_gpreempt",
	.mode = 0600,
	.fops = &gp_hint_operations,
};

/**
 * gp_hint_device_start() - let programs map pages
 *
 * Nothing may fail any more after it: who opens the device keeps the module only once
 * that is loaded.
 *
 * Context: process context, sleeps.  Return: 0 or -errno.
 */
int gp_hint_device_start(void)
{
	return misc_register(&gp_hint_device);
}

/**
 * gp_hint_device_stop() - undo gp_hint_device_start()
 *
 * Context: process context, sleeps.  Nobody has the device open.
 */
void gp_hint_device_stop(void)
{
	misc_deregister(&gp_hint_device);
}
