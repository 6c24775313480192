// SPDX-License-Identifier: GPL-2.0-only
/*
 * The nodes of the fake GPU: how many there are, whether queues of one wait for those
 * of another, and whether one does not yield.
 *
 * The parameters: 'nodes' divides the GPU anew as the driver does, that is not while
 * KFD counts a user; what is written to 'users' is added to that count.  'busy' has a queue of each node run and a
 * more urgent one wait for it.  'hung' is the number of a node whose queues do not
 * yield, or -1, and 'hanging' whether somebody waits for them.  'empty' takes all
 * queues of all nodes away.  'dead' has firmware of no node answer, for which everyone
 * waits until 'dead' of them do, or for seconds; 'asked_together' is how many did.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include "fake.h"
#include "generated_layout.h"

static struct gp_fake_node others[GP_FAKE_NODES - 1];
static int hung = -1;
static unsigned int hanging;
static unsigned int busy;
static unsigned int dead;
static atomic_t asking;
static unsigned int asked_together;

/* gp_fake_node_of() - the node of a number */
struct gp_fake_node *gp_fake_node_of(u32 index)
{
	return index ? &others[index - 1] : &gp_fake.first;
}

/* gp_fake_nodes_create() - make room for all nodes, until the device goes */
int gp_fake_nodes_create(struct device *dev)
{
	u32 i;
	int error = 0;

	for (i = 0; i < GP_FAKE_NODES && !error; i++)
		error = gp_fake_node_create(dev, gp_fake_node_of(i));
	return error;
}

/* gp_fake_nodes_reset() - one node, which yields, and no work */
void gp_fake_nodes_reset(void)
{
	WRITE_ONCE(hung, -1);
	WRITE_ONCE(busy, 0);
	WRITE_ONCE(dead, 0);
	WRITE_ONCE(asked_together, 0);
}

/* gp_fake_wait_while_hung() - as the driver does when the queues of a node do not yield */
void gp_fake_wait_while_hung(void *dqm)
{
	int of = READ_ONCE(hung);

	while (of >= 0 && gp_fake_node_of(of)->dqm == dqm && READ_ONCE(hung) == of) {
		WRITE_ONCE(hanging, 1);
		msleep(10);
	}
	if (of >= 0 && gp_fake_node_of(of)->dqm == dqm)
		WRITE_ONCE(hanging, 0);
}

/* gp_fake_is_dead() - wait as for firmware that does not answer, if it is so */
bool gp_fake_is_dead(void)
{
	unsigned int together, patience = 3000;

	if (!READ_ONCE(dead))
		return false;
	together = atomic_inc_return(&asking);
	if (together > READ_ONCE(asked_together))
		WRITE_ONCE(asked_together, together);
	while (READ_ONCE(asked_together) < READ_ONCE(dead) && patience--)
		msleep(10);
	atomic_dec(&asking);
	return true;
}

/*
 * With 'busy' the first hardware queue of each node has the first queue of the first
 * process, which runs unless it is stopped, and the second one that of the second
 * process, whose packets wait.
 */
static void *busy_queue(u32 xcc, u32 slot)
{
	return gp_fake_node_of(xcc)->processes[slot].queues[0];
}

static bool is_mapped(u32 xcc, u32 slot)
{
	void *properties = AT(busy_queue(xcc, slot), GP_QUEUE_PROPERTIES);

	return READ_ONCE(busy) && GET(u8, properties, GP_QUEUE_PROPERTIES_IS_ACTIVE);
}

/* gp_fake_busy_doorbell() - the doorbell of the queue that a hardware queue has */
u32 gp_fake_busy_doorbell(u32 slot)
{
	return GET(u32, AT(busy_queue(0, slot), GP_QUEUE_PROPERTIES),
		   GP_QUEUE_PROPERTIES_DOORBELL_OFF);
}

/* gp_fake_register() - a register of a hardware queue */
u32 gp_fake_register(u32 xcc, u32 slot, u32 which, u32 otherwise)
{
	if (!READ_ONCE(busy))
		return otherwise;
	if (slot > 1 || !is_mapped(xcc, slot))
		return 0;
	switch (which) {
	case HQD_ACTIVE:
		return 1;
	case HQD_PQ_DOORBELL_CONTROL:
		return 3U << 30 | gp_fake_busy_doorbell(slot) << 2;
	case HQD_PQ_WPTR_LO:
		return 64;
	default:
		return 0;
	}
}

/* gp_fake_waves() - how many waves a hardware queue has */
u32 gp_fake_waves(u32 xcc, u32 slot)
{
	return slot == 0 && is_mapped(xcc, slot);
}

static struct mutex *partition_lock(void)
{
	return AT(gp_fake.xcp_mgr, GP_AMDGPU_XCP_MGR_XCP_LOCK);
}

static atomic_t *users(void)
{
	return AT(gp_fake.kfd, GP_KFD_DEV_KFD_PROCESSES_COUNT);
}

static int set_nodes(const char *text, const struct kernel_param *parameter)
{
	u32 i, count;
	int error = kstrtou32(text, 0, &count);

	if (error || !gp_fake.adev || !count || count > GP_FAKE_NODES)
		return error ?: -EINVAL;
	mutex_lock(partition_lock());
	if (atomic_read(users())) {
		error = -EBUSY;
	} else {
		for (i = 0; i < count; i++) {
			gp_fake_node_fill(gp_fake_node_of(i), i);
			SET(void *, gp_fake.kfd, GP_KFD_DEV_NODES + i * sizeof(void *),
			    gp_fake_node_of(i)->node);
		}
		SET(u32, gp_fake.kfd, GP_KFD_DEV_NUM_NODES, count);
	}
	mutex_unlock(partition_lock());
	return error;
}

static int set_users(const char *text, const struct kernel_param *parameter)
{
	int more, error = kstrtoint(text, 0, &more);

	if (error || !gp_fake.adev)
		return error ?: -ENODEV;
	atomic_add(more, users());
	return 0;
}

static void empty_node(void *dqm)
{
	struct mutex *lock = AT(dqm, GP_DEVICE_QUEUE_MANAGER_LOCK_HIDDEN);

	mutex_lock(lock);
	INIT_LIST_HEAD(AT(dqm, GP_DEVICE_QUEUE_MANAGER_QUEUES));
	SET(u32, dqm, GP_DEVICE_QUEUE_MANAGER_PROCESSES_COUNT, 0);
	SET(u32, dqm, GP_DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT, 0);
	SET(u32, dqm, GP_DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, 0);
	SET(u32, dqm, GP_DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT, 0);
	mutex_unlock(lock);
}

static int set_empty(const char *text, const struct kernel_param *parameter)
{
	u32 i;

	for (i = 0; i < GP_FAKE_NODES && gp_fake.adev; i++)
		empty_node(gp_fake_node_of(i)->dqm);
	return 0;
}

static const struct kernel_param_ops nodes_ops = { .set = set_nodes };
static const struct kernel_param_ops users_ops = { .set = set_users };
static const struct kernel_param_ops empty_ops = { .set = set_empty };

module_param_cb(nodes, &nodes_ops, NULL, 0200);
module_param_cb(users, &users_ops, NULL, 0200);
module_param_cb(empty, &empty_ops, NULL, 0200);
module_param(busy, uint, 0600);
module_param(dead, uint, 0600);
module_param(asked_together, uint, 0400);
module_param(hung, int, 0600);
module_param(hanging, uint, 0400);
