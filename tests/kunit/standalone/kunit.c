// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the suites ask of C where they are compiled standalone, and how KUnit gets at them.
 * Their tables have room for KUnit's own, whose layout differs between kernels, and which
 * are written over them before the kernel looks.
 */
#include <kunit/test.h>
#include <kunit/test-bug.h>
#include <linux/completion.h>
#include <linux/mm_types.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>

/* Written down once more in bindings.rs. */
struct gp_kunit_case {
	void (*run)(struct kunit *test);
	const char *name;
	u64 room[14];
};

struct gp_kunit_suite {
	const char *name;
	struct gp_kunit_case *cases;
	u64 room[126];
};

struct gp_kunit_completion {
	u64 space[24];
};

static_assert(sizeof(struct kunit_case) <= sizeof(struct gp_kunit_case));
static_assert(sizeof(struct kunit_suite) <= sizeof(struct gp_kunit_suite));
static_assert(sizeof(struct completion) <= sizeof(struct gp_kunit_completion));

void gp_kunit_hand_over(void);
struct kunit *gp_kunit_current_test(void);
void gp_kunit_fail(struct kunit *test, const char *text, unsigned int length);
void gp_kunit_print(u8 level, const char *text, unsigned int length);
int gp_kunit_pid(void);
struct mm_struct *gp_kunit_mm(void);
bool gp_kunit_write_user(unsigned long to, const void *from, size_t size);
void gp_kunit_completion_init(struct completion *completion);
void gp_kunit_completion_complete_all(struct completion *completion);
void gp_kunit_completion_wait(struct completion *completion);

/* Each is smaller than what it is written over, so that none reaches one not yet read. */
static struct kunit_case *make_cases(struct gp_kunit_case *given)
{
	struct kunit_case *made = (void *)given;
	size_t at;

	for (at = 0;; at++) {
		struct gp_kunit_case this = given[at];

		memset(&made[at], 0, sizeof(made[at]));
		if (!this.run)
			return made;
		made[at].run_case = this.run;
		made[at].name = this.name;
		made[at].module_name = KBUILD_MODNAME;
	}
}

static void make_suite(void *place)
{
	struct gp_kunit_suite *given = place;
	struct kunit_suite *made = place;
	struct gp_kunit_case *cases = given->cases;
	const char *name = given->name;

	memset(place, 0, sizeof(*given));
	strscpy((char *)made->name, name, sizeof(made->name));
	made->test_cases = make_cases(cases);
}

void gp_kunit_hand_over(void)
{
	int at;

	for (at = 0; at < THIS_MODULE->num_kunit_suites; at++)
		make_suite(THIS_MODULE->kunit_suites[at]);
}

struct kunit *gp_kunit_current_test(void)
{
	return kunit_get_current_test();
}

void gp_kunit_fail(struct kunit *test, const char *text, unsigned int length)
{
	if (test)
		KUNIT_FAIL(test, "%.*s", (int)length, text);
	else
		pr_err("kunit: error: outside of a test: %.*s\n", (int)length, text);
}

void gp_kunit_print(u8 level, const char *text, unsigned int length)
{
	const char start[] = { KERN_SOH_ASCII, level, 0 };

	printk("%s%.*s", start, (int)length, text);
}

int gp_kunit_pid(void)
{
	return current->pid;
}

struct mm_struct *gp_kunit_mm(void)
{
	return current->mm;
}

bool gp_kunit_write_user(unsigned long to, const void *from, size_t size)
{
	return !copy_to_user((void __user *)to, from, size);
}

void gp_kunit_completion_init(struct completion *completion)
{
	init_completion(completion);
}

void gp_kunit_completion_complete_all(struct completion *completion)
{
	complete_all(completion);
}

void gp_kunit_completion_wait(struct completion *completion)
{
	wait_for_completion(completion);
}
