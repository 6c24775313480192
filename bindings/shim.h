/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that the C and the Rust half of the module say to each other.
 *
 * C is used where the kernel offers a macro, an inline function or a table and
 * no Rust abstraction, and decides nothing.  bindgen reads this file, and every
 * C file here includes it, so that the two halves cannot disagree.  Memory of
 * amdgpu is `void *` throughout: its layout is known to rust/kfd alone.
 *
 * It asks for no layout of the kernel's either, so that what bindgen makes of it is
 * the same for all kernels.  That is bindings/shim.rs: `scripts/build/bindings`
 * writes it after a change here, and `make check` compares.
 */
#ifndef GP_SHIM_H
#define GP_SHIM_H

#include <linux/types.h>

struct cgroup;
struct dentry;
struct device;
struct device_driver;
struct mm_struct;
struct mutex;
struct rw_semaphore;
struct seq_file;
struct task_struct;

/* thread.c: the monitor threads */
struct task_struct *gp_thread_start(int (*body)(void *data), void *data, const char *name);
void gp_thread_stop(struct task_struct *thread);
bool gp_thread_should_stop(void);
void gp_thread_prepare(void);
void gp_thread_yield(void);
bool gp_thread_should_freeze(void);
void gp_thread_freeze(void);
int gp_nice_raise(void);
void gp_nice_restore(int nice);
void gp_preempt_disable(void);
void gp_preempt_enable(void);

/**
 * struct gp_heard - what has been heard by a thread
 * @calls: how often all threads were called
 * @creations: how often a queue was created on its node
 */
struct gp_heard {
	u32 calls;
	u32 creations;
};

struct gp_alarm;

/* wake.c: the sleep of the monitor threads, and what ends it */
struct gp_alarm *gp_alarm_create(void);
void gp_alarm_destroy(struct gp_alarm *alarm);
void gp_alarm_set_node(struct gp_alarm *alarm, unsigned long node);
struct gp_heard gp_alarm_heard(const struct gp_alarm *alarm);
void gp_call_all(void);
void gp_sleep(struct gp_alarm *alarm, struct gp_heard seen, u64 deaf_ns, u64 timeout_ns);
int gp_creation_watch_start(void);
void gp_creation_watch_stop(void);

/* hint.c: what programs say of themselves */
int gp_hint_device_start(void);
void gp_hint_device_stop(void);
bool gp_hint_read(const struct mm_struct *mm, u32 *number);

/* settings.c: the lock of the module parameters */
void gp_settings_lock(void);
void gp_settings_unlock(void);

struct gp_bus_watch;
struct gp_sleep_watch;

/* sleep.c: the system's sleep */
struct gp_sleep_watch *gp_sleep_watch_start(int (*event)(void *data, bool asleep), void *data);
void gp_sleep_watch_stop(struct gp_sleep_watch *watch);

/**
 * struct gp_type_info - type information (BTF)
 * @bytes: the first of them, or NULL if there are none
 * @size: how many there are
 * @copy: what has to be freed afterwards
 */
struct gp_type_info {
	const void *bytes;
	size_t size;
	void *copy;
};

/* driver.c: amdgpu as the driver core sees it */
struct device_driver *gp_amdgpu_get(void);
void gp_amdgpu_hold(struct device_driver *driver);
void gp_amdgpu_put(struct device_driver *driver);
bool gp_amdgpu_number(struct device_driver *driver, const char *name, int *value);
int gp_type_info_get(const char *module, struct gp_type_info *info);
void gp_type_info_put(struct gp_type_info *info);
int gp_amdgpu_each(struct device_driver *driver, void (*found)(void *data, struct device *device),
		   void *data);
struct gp_bus_watch *gp_bus_watch_start(struct device_driver *driver,
					void (*event)(void *data, struct device *device,
						      bool bound),
					void *data);
void gp_bus_watch_stop(struct gp_bus_watch *watch);
void gp_device_get(struct device *device);
void gp_device_put(struct device *device);
void *gp_device_data(struct device *device);
void *gp_device_pci(struct device *device);
const char *gp_device_name(struct device *device);

/* symbols.c: functions of amdgpu that it does not export */
#define GP_SYMBOL_LEN 256
void gp_symbol_name(unsigned long address, char *name);
unsigned long gp_function_of_amdgpu(const char *name);
int gp_hws_bind(void);
void gp_hws_unbind(void);
int gp_hws_lock_and_unmap(void *dqm);
int gp_hws_map_and_unlock(void *dqm);

/* direct.c: the functions of amdgpu that an unmapping of our own is made of */
int gp_direct_bind(void);
void gp_direct_unbind(void);
int gp_direct_configure(void *manager, u32 command, u32 value);
int gp_direct_unmap(void *manager, u32 filter);
int gp_direct_ask(void *manager, u64 *fence, u64 address, u64 before, u64 after);
int gp_direct_wait(void *dqm, u64 after, u32 timeout_ms);
void gp_direct_release(void *manager);

/* foreign.c: amdgpu's locks and operations, and memory that may not be there */
u32 gp_mutex_bytes(void);
u32 gp_rwsem_bytes(void);
bool gp_read_kernel(void *to, const void *from, size_t size);
void gp_dqm_lock(struct mutex *lock, unsigned int *saved_flags);
void gp_dqm_unlock(struct mutex *lock, unsigned int *saved_flags);
void gp_mutex_lock(struct mutex *lock);
void gp_mutex_unlock(struct mutex *lock);
bool gp_users_join(void *users);
void gp_users_leave(void *users);
bool gp_rwsem_read_trylock(struct rw_semaphore *lock);
void gp_rwsem_read_unlock(struct rw_semaphore *lock);
void gp_free(void *memory);

/**
 * struct gp_occupancy - what one hardware queue has on the compute units
 * @wave_count: waves on the first XCC
 * @doorbell_offset: which queue it is
 *
 * The driver's struct kfd_cu_occupancy; its layout is compared at load.
 */
struct gp_occupancy {
	u32 wave_count;
	u32 doorbell_offset;
};

int gp_call_hqd_load(void *function, void *adev, void *mqd, u32 pipe, u32 queue, u64 write_pointer,
		     u32 shift, u32 xcc);
int gp_call_load_mqd(void *function, void *manager, void *mqd, u32 pipe, u32 queue,
		     void *properties, struct mm_struct *mm);
bool gp_call_check_preemption_failed(void *function, void *manager, void *mqd);
int gp_call_destroy_mqd(void *function, void *manager, void *mqd, u32 type, u32 timeout_ms,
			u32 pipe, u32 queue);
bool gp_call_hqd_is_occupied(void *function, void *adev, u64 address, u32 pipe, u32 queue,
			     u32 xcc);
void gp_call_cu_occupancy(void *function, void *adev, struct gp_occupancy *occupancy,
			  int *max_waves, u32 xcc);
int gp_call_hqd_dump(void *function, void *adev, u32 pipe, u32 queue, u32 (**dump)[2],
		     u32 *count, u32 xcc);

#define GP_COMM_LEN 16

/* process.c: processes that own queues */
void gp_task_get(struct task_struct *task);
void gp_task_put(struct task_struct *task);
int gp_task_pid(struct task_struct *task);
void gp_task_comm(struct task_struct *task, char *comm);
u64 gp_task_tenant(struct task_struct *task);
u64 gp_task_cgroup(struct task_struct *task);
struct cgroup *gp_task_cgroup_get(struct task_struct *task);
u64 gp_task_began(struct task_struct *task);
bool gp_task_is_leaving(struct task_struct *task);
bool gp_program_began(int pid, u64 *began);
void gp_mm_put(struct mm_struct *mm);
bool gp_mm_handle_get(struct task_struct *task, struct mm_struct *mm);
void gp_mm_handle_put(struct mm_struct *mm);
bool gp_mm_revive(struct mm_struct *mm);
void gp_mm_enter(struct mm_struct *mm);
void gp_mm_leave(struct mm_struct *mm);
bool gp_read_user(void *to, u64 from, size_t size);
struct cgroup *gp_cgroup_get(const char *path);
void gp_cgroup_put(struct cgroup *cgroup);
u64 gp_cgroup_id(struct cgroup *cgroup);
bool gp_cgroup_alive(struct cgroup *cgroup);
bool gp_cgroup_holds(struct cgroup *cgroup, struct cgroup *other);

/**
 * struct gp_file - a debugfs file
 * @show: writes the file's content; process context, no lock held
 * @data: passed to @show; must outlive the file
 */
struct gp_file {
	int (*show)(struct seq_file *m, void *data);
	void *data;
};

/* What there is to read and write of a node in sysfs: name, mode. */
#define GP_NODE_VALUES(X)		\
	X(state, 0600)			\
	X(gpu_id, 0400)			\
	X(backend, 0400)		\
	X(queues, 0400)			\
	X(stopped, 0400)		\
	X(passes, 0400)			\
	X(inversions, 0400)		\
	X(stops, 0400)			\
	X(starts, 0400)			\
	X(transactions, 0400)		\
	X(failures, 0400)		\
	X(healed, 0400)			\
	X(exempt, 0400)

#define GP_NODE_VALUE_ID(name, mode) GP_NODE_VALUE_##name,
enum gp_node_value { GP_NODE_VALUES(GP_NODE_VALUE_ID) GP_NODE_VALUE_COUNT };

/* What files are in a folder of sysfs: that of a GPU, or those of a node. */
enum gp_folder_kind { GP_FOLDER_GPU, GP_FOLDER_NODE };

/**
 * struct gp_folder_ops - how the values of a folder are read and written
 * @show: writes a value to a page and returns its length or -errno
 * @store: takes a value; returns 0 or -errno
 *
 * Both are called in process context with no lock of ours held.
 */
struct gp_folder_ops {
	ssize_t (*show)(void *data, u32 value, char *page);
	int (*store)(void *data, u32 value, const char *text, size_t length);
};

/**
 * struct gp_root_ops - how rules are added and deleted in sysfs
 * @change: takes the text of a rule to add, or the number of one to delete; returns 0 or -errno
 * @data: passed to @change
 */
struct gp_root_ops {
	int (*change)(void *data, bool add, const char *text, size_t length);
	void *data;
};

struct gp_folder;
struct gp_root;

/* files.c: debugfs and sysfs */
struct dentry *gp_debugfs_create(const char *name);
void gp_debugfs_remove(struct dentry *directory);
void gp_debugfs_file(struct dentry *directory, const char *name, struct gp_file *file);
struct gp_root *gp_root_create(const char *name, struct gp_root_ops *ops);
void gp_root_remove(struct gp_root *root);
struct gp_folder *gp_folder_create(struct gp_root *root, struct gp_folder *parent,
				   const char *name, enum gp_folder_kind kind,
				   const struct gp_folder_ops *ops, void *data);
void gp_folder_remove(struct gp_folder *folder);

/**
 * struct gp_event - what a tracepoint tells
 * @gpu_id: KFD's number of the GPU
 * @node: which partition of it
 * @pid: the process that owns the queue
 * @queue_id: KFD's number of the queue within the process
 * @prio: the priority that the process gave the queue
 * @eff_prio: the priority that counts
 * @reason: a word of the policy
 * @age_ns: how long the condition has lasted
 */
struct gp_event {
	u32 gpu_id;
	u32 node;
	int pid;
	u32 queue_id;
	u32 prio;
	u32 eff_prio;
	const char *reason;
	u64 age_ns;
};

enum gp_point { GP_POINT_INVERSION, GP_POINT_STOP, GP_POINT_START, GP_POINT_FALLBACK };

/* trace.c: the tracepoints */
void gp_trace(enum gp_point point, const struct gp_event *event);

#endif /* GP_SHIM_H */
