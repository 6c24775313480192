// SPDX-License-Identifier: GPL-2.0-only
/*
 * amdgpu's locks and operations.  The types of the operations are those that
 * rust/kfd/driver/fields.rs has compared with the driver's; they are called from
 * here because a kernel with control flow integrity checks the types of such calls.
 */
#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "shim.h"

/*
 * The driver's types, by their names alone: control flow integrity tells
 * functions apart by the names in their types.
 */
struct amdgpu_device;
struct device_queue_manager;
struct kfd_cu_occupancy;
struct mqd_manager;
struct qcm_process_device;
struct queue_properties;
enum kfd_preempt_type { GP_PREEMPT_ANY };

/** gp_mutex_bytes() - how large a mutex is that this file can take */
u32 gp_mutex_bytes(void)
{
	return sizeof(struct mutex);
}

/** gp_rwsem_bytes() - how large a semaphore is that this file can take */
u32 gp_rwsem_bytes(void)
{
	return sizeof(struct rw_semaphore);
}

/**
 * gp_read_kernel() - read kernel memory that may not be there
 * @to: where to
 * @from: any address
 * @size: how many bytes
 *
 * Context: any.  Return: whether all of it could be read.
 */
bool gp_read_kernel(void *to, const void *from, size_t size)
{
	return !copy_from_kernel_nofault(to, from, size);
}

/**
 * gp_dqm_lock() - take the queue manager's lock as the driver's dqm_lock() does
 * @lock: its mutex
 * @saved_flags: where it keeps the task's memory flags
 *
 * Context: process context, sleeps.  The lock is also taken by MMU notifiers,
 * that is under mmap_lock and in reclaim: no user access, no allocation, no
 * mmap_lock, no mmput() until gp_dqm_unlock() by the same task.
 */
void gp_dqm_lock(struct mutex *lock, unsigned int *saved_flags)
{
	mutex_lock(lock);
	*saved_flags = memalloc_noreclaim_save();
}

/**
 * gp_dqm_unlock() - undo gp_dqm_lock()
 * @lock: its first argument
 * @saved_flags: its second
 */
void gp_dqm_unlock(struct mutex *lock, unsigned int *saved_flags)
{
	memalloc_noreclaim_restore(*saved_flags);
	mutex_unlock(lock);
}

/** gp_mutex_lock() - take @lock; sleeps. */
void gp_mutex_lock(struct mutex *lock)
{
	mutex_lock(lock);
}

/** gp_mutex_unlock() - release @lock. */
void gp_mutex_unlock(struct mutex *lock)
{
	mutex_unlock(lock);
}

/**
 * gp_users_join() - be counted too where others are
 * @users: the count, an atomic_t
 *
 * Return: false, with nothing changed, if the count is 0.
 */
bool gp_users_join(void *users)
{
	return atomic_inc_not_zero(users);
}

/**
 * gp_users_leave() - undo gp_users_join()
 * @users: its argument
 *
 * Whoever finds that nobody is counted any more finds all reads by those who were
 * done.
 */
void gp_users_leave(void *users)
{
	atomic_dec_return_release((atomic_t *)users);
}

/** gp_rwsem_read_trylock() - take @lock for reading if nobody writes. */
bool gp_rwsem_read_trylock(struct rw_semaphore *lock)
{
	return down_read_trylock(lock);
}

/** gp_rwsem_read_unlock() - release @lock. */
void gp_rwsem_read_unlock(struct rw_semaphore *lock)
{
	up_read(lock);
}

/** gp_free() - free @memory that the driver allocated for us. */
void gp_free(void *memory)
{
	kfree(memory);
}

/**
 * gp_call_load_mqd() - put a queue descriptor into a hardware queue
 *
 * Context: process context, under the queue manager's lock, sleeps.
 */
int gp_call_load_mqd(void *function, void *manager, void *mqd, u32 pipe, u32 queue,
		     void *properties, struct mm_struct *mm)
{
	int (*load)(struct mqd_manager *, void *, u32, u32, struct queue_properties *,
		    struct mm_struct *) = function;

	return load(manager, mqd, pipe, queue, properties, mm);
}

/**
 * gp_call_destroy_mqd() - take a queue out of a hardware queue
 *
 * Context: process context, under the queue manager's lock, sleeps for up to
 * @timeout_ms for each XCC.
 */
int gp_call_destroy_mqd(void *function, void *manager, void *mqd, u32 type, u32 timeout_ms,
			u32 pipe, u32 queue)
{
	int (*destroy)(struct mqd_manager *, void *, enum kfd_preempt_type, u32, u32, u32) =
		function;

	return destroy(manager, mqd, type, timeout_ms, pipe, queue);
}

/**
 * gp_call_check_preemption_failed() - whether a queue has not yielded to the scheduler
 * @manager: struct mqd_manager of the scheduler's own queue
 * @mqd: that queue's descriptor, in which the firmware names such a queue
 *
 * Says in the log which, and forgets it.
 *
 * Context: process context, under the queue manager's lock.
 */
bool gp_call_check_preemption_failed(void *function, void *manager, void *mqd)
{
	bool (*check)(struct mqd_manager *, void *) = function;

	return check(manager, mqd);
}

/**
 * gp_call_hqd_load() - put a queue descriptor into the hardware queue of one XCC
 * @write_pointer: of the process, which the hardware reads
 *
 * Context: process context, under the queue manager's lock, sleeps.
 */
int gp_call_hqd_load(void *function, void *adev, void *mqd, u32 pipe, u32 queue, u64 write_pointer,
		     u32 shift, u32 xcc)
{
	int (*load)(struct amdgpu_device *, void *, u32, u32, u32 __user *, u32, u32,
		    struct mm_struct *, u32) = function;

	return load(adev, mqd, pipe, queue, u64_to_user_ptr(write_pointer), shift, 0, NULL, xcc);
}

/**
 * gp_call_hqd_is_occupied() - whether a hardware queue holds the ring at @address
 *
 * Context: process context, sleeps; takes srbm_mutex.
 */
bool gp_call_hqd_is_occupied(void *function, void *adev, u64 address, u32 pipe, u32 queue,
			     u32 xcc)
{
	bool (*occupied)(struct amdgpu_device *, u64, u32, u32, u32) = function;

	return occupied(adev, address, pipe, queue, xcc);
}

/**
 * gp_call_cu_occupancy() - how many waves each hardware queue has
 *
 * Context: process context, sleeps, with the reset semaphore held for reading;
 * takes srbm_mutex and grbm_idx_mutex.
 */
void gp_call_cu_occupancy(void *function, void *adev, struct gp_occupancy *occupancy,
			  int *max_waves, u32 xcc)
{
	void (*ask)(struct amdgpu_device *, struct kfd_cu_occupancy *, int *, u32) = function;

	ask(adev, (struct kfd_cu_occupancy *)occupancy, max_waves, xcc);
}

/**
 * gp_call_hqd_dump() - read the registers of a hardware queue
 * @dump: is set to pairs of register address and value, to be freed by gp_free()
 *
 * Context: process context, sleeps, with the reset semaphore held for reading;
 * takes srbm_mutex.  The few bytes that the driver allocates come from the
 * reserves if need be, because reclaim may wait for work that only a reset ends.
 */
int gp_call_hqd_dump(void *function, void *adev, u32 pipe, u32 queue, u32 (**dump)[2],
		     u32 *count, u32 xcc)
{
	int (*ask)(struct amdgpu_device *, u32, u32, u32 (**)[2], u32 *, u32) = function;
	unsigned int flags = memalloc_noreclaim_save();
	int error = ask(adev, pipe, queue, dump, count, xcc);

	memalloc_noreclaim_restore(flags);
	return error;
}
