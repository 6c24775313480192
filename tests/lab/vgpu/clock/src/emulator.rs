// SPDX-License-Identifier: GPL-2.0-only
//! What is used of QEMU: functions and variables that it exports, found by name.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void, CStr};
use std::mem::transmute_copy;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::LazyLock;

use nix::libc;

/// The guest's clock, as QEMU numbers its clocks.
const VIRTUAL: c_int = 1;
/// That of the host.
const REALTIME: c_int = 0;
/// Timers with whatever attributes.
const ALL_TIMERS: c_int = !0;
/// Nanoseconds.
const SCALE: c_int = 1;
/// More than a timer of QEMU's takes; what is in it is QEMU's own affair.
const TIMER_WORDS: usize = 32;
/// So many words of QEMU's `timers_state` are looked at.
const STATE_WORDS: usize = 12;

pub type Callback = unsafe extern "C" fn(*mut c_void);

/// QEMU's functions, as its headers declare them.
struct Functions {
    qemu_clock_get_ns: unsafe extern "C" fn(c_int) -> i64,
    qemu_clock_deadline_ns_all: unsafe extern "C" fn(c_int, c_int) -> i64,
    timer_init_full:
        unsafe extern "C" fn(*mut u64, *mut c_void, c_int, c_int, c_int, Callback, *mut c_void),
    timer_mod_ns: unsafe extern "C" fn(*mut u64, i64),
    pci_qdev_find_device: unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int,
    msi_enabled: unsafe extern "C" fn(*const c_void) -> bool,
    msi_notify: unsafe extern "C" fn(*mut c_void, u32),
    icount_get_raw: unsafe extern "C" fn() -> i64,
    icount_to_ns: unsafe extern "C" fn(i64) -> i64,
    cpu_exit: unsafe extern "C" fn(*mut c_void),
    all_cpu_threads_idle: unsafe extern "C" fn() -> bool,
    qemu_get_cpu: unsafe extern "C" fn(c_int) -> *mut c_void,
    cpu_has_work: unsafe extern "C" fn(*mut c_void) -> bool,
    cpu_pause: unsafe extern "C" fn(*mut c_void),
    cpu_resume: unsafe extern "C" fn(*mut c_void),
    qemu_clock_enable: unsafe extern "C" fn(c_int, bool),
    get_ptr_rcu_reader: unsafe extern "C" fn() -> *mut ReaderState,
    rcu_remove_force_rcu_notifier: unsafe extern "C" fn(*mut Notifier),
    qemu_notify_event: unsafe extern "C" fn(),
    bql_lock_impl: unsafe extern "C" fn(*const c_char, c_int),
    bql_unlock: unsafe extern "C" fn(),
    qemu_chr_find: unsafe extern "C" fn(*const c_char) -> *mut c_void,
    qemu_chr_be_can_write: unsafe extern "C" fn(*mut c_void) -> c_int,
    qemu_chr_be_write: unsafe extern "C" fn(*mut c_void, *const u8, c_int),
}

static QEMU: LazyLock<Functions> = LazyLock::new(|| {
    // SAFETY: The types are those of QEMU's declarations.
    unsafe {
        Functions {
            qemu_clock_get_ns: next(c"qemu_clock_get_ns"),
            qemu_clock_deadline_ns_all: next(c"qemu_clock_deadline_ns_all"),
            timer_init_full: next(c"timer_init_full"),
            timer_mod_ns: next(c"timer_mod_ns"),
            pci_qdev_find_device: next(c"pci_qdev_find_device"),
            msi_enabled: next(c"msi_enabled"),
            msi_notify: next(c"msi_notify"),
            icount_get_raw: next(c"icount_get_raw"),
            icount_to_ns: next(c"icount_to_ns"),
            cpu_exit: next(c"cpu_exit"),
            all_cpu_threads_idle: next(c"all_cpu_threads_idle"),
            qemu_get_cpu: next(c"qemu_get_cpu"),
            cpu_has_work: next(c"cpu_has_work"),
            cpu_pause: next(c"cpu_pause"),
            cpu_resume: next(c"cpu_resume"),
            qemu_clock_enable: next(c"qemu_clock_enable"),
            get_ptr_rcu_reader: next(c"get_ptr_rcu_reader"),
            rcu_remove_force_rcu_notifier: next(c"rcu_remove_force_rcu_notifier"),
            qemu_notify_event: next(c"qemu_notify_event"),
            bql_lock_impl: next(c"bql_lock_impl"),
            bql_unlock: next(c"bql_unlock"),
            qemu_chr_find: next(c"qemu_chr_find"),
            qemu_chr_be_can_write: next(c"qemu_chr_be_can_write"),
            qemu_chr_be_write: next(c"qemu_chr_be_write"),
        }
    }
});

/// The word of QEMU's state that says how far the guest's clock is ahead of its
/// instructions. It has no name that is exported, but its value is known, and the clock
/// follows it.
static AHEAD: LazyLock<&'static AtomicI64> = LazyLock::new(|| {
    // SAFETY: The variable is larger, is there for good, and its words are read as QEMU
    // itself reads them.
    let words = unsafe {
        let state: *const AtomicI64 = next(c"timers_state");
        std::slice::from_raw_parts(state, STATE_WORDS)
    };
    // SAFETY: Any thread may ask for the clock.
    let clock = || unsafe { (QEMU.qemu_clock_get_ns)(VIRTUAL) };
    // SAFETY: As above.
    let ahead = clock() - unsafe { (QEMU.icount_to_ns)((QEMU.icount_get_raw)()) };
    let followed = |word: &&AtomicI64| {
        let before = clock();
        if word
            .compare_exchange(ahead, ahead + 1, Ordering::SeqCst, Ordering::SeqCst)
            .is_err()
        {
            return false;
        }
        let follows = clock() == before + 1;
        word.fetch_sub(1, Ordering::SeqCst);
        follows
    };
    match words.iter().find(followed) {
        Some(word) => word,
        None => give_up("keeps its clock in another way than this library expects"),
    }
});

fn give_up(why: &str) -> ! {
    eprintln!("guest clock: this QEMU {why}; 11.1 is known to work");
    std::process::abort()
}

/// What a name stands for in the libraries after this one, and in QEMU itself.
///
/// # Safety
///
/// `T` is a pointer, and of the type that the name has.
pub unsafe fn next<T>(name: &CStr) -> T {
    const { assert!(size_of::<T>() == size_of::<*mut c_void>()) };
    // SAFETY: The name has its end.
    let mut address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if address.is_null() {
        // SAFETY: As above.
        address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    }
    if address.is_null() {
        give_up(&format!("has no {}", name.to_string_lossy()));
    }
    // SAFETY: The sizes are the same, and the caller knows the type.
    unsafe { transmute_copy(&address) }
}

/// The guest's time in nanoseconds.
pub fn now() -> u64 {
    // SAFETY: Any thread may ask.
    let now = unsafe { (QEMU.qemu_clock_get_ns)(VIRTUAL) };
    now.unsigned_abs()
}

/// How long it is until QEMU's next timer on the guest's clock, if there is one.
pub fn next_timer() -> Option<u64> {
    // SAFETY: Any thread may ask.
    let deadline = unsafe { (QEMU.qemu_clock_deadline_ns_all)(VIRTUAL, ALL_TIMERS) };
    u64::try_from(deadline).ok()
}

/// Stops the timers of the host's clock, at which QEMU would interrupt the guest's
/// processors, too.
pub fn stop_host_timers() {
    // SAFETY: The main loop may, which is not in a timer.
    unsafe { (QEMU.qemu_clock_enable)(REALTIME, false) };
}

/// How many instructions the guest has executed.
pub fn instructions() -> u64 {
    // SAFETY: Any thread may ask.
    let count = unsafe { (QEMU.icount_get_raw)() };
    count.unsigned_abs()
}

/// Whether none of the guest's processors has anything to execute.
pub fn is_idle() -> bool {
    // SAFETY: Any thread may ask; processors stay.
    unsafe { (QEMU.all_cpu_threads_idle)() }
}

/// Whether one of the guest's processors has an interrupt to see to. Of one that executes
/// that does not say it.
pub fn has_interrupt() -> bool {
    // SAFETY: It is a processor, which stays.
    processors().any(|processor| unsafe { (QEMU.cpu_has_work)(processor.0) })
}

/// All of the guest's processors.
pub fn processors() -> impl Iterator<Item = Processor> {
    // SAFETY: Any thread may ask for a processor; there is none behind the last.
    let all = (0..).map(|number| unsafe { (QEMU.qemu_get_cpu)(number) });
    all.take_while(|processor| !processor.is_null())
        .map(Processor)
}

/// The guest's processor that the calling thread executes.
pub fn processor() -> Option<Processor> {
    thread_local! {
        /// Where the variable is that each thread has.
        // SAFETY: It has this type.
        static PLACE: *const *mut c_void = unsafe { next(c"current_cpu") };
    }
    // SAFETY: It is the calling thread's; QEMU sets it to a processor that stays, or to none.
    let processor = PLACE.with(|place| unsafe { place.read() });
    (!processor.is_null()).then_some(Processor(processor))
}

/// A processor of the guest's.
pub struct Processor(*mut c_void);

// SAFETY: It stays where it is, and QEMU's functions say themselves who may call them.
unsafe impl Send for Processor {}

impl Processor {
    /// The calling thread executes it, and it waits for an access: lets time pass in which
    /// no instruction is executed.
    pub fn waits(&self, nanos: u64) {
        let nanos = i64::try_from(nanos).unwrap_or(i64::MAX);
        // No thread but this one changes the word while a processor is not idle.
        AHEAD.fetch_add(nanos, Ordering::SeqCst);
        // Until which timer it may go on was calculated before: it stops to have that done
        // again.
        // SAFETY: The processor is the calling thread's.
        unsafe { (QEMU.cpu_exit)(self.0) };
    }

    /// Has it stand still, whatever it is at.
    ///
    /// # Safety
    ///
    /// The calling thread has QEMU's big lock.
    pub unsafe fn hold(&self) {
        // SAFETY: It is a processor, which stays; the lock is the caller's promise.
        unsafe { (QEMU.cpu_pause)(self.0) };
    }

    /// Undoes [`Processor::hold`].
    ///
    /// # Safety
    ///
    /// As there.
    pub unsafe fn go_on(&self) {
        // SAFETY: As there.
        unsafe { (QEMU.cpu_resume)(self.0) };
    }
}

/// A timer of QEMU's, on the guest's clock.
pub struct Timer(*mut u64);

// SAFETY: QEMU's timers have a lock of their own.
unsafe impl Send for Timer {}
// SAFETY: As above.
unsafe impl Sync for Timer {}

impl Timer {
    /// A timer that is never freed and not set yet. QEMU calls with its big lock held.
    pub fn new(callback: Callback, argument: *mut c_void) -> Timer {
        let timer = Box::leak(Box::new([0; TIMER_WORDS])).as_mut_ptr();
        let list = std::ptr::null_mut();
        // SAFETY: There is room for a timer, for good. No list means the usual one.
        unsafe { (QEMU.timer_init_full)(timer, list, VIRTUAL, SCALE, 0, callback, argument) };
        Timer(timer)
    }

    /// Has it called at a time, and not at the one that was set before.
    pub fn set(&self, at: u64) {
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        // SAFETY: `new` has initialised it.
        unsafe { (QEMU.timer_mod_ns)(self.0, at) };
    }
}

/// Gives the guest the only interrupt of a device, if it has enabled it.
///
/// # Safety
///
/// The calling thread has QEMU's big lock.
pub unsafe fn interrupt(device: &CStr) {
    let mut found = std::ptr::null_mut();
    // SAFETY: With the lock, devices stay; one that is found is a PCI device.
    unsafe {
        let missing = (QEMU.pci_qdev_find_device)(device.as_ptr(), &raw mut found);
        if missing == 0 && (QEMU.msi_enabled)(found) {
            (QEMU.msi_notify)(found, 0);
        }
    }
}

/// Does something that takes long, in a processor's access, which QEMU makes with its big
/// lock held. Meanwhile QEMU takes commands; the guest's processors and its clock stand
/// still.
pub fn without_lock(long: impl FnOnce()) {
    // SAFETY: A thread that makes a processor's access has the lock.
    unsafe { (QEMU.bql_unlock)() };
    long();
    // SAFETY: It was given up just now; the names are for QEMU's own messages.
    unsafe { (QEMU.bql_lock_impl)(c"guest_clock".as_ptr(), 0) };
}

/// Gives the main loop a turn.
pub fn wake_main_loop() {
    // SAFETY: Any thread may.
    unsafe { (QEMU.qemu_notify_event)() };
}

/// One of QEMU's character devices.
pub struct Chardev(*mut c_void);

impl Chardev {
    /// The calling thread has QEMU's big lock for as long as it uses it.
    pub fn of(name: &CStr) -> Option<Chardev> {
        // SAFETY: The name has its end.
        let device = unsafe { (QEMU.qemu_chr_find)(name.as_ptr()) };
        (!device.is_null()).then_some(Chardev(device))
    }

    /// How many bytes the guest takes.
    pub fn room(&self) -> usize {
        // SAFETY: It is a character device, which stays.
        let room = unsafe { (QEMU.qemu_chr_be_can_write)(self.0) };
        usize::try_from(room).unwrap_or(0)
    }

    /// Gives the guest as much as there is room for.
    pub fn write(&self, bytes: &[u8]) {
        let length = c_int::try_from(bytes.len()).unwrap_or(c_int::MAX);
        // SAFETY: It is a character device, which stays, and has room for the bytes.
        unsafe { (QEMU.qemu_chr_be_write)(self.0, bytes.as_ptr(), length) };
    }
}

/// What QEMU's RCU knows of a thread: `struct rcu_reader_data`.
#[repr(C)]
struct ReaderState {
    counter: c_ulong,
    waiting: bool,
    depth: c_uint,
    next: *mut c_void,
    previous: *mut c_void,
    to_call: *mut Notifier,
}

/// QEMU's `Notifier`.
#[repr(C)]
struct Notifier {
    call: *mut c_void,
    next: *mut c_void,
    previous: *mut *mut Notifier,
}

/// Has RCU no longer interrupt the calling thread, which executes the guest's processors,
/// when it waits for it. It is not waited for long, since a turn is short.
pub fn no_interrupts_by_rcu() {
    // SAFETY: The calling thread's own.
    unsafe {
        let reader = (QEMU.get_ptr_rcu_reader)();
        let first = (*reader).to_call;
        if first.is_null() || (*first).previous != &raw mut (*reader).to_call {
            give_up("has RCU know its threads in another way than this library expects");
        }
        (QEMU.rcu_remove_force_rcu_notifier)(first);
    }
}
