// SPDX-License-Identifier: GPL-2.0-only
/* Processes that own queues: their memory, their name and their cgroup. */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/kthread.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>

#include "shim.h"

static_assert(GP_COMM_LEN == TASK_COMM_LEN);

/** gp_task_get() - take a reference to @task; any context. */
void gp_task_get(struct task_struct *task)
{
	get_task_struct(task);
}

/** gp_task_put() - drop a reference to @task; any context. */
void gp_task_put(struct task_struct *task)
{
	put_task_struct(task);
}

/** gp_task_pid() - the process id of @task in the initial namespace. */
int gp_task_pid(struct task_struct *task)
{
	return task->tgid;
}

/** gp_task_comm() - copy the command name of @task to GP_COMM_LEN bytes. */
void gp_task_comm(struct task_struct *task, char *comm)
{
	strscpy_pad(comm, task->comm, GP_COMM_LEN);
}

/**
 * gp_task_began() - when the program of @task began, in nanoseconds since boot
 *
 * All main threads that a program has one after the other began at the same
 * time: one that executes another program inherits it.
 */
u64 gp_task_began(struct task_struct *task)
{
	return task->start_boottime;
}

/**
 * gp_program_began() - when the program with a process id began
 * @pid: of the thread group, in the initial namespace
 * @began: where to, as from gp_task_began()
 *
 * A program that has ended has its id until its parent has asked for its end.
 * Nothing is kept: the time tells it from the next one with that id.
 *
 * Context: any.  Return: whether there is such a program.
 */
bool gp_program_began(int pid, u64 *began)
{
	struct task_struct *task;

	/* Keeps both the struct pid and the task until it is unlocked. */
	rcu_read_lock();
	task = pid_task(find_pid_ns(pid, &init_pid_ns), PIDTYPE_TGID);
	if (task)
		*began = gp_task_began(task);
	rcu_read_unlock();
	return task;
}

/**
 * gp_task_is_leaving() - whether a program is about to give up its memory
 * @task: its main thread, with a reference
 *
 * It executes another program, in that thread or in another one for which all others
 * have to end, or it ends.  The word that it does is there a good while before the
 * memory goes, so that who asks first and then keeps the memory for a moment has seldom
 * the last reference.
 *
 * Context: any.
 */
bool gp_task_is_leaving(struct task_struct *task)
{
	/* The task keeps the structure.  All that is asked may change at any moment. */
	struct signal_struct *signal = task->signal;
	const struct task_struct *first;
	bool executes;

	/* The main thread, or the one that executes when all others have ended. */
	rcu_read_lock();
	first = list_first_or_null_rcu(&signal->thread_head, struct task_struct, thread_node);
	executes = first && first->in_execve;
	rcu_read_unlock();
	return executes || READ_ONCE(signal->group_exec_task) ||
	       READ_ONCE(signal->flags) & SIGNAL_GROUP_EXIT;
}

/**
 * gp_mm_put() - undo gp_mm_revive()
 * @mm: the memory
 *
 * If this is the last use, the process is taken down by a worker and not here,
 * because that takes the driver's locks.  Context: any.
 */
void gp_mm_put(struct mm_struct *mm)
{
	mmput_async(mm);
}

/* How many threads of a program are asked for something that one of them has. */
#define GP_MOST_THREADS 8

/* Keeps @mm if @thread has it, whose lock keeps what it has. */
static bool gp_grab_from(struct task_struct *thread, struct mm_struct *mm)
{
	bool has;

	task_lock(thread);
	has = thread->mm == mm;
	if (has)
		mmgrab(mm);
	task_unlock(thread);
	return has;
}

/**
 * gp_mm_handle_get() - keep the structure @mm, though not what it describes
 * @task: the main thread of a program, with a reference
 * @mm: where the driver says that the program's memory is, which may be gone
 *
 * The driver of Linux 6.12 drops its own reference before it takes the queues off its
 * lists, so that no lock of its keeps the structure.  A thread does.  Where the main
 * thread has ended, some others are asked: a program may keep any number of ended ones,
 * and is then taken to have no memory.
 *
 * No other process's memory has this address until gp_mm_handle_put().
 * Context: any that may take a spinlock.  Return: whether a thread has that memory.
 */
bool gp_mm_handle_get(struct task_struct *task, struct mm_struct *mm)
{
	struct task_struct *thread;
	int left = GP_MOST_THREADS;
	bool has = gp_grab_from(task, mm);

	if (has)
		return true;
	rcu_read_lock();
	for_each_thread(task, thread) {
		has = gp_grab_from(thread, mm);
		if (has || --left == 0)
			break;
	}
	rcu_read_unlock();
	return has;
}

/** gp_mm_handle_put() - undo gp_mm_handle_get(); process context. */
void gp_mm_handle_put(struct mm_struct *mm)
{
	mmdrop(mm);
}

/**
 * gp_mm_revive() - keep the memory of a process in use
 * @mm: with a reference by gp_mm_handle_get()
 *
 * Context: any.  Return: whether it is in use; it is not when the process is
 * gone.  If so, gp_mm_put() drops it.
 */
bool gp_mm_revive(struct mm_struct *mm)
{
	return mmget_not_zero(mm);
}

/** gp_mm_enter() - use @mm in the current kernel thread, until gp_mm_leave(). */
void gp_mm_enter(struct mm_struct *mm)
{
	kthread_use_mm(mm);
}

/** gp_mm_leave() - undo gp_mm_enter() of @mm. */
void gp_mm_leave(struct mm_struct *mm)
{
	kthread_unuse_mm(mm);
}

/**
 * gp_read_user() - read user memory that is present
 * @to: where to
 * @from: any user address
 * @size: how many bytes, 4 or 8
 *
 * Context: between gp_mm_enter() and gp_mm_leave().  Never faults anything in.
 * Return: whether all of it could be read.
 */
bool gp_read_user(void *to, u64 from, size_t size)
{
	bool read = false;

	/*
	 * A pass reads some words of each queue.  copy_from_user_nofault()
	 * takes three times as long, since it does not know their size.
	 */
	pagefault_disable();
	if (size == sizeof(u64))
		read = !get_user(*(u64 *)to, (u64 __user *)u64_to_user_ptr(from));
	else if (size == sizeof(u32))
		read = !get_user(*(u32 *)to, (u32 __user *)u64_to_user_ptr(from));
	pagefault_enable();
	return read;
}

/*
 * A thread of a program that has not ended, or else @task, its main thread.  One that
 * has ended stays where it was when the others are moved to another cgroup.
 *
 * A program may keep any number of ended threads before one that runs, by having them
 * traced.  It pays for that alone: it is taken to be where its main thread was, and its
 * container is not known.
 *
 * Context: under RCU.
 */
static struct task_struct *gp_moving_thread(struct task_struct *task)
{
	struct task_struct *thread;
	int left = GP_MOST_THREADS;

	if (!(READ_ONCE(task->flags) & PF_EXITING))
		return task;
	for_each_thread(task, thread) {
		if (!(READ_ONCE(thread->flags) & PF_EXITING))
			return thread;
		if (--left == 0)
			break;
	}
	return task;
}

#ifdef CONFIG_CGROUPS
/**
 * gp_cgroup_get() - find a cgroup by its path in the default hierarchy
 * @path: absolute, as in /proc/PID/cgroup
 *
 * Context: process context, sleeps.  Return: the cgroup with a reference that
 * gp_cgroup_put() drops, or an error pointer.
 */
struct cgroup *gp_cgroup_get(const char *path)
{
	return cgroup_get_from_path(path);
}

/** gp_cgroup_put() - drop a reference to @cgroup. */
void gp_cgroup_put(struct cgroup *cgroup)
{
	cgroup_put(cgroup);
}

/** gp_cgroup_id() - the number of @cgroup, never given again. */
u64 gp_cgroup_id(struct cgroup *cgroup)
{
	return cgroup_id(cgroup);
}

/** gp_cgroup_alive() - whether @cgroup has not been removed. */
bool gp_cgroup_alive(struct cgroup *cgroup)
{
	return READ_ONCE(cgroup->self.flags) & CSS_ONLINE;
}

/**
 * gp_cgroup_holds() - whether a cgroup is another one or above it
 * @cgroup: with a reference
 * @other: with a reference, which keeps those above it
 *
 * Context: any.
 */
bool gp_cgroup_holds(struct cgroup *cgroup, struct cgroup *other)
{
	return cgroup_is_descendant(other, cgroup);
}

/**
 * gp_task_cgroup_get() - the cgroup that a program is in
 * @task: its main thread, with a reference
 *
 * Context: any.  Return: the cgroup, with a reference that gp_cgroup_put() drops.
 * It may have been removed, if the program has ended.
 */
struct cgroup *gp_task_cgroup_get(struct task_struct *task)
{
	struct cgroup *cgroup;

	/*
	 * The set of the task's groups, which RCU keeps meanwhile, has a reference
	 * to the cgroup until it is given up.  That this one has been means that
	 * the task has another.
	 */
	rcu_read_lock();
	for (;;) {
		cgroup = task_dfl_cgroup(gp_moving_thread(task));
		if (cgroup_tryget(cgroup))
			break;
		cpu_relax();
	}
	rcu_read_unlock();
	return cgroup;
}

/** gp_task_cgroup() - the number of what gp_task_cgroup_get() finds; any context. */
u64 gp_task_cgroup(struct task_struct *task)
{
	u64 id;

	rcu_read_lock();
	id = cgroup_id(task_dfl_cgroup(gp_moving_thread(task)));
	rcu_read_unlock();
	return id;
}

/*
 * The number of the cgroup in which the cgroup namespace of @task begins, or 0 if it
 * has the initial one or, because it ends, none.
 *
 * Context: process context.
 */
static u64 gp_namespace_root(struct task_struct *task)
{
	const struct cgroup_namespace *ns = NULL;
	u64 root = 0;

	task_lock(task);
	if (task->nsproxy)
		ns = task->nsproxy->cgroup_ns;
	/* The namespace keeps its set of groups, which keeps the group. */
	if (ns && ns != init_task.nsproxy->cgroup_ns)
		root = cgroup_id(ns->root_cset->dfl_cgrp);
	task_unlock(task);
	return root;
}
#else
struct cgroup *gp_cgroup_get(const char *path)
{
	return ERR_PTR(-EOPNOTSUPP);
}

void gp_cgroup_put(struct cgroup *cgroup)
{
}

u64 gp_cgroup_id(struct cgroup *cgroup)
{
	return 0;
}

bool gp_cgroup_alive(struct cgroup *cgroup)
{
	return false;
}

bool gp_cgroup_holds(struct cgroup *cgroup, struct cgroup *other)
{
	return false;
}

struct cgroup *gp_task_cgroup_get(struct task_struct *task)
{
	return NULL;
}

u64 gp_task_cgroup(struct task_struct *task)
{
	return 0;
}

static u64 gp_namespace_root(struct task_struct *task)
{
	return 0;
}
#endif

/*
 * The user on whose account @task is: its real user in the initial user namespace.
 * In another one it has whatever user it likes of those that were given to whoever
 * made the namespace, and is on the account of that one.  Of nested namespaces the
 * outermost counts.
 */
static u32 gp_task_user(struct task_struct *task)
{
	const struct user_namespace *ns;
	kuid_t user;

	/* The credentials keep their namespace, which keeps those around it. */
	rcu_read_lock();
	ns = __task_cred(task)->user_ns;
	if (ns == &init_user_ns) {
		user = task_uid(task);
	} else {
		while (ns->parent != &init_user_ns)
			ns = ns->parent;
		user = ns->owner;
	}
	rcu_read_unlock();
	return from_kuid(&init_user_ns, user);
}

/* Tells the number of a container from that of a user. */
#define GP_TENANT_CONTAINER BIT_ULL(63)
/* Tells that of a process namespace from that of a cgroup. */
#define GP_TENANT_NAMESPACE BIT_ULL(62)

/*
 * The outermost process namespace that a program with this number is in, or NULL if that
 * is the initial one.  A program never leaves that one, whatever namespaces it makes.  The
 * namespace's first program is not asked: nothing keeps it.
 *
 * Context: under RCU, which keeps the number, and with that its namespaces.
 */
static const struct pid_namespace *gp_outermost(struct pid *pid)
{
	const struct pid_namespace *ns = ns_of_pid(pid);

	if (ns == &init_pid_ns)
		return NULL;
	while (ns->parent != &init_pid_ns)
		ns = ns->parent;
	return ns;
}

/*
 * The container of root's that @task is in, or 0; @roots says whose user it is.  In a
 * process namespace that root has made it is any user's: who is root within may become
 * whatever user it likes.
 *
 * A program of which no thread is found that runs tells nothing of its cgroup namespace,
 * and, when it has been waited for, nothing of its process namespace either: it ends, or
 * has, and another one has its memory and with that its queues.  All such programs that
 * may have been in a container are taken to be in one, whose number no other has: they are
 * not to be taken for those of the host, nor for a user's whose number they took.
 *
 * Context: process context.
 */
static u64 gp_task_container(struct task_struct *task, bool roots)
{
	const struct pid_namespace *ns = NULL;
	struct task_struct *thread;
	u64 container = 0;
	struct pid *pid;
	bool is_over;

	rcu_read_lock();
	thread = gp_moving_thread(task);
	pid = READ_ONCE(thread->thread_pid);
	if (pid)
		ns = gp_outermost(pid);
	if (ns && (roots || ns->user_ns == &init_user_ns))
		container = ns->ns.inum | GP_TENANT_NAMESPACE;
	else if (roots)
		container = gp_namespace_root(thread);
	/* Afterwards: a thread says that it ends before it gives its namespaces up. */
	is_over = !pid || (roots && READ_ONCE(thread->flags) & PF_EXITING);
	rcu_read_unlock();
	return container || is_over ? container | GP_TENANT_CONTAINER : 0;
}

/**
 * gp_task_tenant() - the tenant that a program belongs to
 * @task: its main thread, with a reference
 *
 * Its container, if that is one of root's, whatever user it has within: all containers of
 * an engine that runs as root are one user's, and each of them is a tenant of its own.
 * Otherwise the user, whatever processes, cgroups and namespaces it has made.
 *
 * Context: process context.  Return: a number; equal ones are one tenant.
 */
u64 gp_task_tenant(struct task_struct *task)
{
	u32 user = gp_task_user(task);
	u64 container = gp_task_container(task, user == 0);

	return container ? container : user;
}
