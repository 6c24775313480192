// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maps pages for hints in all ways that are right and wrong, and prints what became
 * of each: its name, and 0 or the name of the errno.  With "hold" it gives hints until
 * it is killed, and with "inherited FILE" it maps the page of an open file that it was
 * given by the program that executed it.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "amd_gpreempt_hint.h"

#define BYTES GPREEMPT_HINT_BYTES
#define WRITABLE (PROT_READ | PROT_WRITE)

static int map(int file, size_t bytes, int protection, int flags, off_t offset, void **page)
{
	*page = mmap(NULL, bytes, protection, flags, file, offset);
	return *page == MAP_FAILED ? errno : 0;
}

/* The errno of a mapping that is undone at once. */
static int try_map(int file, size_t bytes, int protection, int flags, off_t offset)
{
	void *page;
	int error = map(file, bytes, protection, flags, offset, &page);

	if (!error)
		munmap(page, bytes);
	return error;
}

static int try_right(int file)
{
	return try_map(file, BYTES, WRITABLE, MAP_SHARED, 0);
}

static void tell(const char *what, int error)
{
	printf("%s: %s\n", what, error ? strerrorname_np(error) : "0");
	fflush(stdout);
}

static int error_of(int result)
{
	return result < 0 ? errno : 0;
}

static int status_of(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		exit(1);
	return WEXITSTATUS(status);
}

static void tell_children(int file, void *page)
{
	char number[16];
	pid_t child = fork();

	if (!child)
		_exit(error_of(msync(page, BYTES, MS_ASYNC)));
	tell("the mapping in a child", status_of(child));
	child = fork();
	if (!child)
		_exit(try_right(file));
	tell("the open file in a child", status_of(child));
	snprintf(number, sizeof(number), "%d", file);
	child = fork();
	if (!child) {
		/* Opened by this process, and executed by it. */
		file = open(GPREEMPT_HINT_DEVICE, O_RDWR);
		snprintf(number, sizeof(number), "%d", file);
		execl("/proc/self/exe", "hint", "inherited", number, (char *)NULL);
		_exit(1);
	}
	tell("the open file after an exec", status_of(child));
}

static void *tell_moves(void *page)
{
	void *place = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *moved;

	moved = mremap(page, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
	tell("grown", moved == MAP_FAILED ? errno : 0);
	moved = mremap(page, 0, BYTES, MREMAP_MAYMOVE);
	tell("copied", moved == MAP_FAILED ? errno : 0);
	moved = mremap(page, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	tell("moved and kept", moved == MAP_FAILED ? errno : 0);
	moved = mremap(page, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	tell("moved", moved == MAP_FAILED ? errno : 0);
	return moved == MAP_FAILED ? page : moved;
}

static void tell_all(void)
{
	int file = open(GPREEMPT_HINT_DEVICE, O_RDWR | O_CLOEXEC);
	int other = open(GPREEMPT_HINT_DEVICE, O_RDWR | O_CLOEXEC);
	struct gpreempt_hint_page *words;
	struct gpreempt_hint hint;
	void *page;

	tell("two pages", try_map(file, 2 * BYTES, WRITABLE, MAP_SHARED, 0));
	tell("the second page", try_map(file, BYTES, WRITABLE, MAP_SHARED, BYTES));
	tell("private", try_map(file, BYTES, WRITABLE, MAP_PRIVATE, 0));
	tell("read only", try_map(file, BYTES, PROT_READ, MAP_SHARED, 0));
	tell("executable", try_map(file, BYTES, WRITABLE | PROT_EXEC, MAP_SHARED, 0));
	tell("as it should be", map(file, BYTES, WRITABLE, MAP_SHARED, 0, &page));
	tell("a second mapping", try_right(file));
	tell("by another open file", try_right(other));
	tell("to be inherited", error_of(madvise(page, BYTES, MADV_DOFORK)));
	tell("executable later", error_of(mprotect(page, BYTES, WRITABLE | PROT_EXEC)));
	page = tell_moves(page);
	tell("a second one after the move", try_right(file));
	words = page;
	tell("the words after the move", words->magic == GPREEMPT_HINT_MAGIC &&
	     words->version == GPREEMPT_HINT_VERSION && !words->preparing ? 0 : EIO);
	tell_children(file, page);
	tell("it is there still", error_of(msync(page, BYTES, MS_ASYNC)));
	page = mmap(page, BYTES, WRITABLE, MAP_SHARED | MAP_FIXED, other, 0);
	tell("in its own place", page == MAP_FAILED ? errno : 0);
	munmap(page, BYTES);
	close(file);
	close(other);
	tell("by the header", -gpreempt_hint_open(&hint));
	gpreempt_hint_prepare(&hint);
	tell("a hint", hint.page->preparing == 1 ? 0 : EIO);
	gpreempt_hint_close(&hint);
	/* A thousand opens are a thousand files, and no page. */
	for (int i = 0; i < 1000; i++) {
		file = open(GPREEMPT_HINT_DEVICE, O_RDWR);
		if (file < 0 || try_right(file))
			exit(1);
	}
	tell("a thousand times", 0);
}

int main(int count, char **words)
{
	if (count == 3 && !strcmp(words[1], "inherited"))
		return try_right(atoi(words[2]));
	if (count == 2 && !strcmp(words[1], "hold")) {
		struct gpreempt_hint hint;

		tell("holds", -gpreempt_hint_open(&hint));
		for (;;) {
			gpreempt_hint_prepare(&hint);
			usleep(1000);
		}
	}
	tell_all();
	return 0;
}
