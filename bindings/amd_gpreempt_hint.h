/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hints for amd_gpreempt: a program says "I am preparing a request", and what its
 * request would preempt is stopped before it comes.  No system call is made for it.
 *
 *	struct gpreempt_hint hint;
 *	int error = gpreempt_hint_open(&hint);	// 0, or a negative errno
 *	...
 *	gpreempt_hint_prepare(&hint);		// some 100 us before each request
 *	...
 *	gpreempt_hint_close(&hint);
 *
 * A hint is for all queues of the process, on all GPUs.  It counts until one of them
 * has new work, and no longer than the module's parameter hint_limit_us.  It gives no
 * right that the process's priority does not give.  A program that cannot open the
 * device runs as it would without hints: gpreempt_hint_prepare() then does nothing.
 *
 * The page belongs to the process that opened the device.  A child has none, and a
 * program that is executed has none: each opens the device for itself.
 */
#ifndef AMD_GPREEMPT_HINT_H
#define AMD_GPREEMPT_HINT_H

#include <linux/types.h>

#define GPREEMPT_HINT_DEVICE "/dev/amd_gpreempt"
#define GPREEMPT_HINT_BYTES 4096
#define GPREEMPT_HINT_MAGIC 0x74726770	/* "pgrt" in memory */
#define GPREEMPT_HINT_VERSION 1

/**
 * struct gpreempt_hint_page - what is mapped
 * @magic: GPREEMPT_HINT_MAGIC
 * @version: GPREEMPT_HINT_VERSION; a program that knows no such version must not hint
 * @preparing: a number of the program's: each change of it is a hint
 *
 * The kernel writes the first two when the page is made and reads @preparing alone.
 */
struct gpreempt_hint_page {
	__u32 magic;
	__u32 version;
	__u32 preparing;
};

#ifndef __KERNEL__
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

struct gpreempt_hint {
	struct gpreempt_hint_page *page;
};

static inline void gpreempt_hint_close(struct gpreempt_hint *hint)
{
	if (hint->page)
		munmap(hint->page, GPREEMPT_HINT_BYTES);
	hint->page = NULL;
}

static inline int gpreempt_hint_open(struct gpreempt_hint *hint)
{
	int file = open(GPREEMPT_HINT_DEVICE, O_RDWR | O_CLOEXEC);
	int error = errno;
	void *page;

	hint->page = NULL;
	if (file < 0)
		return -error;
	page = mmap(NULL, GPREEMPT_HINT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	error = errno;
	close(file);	/* the mapping keeps it open */
	if (page == MAP_FAILED)
		return -error;
	hint->page = (struct gpreempt_hint_page *)page;
	if (hint->page->magic == GPREEMPT_HINT_MAGIC &&
	    hint->page->version == GPREEMPT_HINT_VERSION)
		return 0;
	gpreempt_hint_close(hint);
	return -EPROTO;
}

static inline void gpreempt_hint_prepare(struct gpreempt_hint *hint)
{
	if (hint->page)
		__atomic_fetch_add(&hint->page->preparing, 1, __ATOMIC_RELAXED);
}
#endif /* __KERNEL__ */

#endif /* AMD_GPREEMPT_HINT_H */
