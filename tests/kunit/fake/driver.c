// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver that goes by the name of amdgpu and has its structures, one GPU with
 * one node (see nodes.c for more), and nothing behind them.  The tests damage the structures in every
 * way and see what the module makes of it.  The fields are where the real
 * driver has them, except for locks (see tests/kunit/layout).
 *
 * The module is built as amdgpu.ko, so that what looks for functions of amdgpu
 * finds these.  Its parameters do from user space what a test of the product
 * needs: see the end.  It is one file because nearly all of it fills and uses the
 * same few structures, and a module of one file needs no header of its own for them.
 */
#include <linux/cgroup.h>
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/kernfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/pci.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "fake.h"
#include "generated_layout.h"

struct gp_fake gp_fake;
EXPORT_SYMBOL_GPL(gp_fake);

static struct mutex *dqm_mutex(void *dqm)
{
	return AT(dqm, GP_DEVICE_QUEUE_MANAGER_LOCK_HIDDEN);
}

/* The driver's functions that the module calls or looks at. */
int debug_lock_and_unmap(void *dqm);
int debug_map_and_unlock(void *dqm);
int pqm_create_queue(void *pqm, void *node, int result);

noinline int debug_lock_and_unmap(void *dqm)
{
	gp_fake.unmaps++;
	if (gp_fake_is_dead())
		return -ETIME;
	/* It takes them off when nobody waits for it any more, which nobody hears of. */
	if (gp_fake.unmap_error == -ETIME)
		gp_fake.mapped = 0;
	if (gp_fake.unmap_error)
		return gp_fake.unmap_error;
	mutex_lock(dqm_mutex(dqm));
	SET(unsigned int, dqm, GP_DEVICE_QUEUE_MANAGER_SAVED_FLAGS, memalloc_noreclaim_save());
	gp_fake_wait_while_hung(dqm);
	SET(u32, dqm, GP_DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT,
	    GET(u32, dqm, GP_DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT) + gp_fake.miscount_at_unmap);
	SET(u8, dqm, GP_DEVICE_QUEUE_MANAGER_ACTIVE_RUNLIST, 0);
	return 0;
}

/* As the driver does when it has made a run list. */
static void note_oversubscription(void *dqm)
{
	bool *was = AT(dqm, GP_DEVICE_QUEUE_MANAGER_PACKET_MGR_IS_OVER_SUBSCRIPTION);
	bool is = GET(u32, dqm, GP_DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT) > GP_FAKE_PLACES;

	gp_fake.oversubscriptions += is && !*was;
	*was = is;
}

noinline int debug_map_and_unlock(void *dqm)
{
	int error = 0;

	gp_fake.maps++;
	note_oversubscription(dqm);
	if (gp_fake.map_errors) {
		gp_fake.map_errors--;
		error = gp_fake.reset_at_map ? -EIO : -ENOMEM;
		if (gp_fake.unmap_error_at_map)
			gp_fake.unmap_error = gp_fake.unmap_error_at_map;
		SET(u32, gp_fake.reset_domain, GP_AMDGPU_RESET_DOMAIN_IN_GPU_RESET,
		    gp_fake.reset_at_map);
	}
	/* As the driver, which sends none where it takes the last one for mapped. */
	gp_fake.mapped = !error && !GET(u8, dqm, GP_DEVICE_QUEUE_MANAGER_ACTIVE_RUNLIST);
	SET(u8, dqm, GP_DEVICE_QUEUE_MANAGER_ACTIVE_RUNLIST, !error);
	memalloc_noreclaim_restore(GET(unsigned int, dqm, GP_DEVICE_QUEUE_MANAGER_SAVED_FLAGS));
	mutex_unlock(dqm_mutex(dqm));
	return error;
}

/* The module has its calls reported; here they come from a parameter only. */
noinline int pqm_create_queue(void *pqm, void *node, int result)
{
	barrier();
	return result;
}

/* 'create': as if COUNT queues were created on NODE, one a millisecond unless told otherwise. */
static int set_create(const char *text, const struct kernel_param *parameter)
{
	unsigned int index, count, pause_us = 1000;
	int result;

	if (sscanf(text, "%u %u %d %u", &index, &count, &result, &pause_us) < 3 ||
	    index >= GP_FAKE_NODES)
		return -EINVAL;
	while (count--) {
		pqm_create_queue(NULL, gp_fake_node_of(index)->node, result);
		if (pause_us)
			usleep_range(pause_us, pause_us + 100);
		else
			cond_resched();
	}
	return 0;
}

static noinline int update_queue(void *dqm, void *queue, void *info)
{
	return 0;
}

static u32 hardware_queues[32][HQD_REGISTERS];

/* gp_fake_map() - have a hardware queue hold the queue with a doorbell, or none */
void gp_fake_map(u32 slot, u32 doorbell, u32 read, u64 write, bool empty)
{
	u32 *registers = hardware_queues[slot];

	registers[HQD_ACTIVE] = !!doorbell;
	/* The others keep what they had. */
	if (!doorbell)
		return;
	registers[HQD_PQ_RPTR] = read;
	/* The bits beside the offset are those of a doorbell that was rung. */
	registers[HQD_PQ_DOORBELL_CONTROL] = 3U << 30 | doorbell << 2;
	registers[HQD_PQ_CONTROL] = empty << 15;
	registers[HQD_PQ_WPTR_LO] = lower_32_bits(write);
	registers[HQD_PQ_WPTR_HI] = upper_32_bits(write);
}
EXPORT_SYMBOL_GPL(gp_fake_map);

static noinline int kgd_gfx_v9_hqd_dump(void *adev, u32 pipe, u32 queue, u32 (**dump)[2], u32 *count, u32 xcc)
{
	u32 i;

	gp_fake.dumps++;
	if (gp_fake.dump_error)
		return gp_fake.dump_error;
	*dump = kmalloc_array(HQD_REGISTERS, sizeof(**dump), GFP_KERNEL);
	if (!*dump)
		return -ENOMEM;
	for (i = 0; i < HQD_REGISTERS; i++) {
		(*dump)[i][0] = 0x4914 + gp_fake.dump_stride * i;
		(*dump)[i][1] = gp_fake_register(xcc, pipe * 8 + queue, i,
						 hardware_queues[pipe * 8 + queue][i]);
	}
	*count = gp_fake.dump_registers;
	return 0;
}

static noinline int load_mqd_v9_4_3(void *manager, void *mqd, u32 pipe, u32 queue, void *properties,
			     void *mm)
{
	gp_fake.loads++;
	return 0;
}

static noinline int destroy_mqd_v9_4_3(void *manager, void *mqd, u32 type, u32 timeout_ms, u32 pipe,
				u32 queue)
{
	gp_fake.destroys++;
	return gp_fake.destroy_error;
}

static u8 mqd_manager[GP_MQD_MANAGER_SIZE] __aligned(8);

static noinline void kgd_gfx_v9_get_cu_occupancy(void *adev, void *occupancy, int *max_waves, u32 xcc)
{
	u32 (*queues)[2] = occupancy, slot;

	gp_fake.wave_counts++;
	for (slot = 0; slot < 2; slot++) {
		queues[slot][0] = gp_fake_waves(xcc, slot);
		queues[slot][1] = queues[slot][0] ? gp_fake_busy_doorbell(slot) : 0;
	}
}

static noinline int kgd_gfx_v9_4_3_hqd_load(void *adev, void *mqd, u32 pipe, u32 queue, void *wptr,
					    u32 shift, u32 mask, void *mm, u32 xcc)
{
	gp_fake.loads++;
	return 0;
}

static noinline bool kgd_gfx_v9_hqd_is_occupied(void *adev, u64 address, u32 pipe, u32 queue,
						u32 xcc)
{
	return true;
}

static u8 kfd2kgd[GP_KFD2KGD_CALLS_SIZE] __aligned(8);

static void fill_queue(const struct gp_fake_process *p, void *node, void *queue,
		       unsigned int number, u32 id)
{
	void *properties = AT(queue, GP_QUEUE_PROPERTIES);
	bool copies = number == GP_FAKE_QUEUES - 1;

	memset(queue, 0, GP_QUEUE_SIZE);
	SET(void *, queue, GP_QUEUE_PROCESS, p->process);
	SET(void *, queue, GP_QUEUE_DEVICE, node);
	SET(u32, properties, GP_QUEUE_PROPERTIES_TYPE,
	    copies ? GP_KFD_QUEUE_TYPE_SDMA : GP_KFD_QUEUE_TYPE_COMPUTE);
	SET(u32, properties, GP_QUEUE_PROPERTIES_FORMAT, GP_KFD_QUEUE_FORMAT_AQL);
	SET(u32, properties, GP_QUEUE_PROPERTIES_QUEUE_ID, number);
	SET(u64, properties, GP_QUEUE_PROPERTIES_QUEUE_ADDRESS, 0x10000 * (id + 1));
	SET(u64, properties, GP_QUEUE_PROPERTIES_QUEUE_SIZE, 0x10000);
	SET(u32, properties, GP_QUEUE_PROPERTIES_PRIORITY, id % 16);
	SET(u32, properties, GP_QUEUE_PROPERTIES_QUEUE_PERCENT, 100);
	SET(u32, properties, GP_QUEUE_PROPERTIES_DOORBELL_OFF, 0x400 + 2 * id);
	SET(u8, properties, GP_QUEUE_PROPERTIES_IS_ACTIVE, 1);
}

/* The main thread of the process of a number: tasks that every kernel has. */
static struct task_struct *main_thread_of(unsigned int number)
{
	struct task_struct *task;

	if (!number)
		return &init_task;
	rcu_read_lock();
	task = pid_task(find_pid_ns(GP_FAKE_KTHREADD, &init_pid_ns), PIDTYPE_PID);
	rcu_read_unlock();
	return task;
}

/* All of a process on a node but its queues. */
static void fill_facts(const struct gp_fake_node *n, const struct gp_fake_process *p,
		       struct task_struct *main_thread)
{
	memset(p->process, 0, GP_KFD_PROCESS_SIZE);
	memset(p->pdd, 0, GP_KFD_PROCESS_DEVICE_SIZE);
	SET(void *, p->pqm, GP_PROCESS_QUEUE_MANAGER_PROCESS, p->process);
	SET(void *, p->process, GP_KFD_PROCESS_LEAD_THREAD, main_thread);
	SET(u16, p->process, GP_KFD_PROCESS_CONTEXT_ID, 0xffff);
	SET(void *, p->pdd, GP_KFD_PROCESS_DEVICE_DEV, n->node);
	SET(void *, p->pdd, GP_KFD_PROCESS_DEVICE_PROCESS, p->process);
	SET(void *, p->qpd, GP_QCM_PROCESS_DEVICE_DQM, n->dqm);
	SET(void *, p->qpd, GP_QCM_PROCESS_DEVICE_PQM, p->pqm);
	INIT_LIST_HEAD(AT(p->qpd, GP_QCM_PROCESS_DEVICE_QUEUES_LIST));
	INIT_LIST_HEAD(AT(p->qpd, GP_QCM_PROCESS_DEVICE_PRIV_QUEUE_LIST));
	SET(void *, p->entry, GP_DEVICE_PROCESS_NODE_QPD, p->qpd);
}

static void fill_process(const struct gp_fake_node *n, const struct gp_fake_process *p,
			 unsigned int number)
{
	unsigned int i;

	fill_facts(n, p, main_thread_of(number));
	SET(u32, p->qpd, GP_QCM_PROCESS_DEVICE_QUEUE_COUNT, GP_FAKE_QUEUES);
	for (i = 0; i < GP_FAKE_QUEUES; i++) {
		fill_queue(p, n->node, p->queues[i], i, number * GP_FAKE_QUEUES + i);
		list_add_tail(AT(p->queues[i], GP_QUEUE_LIST),
			      AT(p->qpd, GP_QCM_PROCESS_DEVICE_QUEUES_LIST));
	}
	list_add_tail(AT(p->entry, GP_DEVICE_PROCESS_NODE_LIST),
		      AT(n->dqm, GP_DEVICE_QUEUE_MANAGER_QUEUES));
}

static void fill_queue_manager(void *dqm, void *node)
{
	memset(dqm, 0, GP_DEVICE_QUEUE_MANAGER_LOCK_HIDDEN);
	SET(void *, dqm, GP_DEVICE_QUEUE_MANAGER_OPS_UPDATE_QUEUE, update_queue);
	SET(void *, dqm, GP_DEVICE_QUEUE_MANAGER_DEV, node);
	SET(void *, mqd_manager, GP_MQD_MANAGER_LOAD_MQD, load_mqd_v9_4_3);
	SET(void *, mqd_manager, GP_MQD_MANAGER_DESTROY_MQD, destroy_mqd_v9_4_3);
	SET(void *, dqm, GP_DEVICE_QUEUE_MANAGER_MQD_MGRS +
	    sizeof(void *) * GP_KFD_MQD_TYPE_CP, mqd_manager);
	SET(u32, dqm, GP_DEVICE_QUEUE_MANAGER_SCHED_POLICY, GP_KFD_SCHED_POLICY_HWS);
	SET(u8, dqm, GP_DEVICE_QUEUE_MANAGER_SCHED_RUNNING, 1);
	SET(u32, dqm, GP_DEVICE_QUEUE_MANAGER_PROCESSES_COUNT, GP_FAKE_PROCESSES);
	SET(u32, dqm, GP_DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT,
	    GP_FAKE_PROCESSES * GP_FAKE_QUEUES);
	SET(u32, dqm, GP_DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT,
	    GP_FAKE_PROCESSES * GP_FAKE_QUEUES);
	SET(u32, dqm, GP_DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT,
	    GP_FAKE_PROCESSES * (GP_FAKE_QUEUES - 1));
	INIT_LIST_HEAD(AT(dqm, GP_DEVICE_QUEUE_MANAGER_QUEUES));
	gp_fake_scheduler_fill(dqm);
}

static void fill_gpu(struct pci_dev *pdev)
{
	SET(void *, gp_fake.adev, GP_AMDGPU_DEVICE_DEV, &pdev->dev);
	SET(void *, gp_fake.adev, GP_AMDGPU_DEVICE_PDEV, pdev);
	SET(void *, gp_fake.adev, GP_AMDGPU_DEVICE_XCP_MGR, gp_fake.xcp_mgr);
	SET(void *, gp_fake.adev, GP_AMDGPU_DEVICE_RESET_DOMAIN, gp_fake.reset_domain);
	SET(u32, gp_fake.reset_domain, GP_AMDGPU_RESET_DOMAIN_IN_GPU_RESET, 0);
	SET(u8, gp_fake.adev, GP_AMDGPU_DEVICE_SHUTDOWN, 0);
	SET(u8, gp_fake.adev, GP_AMDGPU_DEVICE_IN_SUSPEND, 0);
	SET(u8, gp_fake.adev, GP_AMDGPU_DEVICE_NO_HW_ACCESS, 0);
	SET(u32, gp_fake.adev, GP_AMDGPU_DEVICE_VIRT_CAPS, 0);
	SET(u8, gp_fake.adev, GP_AMDGPU_DEVICE_KFD_INIT_COMPLETE, 1);
	SET(void *, gp_fake.adev, GP_AMDGPU_DEVICE_KFD_DEV, gp_fake.kfd);
	memset(gp_fake.kfd, 0, GP_KFD_DEV_SIZE);
	SET(void *, gp_fake.kfd, GP_KFD_DEV_ADEV, gp_fake.adev);
	SET(u32, gp_fake.kfd, GP_KFD_DEV_DEVICE_INFO_GFX_TARGET_VERSION, 90402);
	SET(u8, gp_fake.kfd, GP_KFD_DEV_INIT_COMPLETE, 1);
	SET(u8, gp_fake.kfd, GP_KFD_DEV_CWSR_ENABLED, 1);
	SET(void *, gp_fake.kfd, GP_KFD_DEV_NODES, gp_fake.first.node);
	SET(u32, gp_fake.kfd, GP_KFD_DEV_NUM_NODES, 1);
	SET(u32, gp_fake.kfd, GP_KFD_DEV_KFD_PROCESSES_COUNT, GP_FAKE_PROCESSES);
	SET(void *, kfd2kgd, GP_KFD2KGD_CALLS_HQD_DUMP, kgd_gfx_v9_hqd_dump);
	SET(void *, kfd2kgd, GP_KFD2KGD_CALLS_GET_CU_OCCUPANCY, kgd_gfx_v9_get_cu_occupancy);
	SET(void *, kfd2kgd, GP_KFD2KGD_CALLS_HQD_LOAD, kgd_gfx_v9_4_3_hqd_load);
	SET(void *, kfd2kgd, GP_KFD2KGD_CALLS_HQD_IS_OCCUPIED, kgd_gfx_v9_hqd_is_occupied);
}

/* gp_fake_node_fill() - make a node of the GPU as it should be */
void gp_fake_node_fill(const struct gp_fake_node *n, u32 index)
{
	u32 i;

	memset(n->node, 0, GP_KFD_NODE_SIZE);
	SET(u32, n->node, GP_KFD_NODE_NODE_ID, index);
	SET(void *, n->node, GP_KFD_NODE_ADEV, gp_fake.adev);
	SET(void *, n->node, GP_KFD_NODE_KFD, gp_fake.kfd);
	SET(void *, n->node, GP_KFD_NODE_DQM, n->dqm);
	SET(void *, n->node, GP_KFD_NODE_KFD2KGD, kfd2kgd);
	SET(u32, n->node, GP_KFD_NODE_ID, 0x1234 + index);
	SET(u32, n->node, GP_KFD_NODE_XCC_MASK, 1 << index);
	fill_queue_manager(n->dqm, n->node);
	for (i = 0; i < GP_FAKE_PROCESSES; i++)
		fill_process(n, &n->processes[i], i);
}

/* gp_fake_node_create() - make room for a node, until the device goes */
int gp_fake_node_create(struct device *dev, struct gp_fake_node *n)
{
	unsigned int i, j;

	n->node = devm_kzalloc(dev, GP_KFD_NODE_SIZE, GFP_KERNEL);
	n->dqm = devm_kzalloc(dev, GP_DEVICE_QUEUE_MANAGER_SIZE, GFP_KERNEL);
	if (!n->node || !n->dqm)
		return -ENOMEM;
	for (i = 0; i < GP_FAKE_PROCESSES; i++) {
		struct gp_fake_process *p = &n->processes[i];

		p->process = devm_kzalloc(dev, GP_KFD_PROCESS_SIZE, GFP_KERNEL);
		p->pqm = devm_kzalloc(dev, PAGE_SIZE, GFP_KERNEL);
		p->pdd = devm_kzalloc(dev, GP_KFD_PROCESS_DEVICE_SIZE, GFP_KERNEL);
		p->entry = devm_kzalloc(dev, PAGE_SIZE, GFP_KERNEL);
		if (!p->process || !p->pqm || !p->pdd || !p->entry)
			return -ENOMEM;
		p->qpd = AT(p->pdd, GP_KFD_PROCESS_DEVICE_QPD);
		for (j = 0; j < GP_FAKE_QUEUES; j++) {
			p->queues[j] = devm_kzalloc(dev, GP_QUEUE_SIZE, GFP_KERNEL);
			if (!p->queues[j])
				return -ENOMEM;
		}
	}
	mutex_init(dqm_mutex(n->dqm));
	return 0;
}

static struct pci_dev *fake_pdev;
/* Queues and processes beyond those of gp_fake. */
static void *extra_queues;
static void *extra_processes;

static void free_extras(void)
{
	kvfree(extra_queues);
	extra_queues = NULL;
	kvfree(extra_processes);
	extra_processes = NULL;
}

static void add_to(unsigned int counter, int count)
{
	SET(u32, gp_fake.first.dqm, counter, GET(u32, gp_fake.first.dqm, counter) + count);
}

/* gp_fake_reset() - make everything as it should be. */
void gp_fake_reset(void)
{
	gp_fake.unmap_error = 0;
	gp_fake.map_errors = 0;
	gp_fake.reset_at_map = 0;
	gp_fake.unmap_error_at_map = 0;
	gp_fake.miscount_at_unmap = 0;
	gp_fake.loads = 0;
	gp_fake.destroys = 0;
	gp_fake.destroy_error = 0;
	gp_fake.mapped = 1;
	gp_fake.unmaps = 0;
	gp_fake.maps = 0;
	gp_fake.oversubscriptions = 0;
	gp_fake.dump_error = 0;
	gp_fake.dump_registers = HQD_REGISTERS;
	gp_fake.dump_stride = sizeof(u32);
	gp_fake.dumps = 0;
	gp_fake.wave_counts = 0;
	memset(hardware_queues, 0, sizeof(hardware_queues));
	gp_fake_scheduler_reset();
	fill_gpu(fake_pdev);
	gp_fake_node_fill(&gp_fake.first, 0);
	gp_fake_nodes_reset();
	free_extras();
}
EXPORT_SYMBOL_GPL(gp_fake_reset);

/*
 * gp_fake_add_queues() - give the first process more queues for waves
 *
 * As in the driver, new queues come first.  Once until the next reset.
 */
int gp_fake_add_queues(u32 count)
{
	struct gp_fake_process *p = &gp_fake.first.processes[0];
	void *queues;
	u32 i;

	if (extra_queues)
		return -EBUSY;
	queues = kvcalloc(count, GP_QUEUE_SIZE, GFP_KERNEL);
	if (!queues)
		return -ENOMEM;
	mutex_lock(dqm_mutex(gp_fake.first.dqm));
	for (i = 0; i < count; i++) {
		void *queue = AT(queues, i * GP_QUEUE_SIZE);

		fill_queue(p, gp_fake.first.node, queue, 0, GP_FAKE_PROCESSES * GP_FAKE_QUEUES + i);
		SET(u32, AT(queue, GP_QUEUE_PROPERTIES), GP_QUEUE_PROPERTIES_QUEUE_ID,
		    GP_FAKE_QUEUES + i);
		list_add(AT(queue, GP_QUEUE_LIST),
			 AT(p->qpd, GP_QCM_PROCESS_DEVICE_QUEUES_LIST));
	}
	SET(u32, p->qpd, GP_QCM_PROCESS_DEVICE_QUEUE_COUNT, GP_FAKE_QUEUES + count);
	add_to(GP_DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT, count);
	add_to(GP_DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, count);
	add_to(GP_DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT, count);
	extra_queues = queues;
	mutex_unlock(dqm_mutex(gp_fake.first.dqm));
	return 0;
}
EXPORT_SYMBOL_GPL(gp_fake_add_queues);

/* Room for the structures of which only a few fields are used. */
#define SMALL 512

/*
 * gp_fake_add_processes() - have more processes with queues for waves
 *
 * As in the driver, new processes come first, and so do new queues.  Once until the
 * next reset.
 */
int gp_fake_add_processes(u32 count, u32 queues)
{
	size_t size = GP_KFD_PROCESS_SIZE + GP_KFD_PROCESS_DEVICE_SIZE + 2 * SMALL +
		      (size_t)queues * GP_QUEUE_SIZE;
	const struct gp_fake_node *n = &gp_fake.first;
	u32 i, j, id = 0;

	size = ALIGN(size + 16, 8);
	if (extra_processes)
		return -EBUSY;
	extra_processes = kvcalloc(count, size, GFP_KERNEL);
	if (!extra_processes)
		return -ENOMEM;
	mutex_lock(dqm_mutex(n->dqm));
	for (i = 0; i < count; i++) {
		struct gp_fake_process p = { .process = AT(extra_processes, i * size) };
		void *at;

		p.pdd = AT(p.process, ALIGN(GP_KFD_PROCESS_SIZE, 8));
		p.pqm = AT(p.pdd, ALIGN(GP_KFD_PROCESS_DEVICE_SIZE, 8));
		p.entry = AT(p.pqm, SMALL);
		p.qpd = AT(p.pdd, GP_KFD_PROCESS_DEVICE_QPD);
		at = AT(p.entry, SMALL);
		fill_facts(n, &p, &init_task);
		for (j = 0; j < queues; j++, at = AT(at, GP_QUEUE_SIZE)) {
			fill_queue(&p, n->node, at, 0, id++);
			SET(u32, AT(at, GP_QUEUE_PROPERTIES), GP_QUEUE_PROPERTIES_QUEUE_ID, j);
			list_add(AT(at, GP_QUEUE_LIST),
				 AT(p.qpd, GP_QCM_PROCESS_DEVICE_QUEUES_LIST));
		}
		SET(u32, p.qpd, GP_QCM_PROCESS_DEVICE_QUEUE_COUNT, queues);
		list_add(AT(p.entry, GP_DEVICE_PROCESS_NODE_LIST),
			 AT(n->dqm, GP_DEVICE_QUEUE_MANAGER_QUEUES));
	}
	add_to(GP_DEVICE_QUEUE_MANAGER_PROCESSES_COUNT, count);
	add_to(GP_DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT, count * queues);
	add_to(GP_DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, count * queues);
	add_to(GP_DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT, count * queues);
	mutex_unlock(dqm_mutex(n->dqm));
	return 0;
}
EXPORT_SYMBOL_GPL(gp_fake_add_processes);

/* The flag of a queue for waves, counted through the processes. */
static u8 *active_flag(u32 number)
{
	u32 each = GP_FAKE_QUEUES - 1;
	void *queue = gp_fake.first.processes[number / each].queues[number % each];

	return AT(queue, GP_QUEUE_PROPERTIES + GP_QUEUE_PROPERTIES_IS_ACTIVE);
}

/* gp_fake_stop() - leave a queue for waves as a stop by amd_gpreempt would */
int gp_fake_stop(u32 number)
{
	if (number >= GP_FAKE_PROCESSES * (GP_FAKE_QUEUES - 1))
		return -EINVAL;
	mutex_lock(dqm_mutex(gp_fake.first.dqm));
	if (*active_flag(number)) {
		*active_flag(number) = 0;
		add_to(GP_DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, -1);
		add_to(GP_DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT, -1);
	}
	mutex_unlock(dqm_mutex(gp_fake.first.dqm));
	return 0;
}
EXPORT_SYMBOL_GPL(gp_fake_stop);

/*
 * gp_fake_own() - have the first process be that of a task, or only its memory, which
 * then no thread of its program has
 */
int gp_fake_own(int pid, bool main_thread)
{
	void *process = gp_fake.first.processes[0].process;
	struct task_struct *task;
	int error = -ESRCH;

	rcu_read_lock();
	task = pid_task(find_pid_ns(pid, &init_pid_ns), PIDTYPE_PID);
	if (task && task->mm) {
		SET(void *, process, GP_KFD_PROCESS_LEAD_THREAD, main_thread ? task : &init_task);
		SET(void *, process, GP_KFD_PROCESS_MM, task->mm);
		/* Its command line is in memory, since it is still running it. */
		gp_fake.word = task->mm->arg_start;
		error = 0;
	}
	rcu_read_unlock();
	return error;
}
EXPORT_SYMBOL_GPL(gp_fake_own);

/* gp_fake_own_test() - have the first process be that of the test that calls this */
int gp_fake_own_test(void)
{
	void *process = gp_fake.first.processes[0].process;

	if (!current->mm)
		return -EINVAL;
	SET(void *, process, GP_KFD_PROCESS_LEAD_THREAD, current);
	SET(void *, process, GP_KFD_PROCESS_MM, current->mm);
	return 0;
}
EXPORT_SYMBOL_GPL(gp_fake_own_test);

/* What a program without threads has, to which tasks of the fake are added. */
static void make_program(struct signal_struct *signal)
{
	memcpy(signal, init_task.signal, sizeof(*signal));
	INIT_LIST_HEAD(&signal->thread_head);
}

/* Memory that is described still, and that nobody uses. */
static struct mm_struct unused_mm;

/* The threads of its program, the main one first. */
static struct task_struct unused_threads[10];

/*
 * gp_fake_own_unused() - have the first process be one whose memory is in use no more
 *
 * Of its threads, of which there is room for ten, so many have ended and have it no more.
 */
int gp_fake_own_unused(u32 ended)
{
	static struct signal_struct signal;
	u32 thread;

	if (ended >= ARRAY_SIZE(unused_threads))
		return -EINVAL;
	make_program(&signal);
	for (thread = 0; thread <= ended; thread++) {
		struct task_struct *task = &unused_threads[thread];

		memcpy(task, &init_task, sizeof(*task));
		spin_lock_init(&task->alloc_lock);
		task->signal = &signal;
		list_add_tail(&task->thread_node, &signal.thread_head);
		task->mm = thread == ended ? &unused_mm : NULL;
	}
	atomic_set(&unused_mm.mm_users, 0);
	atomic_set(&unused_mm.mm_count, 1);
	SET(void *, gp_fake.first.processes[0].process, GP_KFD_PROCESS_LEAD_THREAD,
	    &unused_threads[0]);
	SET(void *, gp_fake.first.processes[0].process, GP_KFD_PROCESS_MM, &unused_mm);
	return 0;
}
EXPORT_SYMBOL_GPL(gp_fake_own_unused);

/* gp_fake_unused_counts() - its users, and behind them the references to it */
u64 gp_fake_unused_counts(void)
{
	return (u32)atomic_read(&unused_mm.mm_users) |
	       (u64)atomic_read(&unused_mm.mm_count) << 32;
}
EXPORT_SYMBOL_GPL(gp_fake_unused_counts);

/*
 * gp_fake_own_leaving() - have the first process be one whose program is about to give up
 * its memory, which is the test's: a bit each for an exec, an exec in another thread, an
 * end, and an exec in another thread that is the only one left
 */
int gp_fake_own_leaving(u32 ways)
{
	static struct task_struct task, other;
	static struct signal_struct signal;

	memcpy(&task, &init_task, sizeof(task));
	make_program(&signal);
	spin_lock_init(&task.alloc_lock);
	other = task;
	other.in_execve = true;
	list_add_tail(ways & 8 ? &other.thread_node : &task.thread_node, &signal.thread_head);
	task.signal = &signal;
	task.mm = current->mm;
	task.in_execve = ways & 1;
	signal.group_exec_task = ways & 2 ? &task : NULL;
	signal.flags = ways & 4 ? SIGNAL_GROUP_EXIT : 0;
	SET(void *, gp_fake.first.processes[0].process, GP_KFD_PROCESS_LEAD_THREAD, &task);
	return 0;
}
EXPORT_SYMBOL_GPL(gp_fake_own_leaving);

/* A task in namespaces of which the fake makes what is looked at. */
static struct task_struct *contained_task;
static struct cred contained_cred;
static struct user_namespace contained_namespaces[2];

/*
 * gp_fake_own_contained() - have the first process be that of a user within a user's
 * namespace
 *
 * The outer namespace was made by the first user, the inner one by the user that
 * the task is in the initial namespace.
 */
int gp_fake_own_contained(void)
{
	kuid_t user = KUIDT_INIT(100000);

	if (!contained_task)
		contained_task = kmemdup(&init_task, sizeof(init_task), GFP_KERNEL);
	if (!contained_task)
		return -ENOMEM;
	contained_task->nsproxy = init_task.nsproxy;
	contained_task->thread_pid = init_task.thread_pid;
	contained_task->signal = init_task.signal;
	contained_task->flags = init_task.flags;
	contained_namespaces[0].parent = &init_user_ns;
	contained_namespaces[0].owner = GLOBAL_ROOT_UID;
	contained_namespaces[1].parent = &contained_namespaces[0];
	contained_namespaces[1].owner = user;
	contained_cred.uid = user;
	contained_cred.euid = user;
	contained_cred.user_ns = &contained_namespaces[1];
	rcu_assign_pointer(contained_task->real_cred, &contained_cred);
	SET(void *, gp_fake.first.processes[0].process, GP_KFD_PROCESS_LEAD_THREAD,
	    contained_task);
	return 0;
}
EXPORT_SYMBOL_GPL(gp_fake_own_contained);

/*
 * gp_fake_own_set_user_id() - have the first process be that of the first user, running
 * a program of another's with that one's rights
 */
int gp_fake_own_set_user_id(void)
{
	kuid_t other = KUIDT_INIT(100000);
	int error = gp_fake_own_contained();

	if (error)
		return error;
	contained_cred.uid = GLOBAL_ROOT_UID;
	contained_cred.euid = other;
	contained_cred.suid = other;
	contained_cred.fsuid = other;
	contained_cred.user_ns = &init_user_ns;
	return 0;
}
EXPORT_SYMBOL_GPL(gp_fake_own_set_user_id);

/* gp_fake_own_other_user() - have the first process be another user's than all others */
int gp_fake_own_other_user(void)
{
	int error = gp_fake_own_set_user_id();

	contained_cred.uid = contained_cred.euid;
	return error;
}
EXPORT_SYMBOL_GPL(gp_fake_own_other_user);

/* A cgroup namespace that begins in a cgroup of a number, as far as it is looked at. */
struct fake_proxy {
	struct kernfs_node folder;
	struct cgroup cgroup;
	struct css_set groups;
	struct cgroup_namespace namespace;
	struct nsproxy proxy;
};

static struct nsproxy *begin_in(struct fake_proxy *fake, u64 number)
{
	fake->folder.id = number;
	fake->cgroup.kn = &fake->folder;
	fake->groups.dfl_cgrp = &fake->cgroup;
	fake->namespace.root_cset = &fake->groups;
	fake->proxy.cgroup_ns = &fake->namespace;
	return &fake->proxy;
}

static struct task_struct *later_task;
static struct pid *contained_pid;
/* The outer one first. */
static struct pid_namespace contained_programs[2];

/*
 * gp_fake_own_container() - have the first process be a program of the first user's in a
 * cgroup namespace of its own
 *
 * It begins in a cgroup of that number, 0 if the program ends and has none.  Where
 * @programs is not 0, it is in a process namespace of that number, within one that the
 * container is, and whose first program is gone.  If @moved, its main thread is gone, too,
 * and another one runs.
 */
int gp_fake_own_container(u64 number, u32 programs, bool moved)
{
	static struct fake_proxy own;
	static struct signal_struct signal;
	struct pid_namespace *outer = contained_programs, *inner = outer + 1;
	struct task_struct *runs;
	int error = gp_fake_own_set_user_id();

	if (error)
		return error;
	if (!later_task)
		later_task = kmemdup(&init_task, sizeof(init_task), GFP_KERNEL);
	if (!contained_pid)
		contained_pid = kzalloc(struct_size(contained_pid, numbers, 3), GFP_KERNEL);
	if (!later_task || !contained_pid)
		return -ENOMEM;
	make_program(&signal);
	contained_task->signal = &signal;
	runs = moved ? later_task : contained_task;
	list_add_tail(&runs->thread_node, &signal.thread_head);
	if (!number || moved)
		contained_task->flags |= PF_EXITING;
	spin_lock_init(&contained_task->alloc_lock);
	spin_lock_init(&later_task->alloc_lock);
	runs->nsproxy = number ? begin_in(&own, number) : NULL;
	outer->parent = &init_pid_ns;
	outer->ns.inum = programs;
	outer->user_ns = &init_user_ns;
	inner->parent = outer;
	inner->ns.inum = programs + 1;
	/* Whoever follows it finds no memory. */
	outer->child_reaper = inner->child_reaper = LIST_POISON1;
	contained_pid->level = 2;
	contained_pid->numbers[2].ns = inner;
	contained_task->thread_pid = NULL;
	runs->thread_pid = programs ? contained_pid : init_task.thread_pid;
	return 0;
}
EXPORT_SYMBOL_GPL(gp_fake_own_container);

/*
 * gp_fake_become() - have the program of gp_fake_own_container() become another user within
 *
 * Where @users, whoever made the process namespace is in a user namespace, as a user is
 * who makes one.
 */
void gp_fake_become(u32 user, bool users)
{
	contained_cred.uid = KUIDT_INIT(user);
	if (users)
		contained_programs[0].user_ns = &contained_namespaces[0];
}
EXPORT_SYMBOL_GPL(gp_fake_become);

/* gp_fake_wait_for() - have that program have ended, and have been waited for */
void gp_fake_wait_for(void)
{
	INIT_LIST_HEAD(&contained_task->signal->thread_head);
	contained_task->flags |= PF_EXITING;
	contained_task->thread_pid = NULL;
}
EXPORT_SYMBOL_GPL(gp_fake_wait_for);

/* A task of which the fake makes what rules go by. */
static struct task_struct *named_task;

/*
 * gp_fake_own_named() - have the first process be a program of a name in a cgroup
 *
 * It has the process id of a program that there is, and began so much later.
 */
int gp_fake_own_named(const char *name, u64 cgroup_number, int pid, u64 later)
{
	struct task_struct *task;
	static struct css_set groups;
	static struct cgroup group;
	static struct kernfs_node folder;
	struct task_struct *of_pid;

	if (!named_task)
		named_task = kmemdup(&init_task, sizeof(init_task), GFP_KERNEL);
	task = named_task;
	if (!task)
		return -ENOMEM;
	rcu_read_lock();
	of_pid = pid_task(find_pid_ns(pid, &init_pid_ns), PIDTYPE_TGID);
	task->start_boottime = of_pid ? of_pid->start_boottime + later : 0;
	rcu_read_unlock();
	if (!of_pid)
		return -ESRCH;
	task->tgid = pid;
	strscpy_pad(task->comm, name, TASK_COMM_LEN);
	folder.id = cgroup_number;
	group.kn = &folder;
	/* Nobody counts references to it. */
	group.self.flags = CSS_NO_REF;
	groups.dfl_cgrp = &group;
	rcu_assign_pointer(task->cgroups, &groups);
	SET(void *, gp_fake.first.processes[0].process, GP_KFD_PROCESS_LEAD_THREAD, task);
	return 0;
}
EXPORT_SYMBOL_GPL(gp_fake_own_named);

static struct rw_semaphore *reset_sem(void)
{
	return (struct rw_semaphore *)AT(gp_fake.reset_domain, GP_AMDGPU_RESET_DOMAIN_SEM);
}

/* gp_fake_reset_begins() - hold what a reset holds. */
void gp_fake_reset_begins(void)
{
	down_write(reset_sem());
}
EXPORT_SYMBOL_GPL(gp_fake_reset_begins);

/* gp_fake_reset_ends() - undo gp_fake_reset_begins(). */
void gp_fake_reset_ends(void)
{
	up_write(reset_sem());
}
EXPORT_SYMBOL_GPL(gp_fake_reset_ends);

/* gp_fake_locked() - whether anybody holds one of the driver's locks. */
bool gp_fake_locked(void)
{
	return mutex_is_locked(dqm_mutex(gp_fake.first.dqm)) ||
	       mutex_is_locked((struct mutex *)AT(gp_fake.xcp_mgr, GP_AMDGPU_XCP_MGR_XCP_LOCK)) ||
	       rwsem_is_locked(reset_sem());
}
EXPORT_SYMBOL_GPL(gp_fake_locked);

static int fake_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct {
		void **place;
		size_t size;
	} parts[] = {
		{ &gp_fake.adev, GP_AMDGPU_DEVICE_SIZE },
		{ &gp_fake.xcp_mgr, PAGE_SIZE },
		{ &gp_fake.reset_domain, PAGE_SIZE },
		{ &gp_fake.kfd, GP_KFD_DEV_SIZE },
	};
	unsigned int i;
	int error;

	if (fake_pdev)
		return -EBUSY;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		*parts[i].place = devm_kzalloc(&pdev->dev, parts[i].size, GFP_KERNEL);
		if (!*parts[i].place)
			return -ENOMEM;
	}
	error = gp_fake_nodes_create(&pdev->dev);
	if (error)
		return error;
	fake_pdev = pdev;
	mutex_init((struct mutex *)AT(gp_fake.xcp_mgr, GP_AMDGPU_XCP_MGR_XCP_LOCK));
	init_rwsem(reset_sem());
	gp_fake_reset();
	pci_set_drvdata(pdev, AT(gp_fake.adev, GP_AMDGPU_DEVICE_DDEV));
	return 0;
}

/* How long the driver takes to let go of the device, in milliseconds. */
static unsigned int remove_ms;

static void fake_remove(struct pci_dev *pdev)
{
	msleep(remove_ms);
	free_extras();
	kfree(contained_task);
	contained_task = NULL;
	kfree(later_task);
	later_task = NULL;
	kfree(contained_pid);
	contained_pid = NULL;
	kfree(named_task);
	named_task = NULL;
	fake_pdev = NULL;
}

/* Any device of the virtual machine that this kernel has no driver for. */
static const struct pci_device_id fake_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_INTEL, PCI_DEVICE_ID_INTEL_82371SB_1) },
	{ }
};

static struct pci_driver fake_driver = {
	.name = "amdgpu",
	.id_table = fake_ids,
	.probe = fake_probe,
	.remove = fake_remove,
};

static int __init fake_init(void)
{
	int error = gp_fake_types_appear();

	if (error)
		return error;
	error = pci_register_driver(&fake_driver);
	if (error)
		gp_fake_types_disappear();
	return error;
}

static void __exit fake_exit(void)
{
	pci_unregister_driver(&fake_driver);
	gp_fake_types_disappear();
}

module_init(fake_init);
module_exit(fake_exit);

/*
 * The parameters: write to 'stopped' the number of a queue to stop and read how
 * many are stopped, to 'more_queues' how many to add, to 'miscount' by how many to
 * make the driver's count of running queues wrong, to 'halted' whether the
 * scheduler is halted, to 'unmap_error' what taking the queues off returns, to
 * 'map_errors' how often putting them back fails, to 'resets' how often the driver has
 * reset the GPU, and to 'reset' anything to have all as it should be.  'create' is
 * explained where it is.  'mapped' says whether the queues are on the hardware, and
 * 'unmaps' how often they were taken off.
 */
static int number_of(const char *text, u32 *number)
{
	int error = kstrtou32(text, 0, number);

	return error ?: fake_pdev ? 0 : -ENODEV;
}

static int set_stopped(const char *text, const struct kernel_param *parameter)
{
	u32 number;
	int error = number_of(text, &number);

	return error ?: gp_fake_stop(number);
}

static int get_stopped(char *text, const struct kernel_param *parameter)
{
	u32 i, stopped = 0;

	if (!fake_pdev)
		return -ENODEV;
	mutex_lock(dqm_mutex(gp_fake.first.dqm));
	for (i = 0; i < GP_FAKE_PROCESSES * (GP_FAKE_QUEUES - 1); i++)
		stopped += !*active_flag(i);
	mutex_unlock(dqm_mutex(gp_fake.first.dqm));
	return sysfs_emit(text, "%u\n", stopped);
}

static int set_more_queues(const char *text, const struct kernel_param *parameter)
{
	u32 count;
	int error = number_of(text, &count);

	return error ?: gp_fake_add_queues(count);
}

/* The driver's counter says so many more than there are. */
static int set_miscount(const char *text, const struct kernel_param *parameter)
{
	int count, error = kstrtoint(text, 0, &count);

	if (error || !fake_pdev)
		return error ?: -ENODEV;
	mutex_lock(dqm_mutex(gp_fake.first.dqm));
	add_to(GP_DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, count);
	mutex_unlock(dqm_mutex(gp_fake.first.dqm));
	return 0;
}

static int set_halted(const char *text, const struct kernel_param *parameter)
{
	u32 halted;
	int error = number_of(text, &halted);

	if (!error)
		SET(u8, gp_fake.first.dqm, GP_DEVICE_QUEUE_MANAGER_SCHED_HALT, halted);
	return error;
}

/* KFD's count of resets of the first node. */
static int set_resets(const char *text, const struct kernel_param *parameter)
{
	u32 resets;
	int error = number_of(text, &resets);

	if (!error)
		SET(u32, gp_fake.first.node, GP_KFD_NODE_RESET_SEQ_NUM, resets);
	return error;
}

static int set_reset(const char *text, const struct kernel_param *parameter)
{
	if (!fake_pdev)
		return -ENODEV;
	gp_fake_reset();
	return 0;
}

static const struct kernel_param_ops stopped_ops = { .set = set_stopped, .get = get_stopped };
static const struct kernel_param_ops more_queues_ops = { .set = set_more_queues };
static const struct kernel_param_ops miscount_ops = { .set = set_miscount };
static const struct kernel_param_ops halted_ops = { .set = set_halted };
static const struct kernel_param_ops resets_ops = { .set = set_resets };
static const struct kernel_param_ops reset_ops = { .set = set_reset };
static const struct kernel_param_ops create_ops = { .set = set_create };

module_param_cb(stopped, &stopped_ops, NULL, 0600);
module_param_cb(more_queues, &more_queues_ops, NULL, 0200);
module_param_cb(miscount, &miscount_ops, NULL, 0200);
module_param_cb(halted, &halted_ops, NULL, 0200);
module_param_cb(resets, &resets_ops, NULL, 0200);
module_param_cb(reset, &reset_ops, NULL, 0200);
module_param_cb(create, &create_ops, NULL, 0200);
module_param(remove_ms, uint, 0600);
module_param_named(unmap_error, gp_fake.unmap_error, int, 0600);
module_param_named(map_errors, gp_fake.map_errors, uint, 0600);
module_param_named(mapped, gp_fake.mapped, uint, 0400);
module_param_named(unmaps, gp_fake.unmaps, uint, 0400);

MODULE_DESCRIPTION("A fake amdgpu for the tests of amd_gpreempt");
MODULE_LICENSE("GPL");
