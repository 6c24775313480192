// SPDX-License-Identifier: GPL-2.0-only

//! What the module uses of the driver's private structures: which fields, of which kind,
//! and by what name the rest of the crate knows the place of each.
//!
//! The headers of amdgpu and KFD are part of no package, and their structures change from
//! release to release without a word. So no offset is written down anywhere: when the
//! module is loaded, each row of this table is looked up in the type information of the
//! driver that is there (`resolve.rs`). A row stands here because code of ours uses it.
//!
//! Pure, so that the host tests it against real drivers and made-up ones.

#![forbid(unsafe_code)]

use super::type_info::Class;

/// Something that is looked up in the driver's type information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) class: Class,
    /// The name of the structure, enumeration or function.
    pub(crate) owner: &'static str,
    pub(crate) ask: Ask,
    pub(crate) need: Need,
}

/// What is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// How many bytes a structure has.
    Bytes(Bytes),
    /// Where a field is; it may be known that it has to be in one place.
    Field {
        path: &'static str,
        form: Form,
        at: Option<u64>,
    },
    /// Where a pointer to a function of a type is.
    Pointer {
        path: &'static str,
        signature: &'static str,
    },
    /// Which value an enumeration gives to a name; it may be known which it has to be.
    Value(&'static str, Option<i64>),
    /// Whether a function has a type.
    Signature(&'static str),
}

/// How many bytes a structure may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bytes {
    Exactly(u64),
    AtMost(u64),
    /// As many as the kernel's headers say, by which the module takes the lock.
    AsMutex,
    AsSemaphore,
}

/// What a field has to be. The form says where in memory one may be, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A pointer, whatever it points to.
    Pointer,
    /// An integer, a C `bool` or an enumeration of so many bytes.
    Number(u64),
    /// A structure around one integer of four bytes, as the kernel's `atomic_t` is.
    Counter,
    /// So many elements of so many bytes, all dimensions together.
    Array(u64, u64),
    /// A structure or union of that name.
    Part(&'static str),
}

/// What becomes of a driver that is not as a row has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The module cannot be used with it.
    Always,
    /// If it lacks the field, the module does without. A field that is there has to be
    /// as expected.
    Optional,
    /// `transaction=direct` cannot be used with it.
    Direct,
}

impl Row {
    const fn optional(self) -> Self {
        let need = Need::Optional;
        Self { need, ..self }
    }

    const fn direct(self) -> Self {
        let need = Need::Direct;
        Self { need, ..self }
    }
}

const fn row(class: Class, owner: &'static str, ask: Ask) -> Row {
    Row {
        class,
        owner,
        ask,
        need: Need::Always,
    }
}

const fn structure(owner: &'static str, bytes: Bytes) -> Row {
    row(Class::Structure, owner, Ask::Bytes(bytes))
}

const fn field(owner: &'static str, path: &'static str, form: Form) -> Row {
    let at = None;
    row(Class::Structure, owner, Ask::Field { path, form, at })
}

const fn field_at(owner: &'static str, path: &'static str, form: Form, at: u64) -> Row {
    let at = Some(at);
    row(Class::Structure, owner, Ask::Field { path, form, at })
}

const fn operation(owner: &'static str, path: &'static str, signature: &'static str) -> Row {
    row(Class::Structure, owner, Ask::Pointer { path, signature })
}

const fn value(owner: &'static str, name: &'static str, value: Option<i64>) -> Row {
    row(Class::Enumeration, owner, Ask::Value(name, value))
}

const fn function(owner: &'static str, signature: &'static str) -> Row {
    row(Class::Function, owner, Ask::Signature(signature))
}

/// The place of a field in its structure, by the number of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset(pub(crate) usize);

/// The place of a field that not every driver has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OptionalOffset(pub(crate) usize);

/// A value that drivers have changed, or a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amount(pub(crate) usize);

/// Names what the table finds out, and makes the table of it.
macro_rules! table {
    (
        found { $($name:ident: $of:ident = $row:expr;)* }
        known { $($known:ident = $value:literal of $enumeration:literal $($need:ident)?;)* }
        compared { $($compared:expr;)* }
    ) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the names of the constants")]
        enum Number { $($name),* }
        $(pub(crate) const $name: $of = $of(Number::$name as usize);)*
        $(pub(crate) const $known: i64 = $value;)*

        /// All rows. Those that something is found out by come first, in the order of
        /// their numbers.
        pub(crate) const ROWS: &[Row] = &[
            $($row,)*
            $(value($enumeration, stringify!($known), Some($known))$(.$need())?,)*
            $($compared,)*
        ];

        /// The names of the first rows.
        #[allow(dead_code, reason = "for the host, which prints them")]
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

/// The longest `struct queue` of which a copy is taken, a power of two.
pub(crate) const MOST_QUEUE_BYTES: usize = 512;
/// The bytes of a queue's descriptor for one XCC.
pub(crate) const V9_MQD_SIZE: usize = 2048;
/// The most nodes that a GPU is divided into.
pub(crate) const KFD_DEV_NODES_LEN: usize = 8;
/// Words of the driver's map of hardware queues.
pub(crate) const KFD_DEV_SHARED_RESOURCES_CP_QUEUE_BITMAP_LEN: usize = 2;
/// Types of queues for which the driver has a manager of their descriptors.
pub(crate) const DEVICE_QUEUE_MANAGER_MQD_MGRS_LEN: usize = 4;

const BOOL: Form = Form::Number(1);
const U16: Form = Form::Number(2);
const U32: Form = Form::Number(4);
const U64: Form = Form::Number(8);
const PTR: Form = Form::Pointer;
const LIST: Form = Form::Part("list_head");
const MUTEX: Form = Form::Part("mutex");

const ADEV: &str = "amdgpu_device";
const DQM: &str = "device_queue_manager";
const QPD: &str = "qcm_process_device";
const PROPERTIES: &str = "queue_properties";
const MQD: &str = "v9_mqd";
/// A map of the hardware queues, a bit for each.
const BITMAP: Form = Form::Array(KFD_DEV_SHARED_RESOURCES_CP_QUEUE_BITMAP_LEN as u64, 8);

const fn pointers(count: usize) -> Form {
    Form::Array(count as u64, 8)
}

const LOAD_MQD: &str =
    "int(mqd_manager *, void *, unsigned int, unsigned int, queue_properties *, mm_struct *)";
const DESTROY_MQD: &str =
    "int(mqd_manager *, void *, kfd_preempt_type, unsigned int, unsigned int, unsigned int)";
const HQD_DUMP: &str =
    "int(amdgpu_device *, unsigned int, unsigned int, unsigned int[] **, unsigned int *, unsigned int)";
const HQD_LOAD: &str =
    "int(amdgpu_device *, void *, unsigned int, unsigned int, unsigned int *, unsigned int, unsigned int, \
     mm_struct *, unsigned int)";
const HQD_IS_OCCUPIED: &str =
    "_Bool(amdgpu_device *, long long unsigned int, unsigned int, unsigned int, unsigned int)";
const GET_CU_OCCUPANCY: &str = "void(amdgpu_device *, kfd_cu_occupancy *, int *, unsigned int)";
const CHECK_PREEMPTION_FAILED: &str = "_Bool(mqd_manager *, void *)";
const UPDATE_QUEUE: &str = "int(device_queue_manager *, queue *, mqd_update_info *)";

table! {
    found {
        // The device, as amdgpu sees it.
        AMDGPU_DEVICE_DEV: Offset = field(ADEV, "dev", PTR);
        AMDGPU_DEVICE_PDEV: Offset = field(ADEV, "pdev", PTR);
        AMDGPU_DEVICE_DDEV: Offset = field(ADEV, "ddev", Form::Part("drm_device"));
        AMDGPU_DEVICE_XCP_MGR: Offset = field(ADEV, "xcp_mgr", PTR);
        AMDGPU_DEVICE_SHUTDOWN: Offset = field(ADEV, "shutdown", BOOL);
        AMDGPU_DEVICE_IN_SUSPEND: Offset = field(ADEV, "in_suspend", BOOL);
        AMDGPU_DEVICE_RESET_DOMAIN: Offset = field(ADEV, "reset_domain", PTR);
        AMDGPU_DEVICE_VIRT_CAPS: Offset = field(ADEV, "virt.caps", U32);
        AMDGPU_DEVICE_KFD_DEV: Offset = field(ADEV, "kfd.dev", PTR);
        AMDGPU_DEVICE_KFD_INIT_COMPLETE: Offset = field(ADEV, "kfd.init_complete", BOOL);
        AMDGPU_DEVICE_NO_HW_ACCESS: Offset = field(ADEV, "no_hw_access", BOOL);
        AMDGPU_RESET_DOMAIN_SEM: Offset = field("amdgpu_reset_domain", "sem", Form::Part("rw_semaphore"));
        AMDGPU_RESET_DOMAIN_IN_GPU_RESET: Offset = field("amdgpu_reset_domain", "in_gpu_reset", Form::Counter);
        AMDGPU_XCP_MGR_XCP_LOCK: Offset = field("amdgpu_xcp_mgr", "xcp_lock", MUTEX);
        // The device and its partitions, as KFD sees them.
        KFD_DEV_ADEV: Offset = field("kfd_dev", "adev", PTR);
        KFD_DEV_DEVICE_INFO_GFX_TARGET_VERSION: Offset = field("kfd_dev", "device_info.gfx_target_version", U32);
        KFD_DEV_SHARED_RESOURCES_ENABLE_MES: Offset = field("kfd_dev", "shared_resources.enable_mes", BOOL);
        KFD_DEV_INIT_COMPLETE: Offset = field("kfd_dev", "init_complete", BOOL);
        KFD_DEV_CWSR_ENABLED: Offset = field("kfd_dev", "cwsr_enabled", BOOL);
        KFD_DEV_NODES: Offset = field("kfd_dev", "nodes", pointers(KFD_DEV_NODES_LEN));
        KFD_DEV_NUM_NODES: Offset = field("kfd_dev", "num_nodes", U32);
        KFD_DEV_KFD_PROCESSES_COUNT: OptionalOffset =
            field("kfd_dev", "kfd_processes_count", Form::Counter).optional();
        KFD_NODE_NODE_ID: Offset = field("kfd_node", "node_id", U32);
        KFD_NODE_ADEV: Offset = field("kfd_node", "adev", PTR);
        KFD_NODE_KFD2KGD: Offset = field("kfd_node", "kfd2kgd", PTR);
        KFD_NODE_ID: Offset = field("kfd_node", "id", U32);
        KFD_NODE_XCC_MASK: Offset = field("kfd_node", "xcc_mask", U32);
        KFD_NODE_DQM: Offset = field("kfd_node", "dqm", PTR);
        KFD_NODE_RESET_SEQ_NUM: Offset = field("kfd_node", "reset_seq_num", U32);
        KFD_NODE_KFD: Offset = field("kfd_node", "kfd", PTR);
        // The queue manager of a node.
        DEVICE_QUEUE_MANAGER_OPS_UPDATE_QUEUE: Offset = operation(DQM, "ops.update_queue", UPDATE_QUEUE);
        DEVICE_QUEUE_MANAGER_MQD_MGRS: Offset = field(DQM, "mqd_mgrs", pointers(DEVICE_QUEUE_MANAGER_MQD_MGRS_LEN));
        DEVICE_QUEUE_MANAGER_PACKET_MGR: Offset = field(DQM, "packet_mgr", Form::Part("packet_manager"));
        DEVICE_QUEUE_MANAGER_PACKET_MGR_IS_OVER_SUBSCRIPTION: OptionalOffset =
            field(DQM, "packet_mgr.is_over_subscription", BOOL).optional();
        DEVICE_QUEUE_MANAGER_DEV: Offset = field(DQM, "dev", PTR);
        DEVICE_QUEUE_MANAGER_LOCK_HIDDEN: Offset = field(DQM, "lock_hidden", MUTEX);
        DEVICE_QUEUE_MANAGER_QUEUES: Offset = field(DQM, "queues", LIST);
        DEVICE_QUEUE_MANAGER_SAVED_FLAGS: Offset = field(DQM, "saved_flags", U32);
        DEVICE_QUEUE_MANAGER_PROCESSES_COUNT: Offset = field(DQM, "processes_count", U32);
        DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT: Offset = field(DQM, "active_queue_count", U32);
        DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT: Offset = field(DQM, "active_cp_queue_count", U32);
        DEVICE_QUEUE_MANAGER_GWS_QUEUE_COUNT: Offset = field(DQM, "gws_queue_count", U32);
        DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT: Offset = field(DQM, "total_queue_count", U32);
        DEVICE_QUEUE_MANAGER_ACTIVE_RUNLIST: Offset = field(DQM, "active_runlist", BOOL);
        DEVICE_QUEUE_MANAGER_SCHED_POLICY: Offset = field(DQM, "sched_policy", U32);
        DEVICE_QUEUE_MANAGER_SCHED_RUNNING: Offset = field(DQM, "sched_running", BOOL);
        DEVICE_QUEUE_MANAGER_SCHED_HALT: Offset = field(DQM, "sched_halt", BOOL);
        // Processes.
        DEVICE_PROCESS_NODE_QPD: Offset = field("device_process_node", "qpd", PTR);
        DEVICE_PROCESS_NODE_LIST: Offset = field("device_process_node", "list", LIST);
        QCM_PROCESS_DEVICE_DQM: Offset = field(QPD, "dqm", PTR);
        QCM_PROCESS_DEVICE_PQM: Offset = field(QPD, "pqm", PTR);
        QCM_PROCESS_DEVICE_QUEUES_LIST: Offset = field(QPD, "queues_list", LIST);
        QCM_PROCESS_DEVICE_PRIV_QUEUE_LIST: Offset = field(QPD, "priv_queue_list", LIST);
        QCM_PROCESS_DEVICE_QUEUE_COUNT: Offset = field(QPD, "queue_count", U32);
        QCM_PROCESS_DEVICE_IS_DEBUG: Offset = field(QPD, "is_debug", BOOL);
        QCM_PROCESS_DEVICE_MAPPED_GWS_QUEUE: Offset = field(QPD, "mapped_gws_queue", BOOL);
        PROCESS_QUEUE_MANAGER_PROCESS: Offset = field("process_queue_manager", "process", PTR);
        KFD_PROCESS_DEVICE_DEV: Offset = field("kfd_process_device", "dev", PTR);
        KFD_PROCESS_DEVICE_PROCESS: Offset = field("kfd_process_device", "process", PTR);
        KFD_PROCESS_DEVICE_QPD: Offset = field("kfd_process_device", "qpd", Form::Part(QPD));
        KFD_PROCESS_DEVICE_HAS_RESET_QUEUE: Offset = field("kfd_process_device", "has_reset_queue", BOOL);
        KFD_PROCESS_MM: Offset = field("kfd_process", "mm", PTR);
        KFD_PROCESS_LEAD_THREAD: Offset = field("kfd_process", "lead_thread", PTR);
        KFD_PROCESS_DEBUG_TRAP_ENABLED: Offset = field("kfd_process", "debug_trap_enabled", BOOL);
        KFD_PROCESS_QUEUES_PAUSED: Offset = field("kfd_process", "queues_paused", BOOL);
        KFD_PROCESS_CONTEXT_ID: OptionalOffset = field("kfd_process", "context_id", U16).optional();
        // Queues.
        QUEUE_SIZE: Amount = structure("queue", Bytes::AtMost(MOST_QUEUE_BYTES as u64));
        QUEUE_LIST: Offset = field("queue", "list", LIST);
        QUEUE_MQD: Offset = field("queue", "mqd", PTR);
        QUEUE_PROPERTIES: Offset = field("queue", "properties", Form::Part(PROPERTIES));
        QUEUE_PIPE: Offset = field("queue", "pipe", U32);
        QUEUE_QUEUE: Offset = field("queue", "queue", U32);
        QUEUE_PROCESS: Offset = field("queue", "process", PTR);
        QUEUE_DEVICE: Offset = field("queue", "device", PTR);
        QUEUE_GWS: Offset = field("queue", "gws", PTR);
        QUEUE_NEEDS_MQD_REPIN: OptionalOffset = field("queue", "needs_mqd_repin", BOOL).optional();
        QUEUE_PROPERTIES_TYPE: Offset = field(PROPERTIES, "type", U32);
        QUEUE_PROPERTIES_FORMAT: Offset = field(PROPERTIES, "format", U32);
        QUEUE_PROPERTIES_QUEUE_ID: Offset = field(PROPERTIES, "queue_id", U32);
        QUEUE_PROPERTIES_QUEUE_ADDRESS: Offset = field(PROPERTIES, "queue_address", U64);
        QUEUE_PROPERTIES_QUEUE_SIZE: Offset = field(PROPERTIES, "queue_size", U64);
        QUEUE_PROPERTIES_PRIORITY: Offset = field(PROPERTIES, "priority", U32);
        QUEUE_PROPERTIES_QUEUE_PERCENT: Offset = field(PROPERTIES, "queue_percent", U32);
        QUEUE_PROPERTIES_READ_PTR: Offset = field(PROPERTIES, "read_ptr", PTR);
        QUEUE_PROPERTIES_WRITE_PTR: Offset = field(PROPERTIES, "write_ptr", PTR);
        QUEUE_PROPERTIES_DOORBELL_OFF: Offset = field(PROPERTIES, "doorbell_off", U32);
        QUEUE_PROPERTIES_IS_EVICTED: Offset = field(PROPERTIES, "is_evicted", BOOL);
        QUEUE_PROPERTIES_IS_SUSPENDED: Offset = field(PROPERTIES, "is_suspended", BOOL);
        QUEUE_PROPERTIES_IS_BEING_DESTROYED: Offset = field(PROPERTIES, "is_being_destroyed", BOOL);
        QUEUE_PROPERTIES_IS_ACTIVE: Offset = field(PROPERTIES, "is_active", BOOL);
        QUEUE_PROPERTIES_IS_GWS: Offset = field(PROPERTIES, "is_gws", BOOL);
        QUEUE_PROPERTIES_IS_RESET: OptionalOffset = field(PROPERTIES, "is_reset", BOOL).optional();
        QUEUE_PROPERTIES_PM4_TARGET_XCC: Offset = field(PROPERTIES, "pm4_target_xcc", U32);
        QUEUE_PROPERTIES_CTL_STACK_SIZE: Offset = field(PROPERTIES, "ctl_stack_size", U32);
        // The driver has renumbered these.
        KFD_QUEUE_TYPE_SDMA_XGMI: Amount = value("kfd_queue_type", "KFD_QUEUE_TYPE_SDMA_XGMI", None);
        KFD_QUEUE_TYPE_SDMA_BY_ENG_ID: Amount = value("kfd_queue_type", "KFD_QUEUE_TYPE_SDMA_BY_ENG_ID", None);
        // Queue descriptors, and the functions that move them to and from hardware.
        MQD_MANAGER_LOAD_MQD: Offset = operation("mqd_manager", "load_mqd", LOAD_MQD);
        MQD_MANAGER_DESTROY_MQD: Offset = operation("mqd_manager", "destroy_mqd", DESTROY_MQD);
        KFD2KGD_CALLS_HQD_DUMP: Offset = operation("kfd2kgd_calls", "hqd_dump", HQD_DUMP);
        KFD2KGD_CALLS_HQD_LOAD: Offset = operation("kfd2kgd_calls", "hqd_load", HQD_LOAD);
        KFD2KGD_CALLS_HQD_IS_OCCUPIED: Offset = operation("kfd2kgd_calls", "hqd_is_occupied", HQD_IS_OCCUPIED);
        KFD2KGD_CALLS_GET_CU_OCCUPANCY: Offset = operation("kfd2kgd_calls", "get_cu_occupancy", GET_CU_OCCUPANCY);
        V9_MQD_CP_HQD_PQ_BASE_LO: Offset = field(MQD, "cp_hqd_pq_base_lo", U32);
        V9_MQD_CP_HQD_PQ_BASE_HI: Offset = field(MQD, "cp_hqd_pq_base_hi", U32);
        V9_MQD_CP_HQD_PQ_RPTR: Offset = field(MQD, "cp_hqd_pq_rptr", U32);
        V9_MQD_CP_HQD_PQ_CONTROL: Offset = field(MQD, "cp_hqd_pq_control", U32);
        V9_MQD_CP_HQD_CNTL_STACK_OFFSET: Offset = field(MQD, "cp_hqd_cntl_stack_offset", U32);
        V9_MQD_CP_HQD_CNTL_STACK_SIZE: Offset = field(MQD, "cp_hqd_cntl_stack_size", U32);
        V9_MQD_CP_HQD_PQ_WPTR_LO: Offset = field(MQD, "cp_hqd_pq_wptr_lo", U32);
        // An unmapping of our own, for transaction=direct alone.
        MQD_MANAGER_CHECK_PREEMPTION_FAILED: OptionalOffset =
            operation("mqd_manager", "check_preemption_failed", CHECK_PREEMPTION_FAILED).direct();
        DEVICE_QUEUE_MANAGER_PACKET_MGR_PRIV_QUEUE: OptionalOffset =
            field(DQM, "packet_mgr.priv_queue", PTR).direct();
        DEVICE_QUEUE_MANAGER_FENCE_GPU_ADDR: OptionalOffset = field(DQM, "fence_gpu_addr", U64).direct();
        DEVICE_QUEUE_MANAGER_FENCE_ADDR: OptionalOffset = field(DQM, "fence_addr", PTR).direct();
        KERNEL_QUEUE_QUEUE: OptionalOffset = field("kernel_queue", "queue", PTR).direct();
    }
    known {
        KFD_SCHED_POLICY_HWS = 0 of "kfd_sched_policy";
        KFD_SCHED_POLICY_HWS_NO_OVERSUBSCRIPTION = 1 of "kfd_sched_policy";
        KFD_SCHED_POLICY_NO_HWS = 2 of "kfd_sched_policy";
        KFD_QUEUE_TYPE_COMPUTE = 0 of "kfd_queue_type";
        KFD_QUEUE_TYPE_SDMA = 1 of "kfd_queue_type";
        KFD_QUEUE_FORMAT_PM4 = 0 of "kfd_queue_format";
        KFD_QUEUE_FORMAT_AQL = 1 of "kfd_queue_format";
        KFD_MQD_TYPE_CP = 1 of "KFD_MQD_TYPE";
        KFD_PREEMPT_TYPE_WAVEFRONT_SAVE = 2 of "kfd_preempt_type";
        KFD_MQD_TYPE_HIQ = 0 of "KFD_MQD_TYPE" direct;
        KFD_UNMAP_QUEUES_FILTER_ALL_QUEUES = 1 of "kfd_unmap_queues_filter" direct;
        KFD_DEQUEUE_WAIT_RESET = 2 of "kfd_config_dequeue_wait_counts_cmd" direct;
        KFD_DEQUEUE_WAIT_SET_SCH_WAVE = 3 of "kfd_config_dequeue_wait_counts_cmd" direct;
    }
    compared {
        structure("mutex", Bytes::AsMutex);
        structure("rw_semaphore", Bytes::AsSemaphore);
        structure("list_head", Bytes::Exactly(16));
        structure("v9_mqd", Bytes::Exactly(V9_MQD_SIZE as u64));
        // The shim has a structure of its own for it.
        structure("kfd_cu_occupancy", Bytes::Exactly(8));
        field_at("kfd_cu_occupancy", "wave_cnt", U32, 0);
        field_at("kfd_cu_occupancy", "doorbell_off", U32, 4);
        field("kfd_dev", "shared_resources.cp_queue_bitmap", BITMAP);
        function("debug_lock_and_unmap", "int(device_queue_manager *)");
        function("debug_map_and_unlock", "int(device_queue_manager *)");
        function("load_mqd_v9_4_3", LOAD_MQD);
        function("destroy_mqd_v9_4_3", DESTROY_MQD);
        function("kgd_gfx_v9_hqd_dump", HQD_DUMP);
        function("kgd_gfx_v9_4_3_hqd_load", HQD_LOAD);
        function("kgd_gfx_v9_hqd_is_occupied", HQD_IS_OCCUPIED);
        function("kgd_gfx_v9_get_cu_occupancy", GET_CU_OCCUPANCY);
        function(
            "pm_send_unmap_queue",
            "int(packet_manager *, kfd_unmap_queues_filter, unsigned int, _Bool)"
        ).direct();
        function(
            "pm_send_query_status",
            "int(packet_manager *, long long unsigned int, long long unsigned int)"
        ).direct();
        function(
            "pm_config_dequeue_wait_counts",
            "int(packet_manager *, kfd_config_dequeue_wait_counts_cmd, unsigned int)"
        ).direct();
        function("pm_release_ib", "void(packet_manager *)").direct();
        function(
            "amdkfd_fence_wait_timeout",
            "int(device_queue_manager *, long long unsigned int, unsigned int)"
        ).direct();
        function("check_preemption_failed_v9_4_3", CHECK_PREEMPTION_FAILED).direct();
    }
}
