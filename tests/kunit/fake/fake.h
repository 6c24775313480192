/* SPDX-License-Identifier: GPL-2.0-only */
/* What a test sees of the fake amdgpu, and how it tells it what to do. */
#ifndef GP_FAKE_H
#define GP_FAKE_H

#include <linux/types.h>

#define GP_FAKE_PROCESSES 2
#define GP_FAKE_QUEUES 3
/* On the hardware, for queues for waves. */
#define GP_FAKE_PLACES 24
/* How long waves may go on, unless a packet says otherwise. */
#define GP_FAKE_GRACE 0x40
/* The process id of kthreadd, whose program is that of the second process. */
#define GP_FAKE_KTHREADD 2

/**
 * struct gp_fake_process - the structures of one process on the node
 * @process: struct kfd_process
 * @pqm: struct process_queue_manager
 * @pdd: struct kfd_process_device
 * @qpd: struct qcm_process_device, within @pdd
 * @entry: struct device_process_node, on the queue manager's list
 * @queues: struct queue: two for waves, then one for copies
 */
struct gp_fake_process {
	void *process;
	void *pqm;
	void *pdd;
	void *qpd;
	void *entry;
	void *queues[GP_FAKE_QUEUES];
};

/**
 * struct gp_fake_node - the structures of one node of the GPU
 * @node: struct kfd_node
 * @dqm: struct device_queue_manager
 * @processes: on the node
 */
struct gp_fake_node {
	void *node;
	void *dqm;
	struct gp_fake_process processes[GP_FAKE_PROCESSES];
};

/**
 * struct gp_fake - a GPU with one node, as amdgpu would keep it
 * @adev: struct amdgpu_device
 * @xcp_mgr: struct amdgpu_xcp_mgr
 * @reset_domain: struct amdgpu_reset_domain
 * @kfd: struct kfd_dev
 * @first: its first node, and its only one until a test asks for more
 * @unmap_error: what debug_lock_and_unmap() returns, a negative errno or 0
 * @map_errors: how often debug_map_and_unlock() fails from now on
 * @mapped: the last call of debug_map_and_unlock() did not fail, and has sent a run list
 * @unmaps: how often debug_lock_and_unmap() was called
 * @maps: how often debug_map_and_unlock() was called
 * @dump_error: what the dump of a hardware queue returns, a negative errno or 0
 * @dump_registers: how many registers are in a dump
 * @dump_stride: how many bytes lie between two of them
 * @dumps: how often a hardware queue was dumped
 * @wave_counts: how often the waves of all hardware queues were counted
 * @reset_at_map: whether debug_map_and_unlock() fails because of a reset
 * @loads: how often a queue was put into its hardware queue
 * @destroys: how often a queue was taken out of it
 * @destroy_error: what that returns, a negative errno or 0
 * @oversubscriptions: how often the driver would have said that the run list is
 *	getting oversubscribed
 * @check_preemption_failed: where the manager of the scheduler's own queue has that function
 * @configure_error: what the packet about how long waves may go on comes to
 * @packet_error: what the packet that takes queues off comes to
 * @fence_error: what waiting for the firmware returns, a negative errno or 0
 * @fence_ms: how long it takes
 * @limit_ms: how long the driver would wait for that
 * @unyielding: whether a queue has not yielded, until that is asked
 * @direct_unmaps: how often the module has sent the packet that takes queues off
 * @releases: how often it has freed the run list
 * @grace: how long waves may go on
 * @fence_late: whether firmware answers each question when it is asked the next one
 * @unmap_error_at_map: what taking queues off returns once putting them back has failed
 * @miscount_at_unmap: by how many more the driver's count of running queues is too large
 *	once queues were taken off
 * @word: an address of the memory of gp_fake_own() at which there is something
 */
struct gp_fake {
	void *adev;
	void *xcp_mgr;
	void *reset_domain;
	void *kfd;
	struct gp_fake_node first;
	int unmap_error;
	u32 map_errors;
	u32 mapped;
	u32 unmaps;
	u32 maps;
	int dump_error;
	u32 dump_registers;
	u32 dump_stride;
	u32 dumps;
	u32 wave_counts;
	u32 reset_at_map;
	u32 loads;
	u32 destroys;
	int destroy_error;
	u32 oversubscriptions;
	void *check_preemption_failed;
	int configure_error;
	int packet_error;
	int fence_error;
	u32 fence_ms;
	int limit_ms;
	u32 unyielding;
	u32 direct_unmaps;
	u32 releases;
	u32 grace;
	u32 fence_late;
	int unmap_error_at_map;
	u32 miscount_at_unmap;
	u64 word;
};

extern struct gp_fake gp_fake;
void gp_fake_reset(void);
bool gp_fake_locked(void);
void gp_fake_reset_begins(void);
void gp_fake_reset_ends(void);
int gp_fake_add_queues(u32 count);
int gp_fake_add_processes(u32 count, u32 queues);
int gp_fake_stop(u32 number);
void gp_fake_map(u32 slot, u32 doorbell, u32 read, u64 write, bool empty);
int gp_fake_own(int pid, bool main_thread);
int gp_fake_own_test(void);
int gp_fake_own_unused(u32 ended);
u64 gp_fake_unused_counts(void);
int gp_fake_own_contained(void);
int gp_fake_own_leaving(u32 ways);
int gp_fake_own_set_user_id(void);
int gp_fake_own_other_user(void);
int gp_fake_own_container(u64 number, u32 programs, bool moved);
void gp_fake_become(u32 user, bool users);
void gp_fake_wait_for(void);
int gp_fake_own_named(const char *name, u64 cgroup_number, int pid, u64 later);

/* direct.c: what an unmapping of the module's own goes by */
void gp_fake_scheduler_fill(void *dqm);
void gp_fake_scheduler_reset(void);
void gp_fake_halt_when_waited_for(u32 field);

/* nodes.c: the GPU divided into several nodes, and work on them */
#define GP_FAKE_NODES 8
struct device;
struct gp_fake_node *gp_fake_node_of(u32 index);
int gp_fake_nodes_create(struct device *dev);
int gp_fake_node_create(struct device *dev, struct gp_fake_node *node);
void gp_fake_node_fill(const struct gp_fake_node *node, u32 index);
void gp_fake_nodes_reset(void);
void gp_fake_wait_while_hung(void *dqm);
bool gp_fake_is_dead(void);
u32 gp_fake_register(u32 xcc, u32 slot, u32 which, u32 otherwise);
u32 gp_fake_waves(u32 xcc, u32 slot);
u32 gp_fake_busy_doorbell(u32 slot);

/* The registers of the hardware queues that the module looks at. */
enum { HQD_ACTIVE = 2, HQD_PQ_RPTR = 10, HQD_PQ_DOORBELL_CONTROL = 15, HQD_PQ_CONTROL = 17,
       HQD_PQ_WPTR_LO = 54, HQD_PQ_WPTR_HI = 55, HQD_REGISTERS };

#define AT(whole, offset) ((void *)((char *)(whole) + (offset)))
#define SET(type, whole, offset, value) (*(type *)AT(whole, offset) = (value))
#define GET(type, whole, offset) (*(type *)AT(whole, offset))

/* types.c */
int gp_fake_exchange(const char *text);
int gp_fake_types_appear(void);
void gp_fake_types_disappear(void);

#endif /* GP_FAKE_H */
