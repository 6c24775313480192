// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions of the driver that an unmapping of the module's own is made of, and the
 * structures of the hardware scheduler that they go by.  Firmware answers at once unless
 * a test says otherwise.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "fake.h"
#include "generated_layout.h"

static u8 scheduler[PAGE_SIZE] __aligned(8);
static u8 scheduler_queue[GP_QUEUE_SIZE] __aligned(8);
static u8 scheduler_descriptor[PAGE_SIZE] __aligned(8);
static u8 scheduler_manager[GP_MQD_MANAGER_SIZE] __aligned(8);
static u64 fence;
/* The number that firmware was asked to write last. */
static u64 last_asked;

int pm_config_dequeue_wait_counts(void *manager, u32 command, u32 value);
int pm_send_unmap_queue(void *manager, u32 filter, u32 parameter, bool reset);
int pm_send_query_status(void *manager, u64 address, u64 value);
void pm_release_ib(void *manager);
int amdkfd_fence_wait_timeout(void *dqm, u64 value, u32 timeout_ms);

static void *dqm_of(void *manager)
{
	return AT(manager, -GP_DEVICE_QUEUE_MANAGER_PACKET_MGR);
}

static void check_locked(void *dqm)
{
	lockdep_assert_held((struct mutex *)AT(dqm, GP_DEVICE_QUEUE_MANAGER_LOCK_HIDDEN));
}

noinline int pm_config_dequeue_wait_counts(void *manager, u32 command, u32 value)
{
	check_locked(dqm_of(manager));
	if (gp_fake.configure_error)
		return gp_fake.configure_error;
	gp_fake.grace = command == GP_KFD_DEQUEUE_WAIT_SET_SCH_WAVE ? value : GP_FAKE_GRACE;
	return 0;
}

noinline int pm_send_unmap_queue(void *manager, u32 filter, u32 parameter, bool reset)
{
	check_locked(dqm_of(manager));
	WARN_ON(filter != GP_KFD_UNMAP_QUEUES_FILTER_ALL_QUEUES || parameter || reset);
	if (gp_fake.packet_error)
		return gp_fake.packet_error;
	gp_fake.direct_unmaps++;
	return 0;
}

noinline int pm_send_query_status(void *manager, u64 address, u64 value)
{
	check_locked(dqm_of(manager));
	if (gp_fake.fence_late)
		*(u64 *)address = last_asked;
	else if (!gp_fake.fence_error)
		*(u64 *)address = value;
	last_asked = value;
	return 0;
}

noinline int amdkfd_fence_wait_timeout(void *dqm, u64 value, u32 timeout_ms)
{
	ktime_t answered = ktime_add_ms(ktime_get(), gp_fake.fence_ms);

	check_locked(dqm);
	if (gp_fake.fence_error)
		return gp_fake.fence_error;
	/*
	 * By the clock that the module reads: where the processor that counts the ticks
	 * lags behind, a sleep ends as much earlier than it was meant to.
	 */
	while (ktime_before(ktime_get(), answered))
		usleep_range(100, 1000);
	return fence == value ? 0 : -ETIME;
}

noinline void pm_release_ib(void *manager)
{
	check_locked(dqm_of(manager));
	gp_fake.releases++;
}

static noinline bool check_preemption_failed_v9_4_3(void *manager, void *mqd)
{
	bool failed = gp_fake.unyielding;

	WARN_ON(manager != scheduler_manager || mqd != scheduler_descriptor);
	gp_fake.unyielding = 0;
	return failed;
}

/* gp_fake_scheduler_fill() - give a node the hardware scheduler's structures */
void gp_fake_scheduler_fill(void *dqm)
{
	SET(void *, scheduler_queue, GP_QUEUE_MQD, scheduler_descriptor);
	SET(void *, scheduler, GP_KERNEL_QUEUE_QUEUE, scheduler_queue);
	SET(void *, scheduler_manager, GP_MQD_MANAGER_CHECK_PREEMPTION_FAILED,
	    check_preemption_failed_v9_4_3);
	SET(void *, dqm, GP_DEVICE_QUEUE_MANAGER_PACKET_MGR_PRIV_QUEUE, scheduler);
	SET(void *, dqm, GP_DEVICE_QUEUE_MANAGER_FENCE_ADDR, &fence);
	SET(u64, dqm, GP_DEVICE_QUEUE_MANAGER_FENCE_GPU_ADDR, (uintptr_t)&fence);
	SET(void *, dqm, GP_DEVICE_QUEUE_MANAGER_MQD_MGRS +
	    sizeof(void *) * GP_KFD_MQD_TYPE_HIQ, scheduler_manager);
	SET(u8, dqm, GP_DEVICE_QUEUE_MANAGER_ACTIVE_RUNLIST, 1);
	gp_fake.check_preemption_failed = AT(scheduler_manager,
					     GP_MQD_MANAGER_CHECK_PREEMPTION_FAILED);
}

/* gp_fake_scheduler_reset() - have firmware answer at once */
void gp_fake_scheduler_reset(void)
{
	gp_fake.configure_error = 0;
	gp_fake.packet_error = 0;
	gp_fake.fence_error = 0;
	gp_fake.fence_ms = 0;
	gp_fake.limit_ms = 9000;
	gp_fake.fence_late = 0;
	gp_fake.unyielding = 0;
	gp_fake.direct_unmaps = 0;
	gp_fake.releases = 0;
	gp_fake.grace = GP_FAKE_GRACE;
}

static DECLARE_COMPLETION(halt_locked);
static u32 halt_field;

/* The bit in which the kernel's mutex notes that anybody waits. */
static bool waited_for(struct mutex *lock)
{
#ifdef CONFIG_PREEMPT_RT
	return (unsigned long)READ_ONCE(lock->rtmutex.owner) & 1;
#else
	return atomic_long_read(&lock->owner) & 1;
#endif
}

/* Holds the lock until somebody waits for it, and sets the field then. */
static void halt_while_waited_for(struct work_struct *work)
{
	struct mutex *lock = AT(gp_fake.first.dqm, GP_DEVICE_QUEUE_MANAGER_LOCK_HIDDEN);

	mutex_lock(lock);
	complete(&halt_locked);
	while (!waited_for(lock))
		msleep(1);
	SET(u8, gp_fake.first.dqm, halt_field, 1);
	mutex_unlock(lock);
}

static DECLARE_WORK(halt_work, halt_while_waited_for);

/*
 * gp_fake_halt_when_waited_for() - have a flag of the queue manager set once somebody
 * waits for its lock, who has looked at the flag before
 */
void gp_fake_halt_when_waited_for(u32 field)
{
	reinit_completion(&halt_locked);
	halt_field = field;
	schedule_work(&halt_work);
	wait_for_completion(&halt_locked);
}
EXPORT_SYMBOL_GPL(gp_fake_halt_when_waited_for);

/* The parameters: what firmware makes of the module's packets. */
/* Under the driver's own name, by which the module finds it. */
module_param_named(queue_preemption_timeout_ms, gp_fake.limit_ms, int, 0600);
module_param_named(fence_error, gp_fake.fence_error, int, 0600);
module_param_named(direct_unmaps, gp_fake.direct_unmaps, uint, 0400);
