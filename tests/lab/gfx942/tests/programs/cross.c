// SPDX-License-Identifier: GPL-2.0-only
// What lanes of random programs give each other, and atomics. The host's halves follow
// AMD's description of the instructions, a wave at a time.

#ifdef __AMDGCN__
SHARE u32 shared_words[LANES] __attribute__((loader_uninitialized));
SHARE u64 shared_bins[16] __attribute__((loader_uninitialized));
#define WAIT \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
    __builtin_amdgcn_s_barrier(); \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");

// DPP with a destination that stays where the source is no lane.
#define dpp(value, other, to, control, rows, banks, bound) \
    __builtin_amdgcn_update_dpp(to, value, control, rows, banks, bound)
#define swizzle(value, other, to, pattern) __builtin_amdgcn_ds_swizzle(value, pattern)
#define bpermute(value, other, to) __builtin_amdgcn_ds_bpermute((other) * 4, value)
#define permute(value, other, to, with) __builtin_amdgcn_ds_permute(((item ^ with) & 63) * 4 + 1024, value)
#define readlane(value, other, to, lane) __builtin_amdgcn_readlane(value, lane)
#define readfirst(value, other, to) __builtin_amdgcn_readfirstlane(value)
#define ballot(value, other, to) \
    (u32)(__builtin_amdgcn_ballot_w64((value) & 1) >> (item & 32))
#define below(value, other, to) \
    __builtin_amdgcn_mbcnt_hi(other, __builtin_amdgcn_mbcnt_lo(value, to))

#define CROSS(name, to, value, other, active, ...) \
    if (active) s->to = name(s->value, s->other, s->to, ##__VA_ARGS__);
// Through the local share, beyond waves.
#define THROUGH(to, value, other) \
    shared_words[item] = s->value; \
    WAIT \
    s->to = shared_words[s->other & (LANES - 1)]; \
    WAIT
#define BINS(place, of, to, value, operation, active) \
    { \
        AT_##place of *bins = (AT_##place of *)bins_##place; \
        if (item < 16) bins[item] = item * 77; \
        WAIT \
        if (active) operation(bins + (s->value & 15), (of)s->value, __ATOMIC_RELAXED); \
        WAIT \
        s->to = (u32)bins[item & 15]; \
        WAIT \
    }
#define bins_share shared_bins
#define bins_global (area + LANES * AREA)
#else
struct wave {
    u32 value[WAVE], other[WAVE], to[WAVE];
    int on[WAVE];
};
static void dpp(struct wave *w, u32 *result, int control, int rows, int banks, int bound) {
    for (int lane = 0; lane < WAVE; lane++) {
        int row = lane & ~15, at = lane & 15, by = control & 15, from = -1;
        if (control < 0x100) from = (lane & ~3) | (control >> 2 * (lane & 3) & 3);
        else if (control < 0x110) from = at + by < 16 ? lane + by : -1;
        else if (control < 0x120) from = at >= by ? lane - by : -1;
        else if (control < 0x130) from = row | ((at - by) & 15);
        else if (control == 0x130) from = lane + 1 < WAVE ? lane + 1 : -1;
        else if (control == 0x134) from = (lane + 1) % WAVE;
        else if (control == 0x138) from = lane - 1;
        else if (control == 0x13c) from = (lane + WAVE - 1) % WAVE;
        else if (control == 0x140) from = row | (15 - at);
        else if (control == 0x141) from = row | (at & 8) | (7 - (at & 7));
        else if (control == 0x142) from = row - 1;
        else if (control == 0x143) from = lane >= 32 ? 31 : -1;
        else from = row | by;
        int selected = rows >> (lane >> 4) & 1 && banks >> (at >> 2) & 1;
        int valid = from >= 0 && w->on[from];
        result[lane] = !selected ? w->to[lane] : valid ? w->value[from] : bound ? 0 : w->to[lane];
    }
}
static void swizzle(struct wave *w, u32 *result, int pattern) {
    for (int lane = 0; lane < WAVE; lane++) {
        int from;
        if (pattern & 0x8000) from = (lane & ~3) | (pattern >> 2 * (lane & 3) & 3);
        else from = (lane & 32) | ((((lane & pattern) | (pattern >> 5 & 31)) ^ (pattern >> 10)) & 31);
        result[lane] = w->on[from] ? w->value[from] : 0;
    }
}
static void bpermute(struct wave *w, u32 *result) {
    for (int lane = 0; lane < WAVE; lane++) {
        int from = w->other[lane] & 63;
        result[lane] = w->on[from] ? w->value[from] : 0;
    }
}
static void permute(struct wave *w, u32 *result, int with) {
    for (int lane = 0; lane < WAVE; lane++) {
        int from = (lane ^ with) & 63;
        result[lane] = w->on[from] ? w->value[from] : 0;
    }
}
static void readlane(struct wave *w, u32 *result, int from) {
    for (int lane = 0; lane < WAVE; lane++) result[lane] = w->value[from];
}
static void readfirst(struct wave *w, u32 *result) {
    int first = 0;
    while (first < WAVE - 1 && !w->on[first]) first++;
    readlane(w, result, first);
}
static void ballot(struct wave *w, u32 *result) {
    u64 all = 0;
    for (int lane = 0; lane < WAVE; lane++) all |= (u64)(w->on[lane] && w->value[lane] & 1) << lane;
    for (int lane = 0; lane < WAVE; lane++) result[lane] = all >> (lane & 32);
}
static void below(struct wave *w, u32 *result) {
    for (int lane = 0; lane < WAVE; lane++) {
        u64 mask = (u64)w->other[lane] << 32 | w->value[lane];
        result[lane] = __builtin_popcountl(mask & ((1ul << lane) - 1)) + w->to[lane];
    }
}

#define CROSS(name, out, first, second, active, ...) \
    for (u32 from = 0; from < LANES; from += WAVE) { \
        struct wave wave; \
        u32 result[WAVE]; \
        for (u32 at = 0; at < WAVE; at++) { \
            u32 item = from + at; \
            __typeof(lanes[0]) *s = lanes + item; \
            wave.value[at] = s->first; \
            wave.other[at] = s->second; \
            wave.to[at] = s->out; \
            wave.on[at] = (active) != 0; \
        } \
        name(&wave, result, ##__VA_ARGS__); \
        for (u32 at = 0; at < WAVE; at++) \
            if (wave.on[at]) lanes[from + at].out = result[at]; \
    }
#define THROUGH(to, value, other) \
    { \
        u32 words[LANES]; \
        EACH_LANE words[item] = lanes[item].value; \
        EACH_LANE lanes[item].to = words[lanes[item].other & (LANES - 1)]; \
    }
#define BINS(place, of, out, value, operation, active) \
    { \
        of bins[16]; \
        for (u32 item = 0; item < 16; item++) bins[item] = item * 77; \
        EACH_LANE { \
            __typeof(lanes[0]) *s = lanes + item; \
            if (active) operation(bins + (s->value & 15), (of)s->value, __ATOMIC_RELAXED); \
        } \
        EACH_LANE lanes[item].out = (u32)bins[item & 15]; \
    }
#endif

// Atomics of a lane with what is its own, which give what was there before.
#define AT_global GLOBAL
#define AT_share SHARE
#define FETCH(of, name, place) \
    ALWAYS of fetch_##name##_##place##_##of(AT_##place of *at, of value) { \
        return __atomic_fetch_##name(at, value, __ATOMIC_RELAXED); \
    } \
    ALWAYS of only_##name##_##place##_##of(AT_##place of *at, of value) { \
        __atomic_fetch_##name(at, value, __ATOMIC_RELAXED); \
        return value; \
    }
#define CHANGE(of, place) \
    FETCH(of, add, place) FETCH(of, sub, place) FETCH(of, and, place) FETCH(of, or, place) \
    FETCH(of, xor, place) FETCH(of, min, place) FETCH(of, max, place) \
    ALWAYS of fetch_exchange_##place##_##of(AT_##place of *at, of value) { \
        return __atomic_exchange_n(at, value, __ATOMIC_RELAXED); \
    } \
    ALWAYS of fetch_swap_##place##_##of(AT_##place of *at, of value) { \
        of expected = value & 3; \
        __atomic_compare_exchange_n(at, &expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
        return expected; \
    }
CHANGE(u32, global) CHANGE(i32, global) CHANGE(u64, global) CHANGE(i64, global)
CHANGE(u32, share) CHANGE(i32, share) CHANGE(u64, share) CHANGE(i64, share)

#define WRAP(place) \
    ALWAYS u32 fetch_up_##place##_u32(AT_##place u32 *at, u32 limit) { \
        return DEVICE((__builtin_amdgcn_atomic_inc32(at, limit, __ATOMIC_RELAXED, "agent")), \
                      ({ u32 old = *at; *at = old >= limit ? 0 : old + 1; old; })); \
    } \
    ALWAYS u32 fetch_down_##place##_u32(AT_##place u32 *at, u32 limit) { \
        return DEVICE((__builtin_amdgcn_atomic_dec32(at, limit, __ATOMIC_RELAXED, "agent")), \
                      ({ u32 old = *at; *at = old == 0 || old > limit ? limit : old - 1; old; })); \
    }
WRAP(global)
WRAP(share)
#define FLOAT(name, place, of, device, host) \
    ALWAYS of fetch_##name##_##place##_##of(AT_##place of *at, of value) { \
        *at = plain_##of(*at); \
        of result = DEVICE((device(at, value)), ({ of old = *at; *at = host; old; })); \
        *at = plain_##of(*at); \
        return result; \
    }
#define share_add(at, value) __builtin_amdgcn_ds_faddf(at, value, 0, 0, 0)
#define share_min(at, value) __builtin_amdgcn_ds_fminf(at, value, 0, 0, 0)
#define share_max(at, value) __builtin_amdgcn_ds_fmaxf(at, value, 0, 0, 0)
#define flat_add(at, value) __builtin_amdgcn_flat_atomic_fadd_f64((f64 *)at, value)
FLOAT(add, global, f32, __builtin_amdgcn_global_atomic_fadd_f32, old + value)
FLOAT(add, global, f64, __builtin_amdgcn_global_atomic_fadd_f64, old + value)
FLOAT(flat, global, f64, flat_add, old + value)
FLOAT(min, global, f64, __builtin_amdgcn_global_atomic_fmin_f64, least_f64(old, value))
FLOAT(max, global, f64, __builtin_amdgcn_global_atomic_fmax_f64, most_f64(old, value))
FLOAT(add, share, f32, share_add, old + value)
FLOAT(min, share, f32, share_min, least_f32(old, value))
FLOAT(max, share, f32, share_max, most_f32(old, value))
FLOAT(add, share, f64, __builtin_amdgcn_ds_atomic_fadd_f64, old + value)
