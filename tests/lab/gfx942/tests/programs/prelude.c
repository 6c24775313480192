// SPDX-License-Identifier: GPL-2.0-only
// What comes before random programs: the same text is translated for gfx942 and for
// the host. What instructions of gfx942 do that C has no words for, AMD's description
// of them says, and the host's half follows that.

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long i64;
typedef unsigned long u64;
typedef __int128 i128;
typedef unsigned __int128 u128;
typedef _Float16 f16;
typedef float f32;
typedef double f64;
#define VECTOR(of, count) typedef of of##x##count __attribute__((ext_vector_type(count)))
VECTOR(i16, 2);
VECTOR(u16, 2);
VECTOR(u8, 4);
VECTOR(i32, 4);
VECTOR(u32, 2);
VECTOR(u64, 2);
VECTOR(f16, 2);
VECTOR(f16, 4);
VECTOR(f32, 2);
VECTOR(f32, 4);
VECTOR(f64, 2);

#define LANES 256
#define WAVE 64
#define ALWAYS static inline __attribute__((always_inline, unused))
#define NEVER static __attribute__((noinline, unused))

#ifdef __AMDGCN__
#define DEVICE(device, host) device
#define GLOBAL __attribute__((address_space(1)))
#define SHARE __attribute__((address_space(3)))
#else
#define DEVICE(device, host) host
#define GLOBAL
#define SHARE
void *memcpy(void *, const void *, unsigned long);
#endif

// What is no number has many forms; only one of them leaves a program or becomes bits.
#define PLAIN_FLOAT(of, bits) \
    ALWAYS of plain_##of(of a) { \
        of none; \
        bits pattern = sizeof(of) == 2 ? 0x7e00 : sizeof(of) == 4 ? 0x7fc00000 : 0x7ff8000000000000; \
        __builtin_memcpy(&none, &pattern, sizeof none); \
        return a != a ? none : a; \
    } \
    ALWAYS of float_##of(bits a) { \
        of value; \
        __builtin_memcpy(&value, &a, sizeof value); \
        return plain_##of(value); \
    } \
    ALWAYS bits bits_##of(of a) { \
        bits value; \
        a = plain_##of(a); \
        __builtin_memcpy(&value, &a, sizeof value); \
        return value; \
    }
PLAIN_FLOAT(f16, u16)
PLAIN_FLOAT(f32, u32)
PLAIN_FLOAT(f64, u64)
#define PLAIN(of) ALWAYS of plain_##of(of a) { return a; }
PLAIN(i8) PLAIN(u8) PLAIN(i16) PLAIN(u16) PLAIN(i32) PLAIN(u32) PLAIN(i64) PLAIN(u64)
PLAIN(i16x2) PLAIN(u16x2) PLAIN(u8x4) PLAIN(i32x4) PLAIN(u32x2) PLAIN(u64x2)
#define PLAIN_VECTOR(of, single, count) \
    ALWAYS of plain_##of(of a) { \
        for (int at = 0; at < count; at++) a[at] = plain_##single(a[at]); \
        return a; \
    }
PLAIN_VECTOR(f16x2, f16, 2)
PLAIN_VECTOR(f16x4, f16, 4)
PLAIN_VECTOR(f32x2, f32, 2)
PLAIN_VECTOR(f32x4, f32, 4)
PLAIN_VECTOR(f64x2, f64, 2)

// Memory without alignment, of each kind.
#define ACCESS_IN(of, place, name) \
    ALWAYS of load_##name##_##of(const place void *from) { \
        struct __attribute__((packed)) any { of value; }; \
        return plain_##of(((const place struct any *)from)->value); \
    } \
    ALWAYS void store_##name##_##of(place void *to, of value) { \
        struct __attribute__((packed)) any { of value; }; \
        ((place struct any *)to)->value = plain_##of(value); \
    }
#define ACCESS(of) ACCESS_IN(of, , own) ACCESS_IN(of, GLOBAL, global) ACCESS_IN(of, SHARE, share)
ACCESS(i8) ACCESS(u8) ACCESS(i16) ACCESS(u16) ACCESS(i32) ACCESS(u32) ACCESS(i64) ACCESS(u64)
ACCESS(f16) ACCESS(f32) ACCESS(f64)
ACCESS(i16x2) ACCESS(u16x2) ACCESS(u8x4) ACCESS(u32x2) ACCESS(u64x2) ACCESS(i32x4)
ACCESS(f16x2) ACCESS(f16x4) ACCESS(f32x2) ACCESS(f32x4) ACCESS(f64x2)
// The bytes of an area of a lane's memory.
#define AREA 64

struct fields {
    u32 a : 5;
    i32 b : 9;
    u64 c : 37;
    i64 d : 50;
    u16 e : 3;
    i8 f : 7;
};

#ifdef __AMDGCN__
// An instruction in an operation, whose result has the operation's type.
#define ASM1(text) ({ result r; __asm(text : "=v"(r) : "v"(a)); r; })
#define ASM2(text) ({ result r; __asm(text : "=v"(r) : "v"(a), "v"(b)); r; })
#define ASM3(text) ({ result r; __asm(text : "=v"(r) : "v"(a), "v"(b), "v"(c)); r; })
#define KEEP(text) ({ result r = c; __asm(text : "+v"(r) : "v"(a), "v"(b)); r; })
#else
static i64 limit(i64 value, i64 least, i64 most) {
    return value < least ? least : value > most ? most : value;
}

// Eight bits, of which so many are the fraction.
static f32 of_eight(u32 a, int fraction) {
    u32 bits = a & 0x7f, bias = 1 << (6 - fraction), exponent = bits >> fraction;
    f32 value = (f32)((bits & ((1 << fraction) - 1)) | (exponent != 0) << fraction);
    value = __builtin_ldexpf(value, (int)((exponent ? exponent : 1) - bias) - fraction);
    if ((a & 255) == 128) return __builtin_nanf("");
    return a & 128 ? -value : value;
}

// The nearest of them all, or none.
static u32 to_eight(f32 a, int fraction) {
    f64 size = __builtin_fabs((f64)a), largest = of_eight(127, fraction);
    u32 bits = 0;
    if (!(size < largest + (largest - of_eight(126, fraction)) / 2)) return 128;
    while (bits < 127 && of_eight(bits + 1, fraction) <= size) bits++;
    if (bits < 127) {
        f64 below = size - of_eight(bits, fraction), above = of_eight(bits + 1, fraction) - size;
        if (below > above || (below == above && bits & 1)) bits++;
    }
    return bits && __builtin_signbit(a) ? bits | 128 : bits;
}

// Two halves, bit by bit.
static u32 pack_halves(u32 a, u32 b) { return (a & 0xffff) | b << 16; }

static u32 bytes_apart(u32 a, u32 b, int masked) {
    u32 sum = 0;
    for (int at = 0; at < 32; at += 8) {
        i32 left = a >> at & 255, right = b >> at & 255;
        if (!masked || right) sum += left < right ? right - left : left - right;
    }
    return sum;
}

static u32 permuted(u32 a, u32 b, u32 selectors) {
    u64 both = (u64)a << 32 | b;
    u32 value = 0;
    for (int at = 0; at < 32; at += 8) {
        u32 by = selectors >> at & 255, byte;
        if (by < 8) byte = both >> 8 * by & 255;
        else if (by < 12) byte = both >> (16 * (by - 8) + 15) & 1 ? 255 : 0;
        else byte = by == 12 ? 0 : 255;
        value |= byte << at;
    }
    return value;
}

static u32 averages(u32 a, u32 b, u32 up) {
    u32 value = 0;
    for (int at = 0; at < 32; at += 8)
        value |= ((a >> at & 255) + (b >> at & 255) + (up >> at & 1)) / 2 << at;
    return value;
}

static i64 part(u32 of, int at, int bits, int is_signed) {
    u64 value = of >> at & ((1u << bits) - 1);
    return is_signed && value >> (bits - 1) ? (i64)value - (1ll << bits) : (i64)value;
}

static u32 dot(u32 a, u32 b, u32 c, int bits, int is_signed, int limit) {
    i64 sum = is_signed ? (i64)(i32)c : (i64)c;
    for (int at = 0; at < 32; at += bits)
        sum += part(a, at, bits, is_signed) * part(b, at, bits, is_signed);
    i64 least = is_signed ? -0x80000000ll : 0, most = is_signed ? 0x7fffffffll : 0xffffffffll;
    if (limit) sum = sum < least ? least : sum > most ? most : sum;
    return (u32)sum;
}

// The product and the sum in integers of 2 to the power of -48, which are exact.
static f16 fused_half(f16 a, f16 b, f16 c) {
    f64 rough = (f64)a * (f64)b + (f64)c;
    if (!(__builtin_fabs(rough) < 1e30) || a == 0 || b == 0) return (f16)rough;
    i128 product = (i128)((f64)a * (f64)b * 0x1p48);
    i128 sum = product + (i128)((f64)c * 0x1p48);
    if (sum == 0) return (f16)rough;
    u128 magnitude = sum < 0 ? -sum : sum;
    int lost = 0;
    // To the odd: a double keeps whether something was lost.
    while (magnitude >> 50) {
        magnitude = magnitude >> 1 | (magnitude & 1);
        lost++;
    }
    f64 value = __builtin_ldexp((f64)(u64)magnitude, lost - 48);
    return (f16)(sum < 0 ? -value : value);
}

static f32 fused_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
static f64 fused_f64(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
#define fused_f16 fused_half

// The host's compiler is wrong about what the exponent of a mantissa is.
static f32 split_f32(f32 a, int *exponent) {
    volatile f32 hidden = a;
    return __builtin_frexpf(hidden, exponent);
}
static f64 split_f64(f64 a, int *exponent) {
    volatile f64 hidden = a;
    return __builtin_frexp(hidden, exponent);
}

// The nearest integer to a fraction of the largest.
static i32 part_of(f32 a, f64 least, f64 most) {
    f64 limited = a != a ? 0 : a < least ? least : a > 1 ? 1 : a;
    return (i32)__builtin_rint(limited * most);
}

static u32 round_to_zero(f32 a) {
    u32 sign = __builtin_signbit(a) ? 0x8000 : 0;
    f32 size = __builtin_fabsf(a);
    if (size != size) return 0x7e00;
    if (size == __builtin_inff()) return sign | 0x7c00;
    if (size >= 65504.0f) return sign | 0x7bff;
    if (size < 0x1p-14f) return sign | (u32)(size * 0x1p24f);
    u32 bits = bits_f32(size);
    return sign | ((bits >> 13) - ((127 - 15) << 10));
}
#endif

// LLVM 19 takes large numbers whose upper bits it knows to be set for ones of few bits
// when it divides them without a sign.
#define hidden_i8(a) a
#define hidden_u8(a) a
#define hidden_i16(a) a
#define hidden_u16(a) a
#define hidden_i32(a) a
#define hidden_i64(a) a
ALWAYS u32 hidden_u32(u32 a) {
    __asm("" : DEVICE("+v", "+r")(a));
    return a;
}
ALWAYS u64 hidden_u64(u64 a) {
    __asm("" : DEVICE("+v", "+r")(a));
    return a;
}

#define EXTREMES(of) \
    ALWAYS of least_##of(of a, of b) { \
        if (a != a) return b; \
        if (b != b) return a; \
        if (a == b) return __builtin_signbit(a) ? a : b; \
        return a < b ? a : b; \
    } \
    ALWAYS of most_##of(of a, of b) { \
        if (a != a) return b; \
        if (b != b) return a; \
        if (a == b) return __builtin_signbit(a) ? b : a; \
        return a < b ? b : a; \
    } \
    ALWAYS int class_##of(of a, u32 mask) { \
        int negative = __builtin_signbit(a) != 0, kind; \
        of size = negative ? -a : a; \
        if (a != a) kind = 1; \
        else if (size == (of)__builtin_inf()) kind = negative ? 2 : 9; \
        else if (size == 0) kind = negative ? 5 : 6; \
        else if (size < (sizeof a == 2 ? (of)0x1p-14 : sizeof a == 4 ? (of)0x1p-126 : (of)0x1p-1022)) \
            kind = negative ? 4 : 7; \
        else kind = negative ? 3 : 8; \
        return mask >> kind & 1; \
    } \
    ALWAYS of middle_##of(of a, of b, of c) { \
        if (a != a || b != b || c != c) return least_##of(least_##of(a, b), c); \
        return least_##of(most_##of(a, b), most_##of(least_##of(a, b), c)); \
    }
EXTREMES(f16)
EXTREMES(f32)
EXTREMES(f64)

// A program's struct has these, and its variables.
struct common {
    u32 words[16];
    struct fields fields;
    u8 own[AREA];
    GLOBAL u8 *global;
    SHARE u8 *share;
};

struct area {
    u64x2 parts[AREA / sizeof(u64x2)];
};
#define COPY(to, to_place, from, from_place) \
    (*(to_place struct area *)(to) = *(from_place const struct area *)(from))
#define COMMON (SLOTS * SLOT)
#define RECORD (COMMON + 5 * AREA)

#define BEGIN(of, name, slot, shared) \
    s->name = plain_##of(*(GLOBAL const of *)(in + (shared ? 0 : item * RECORD) + slot * SLOT));
#define END(of, name, slot) \
    *(GLOBAL of *)(out + item * RECORD + slot * SLOT) = plain_##of(s->name);
#define BEGIN_COMMON(name) \
    { \
        GLOBAL const u8 *from = in + item * RECORD + COMMON; \
        s->global = area + item * AREA; \
        s->share = share + item * AREA; \
        s->fields = (struct fields){1, -2, 3, -4, 5, -6}; \
        COPY(s->words, , from, GLOBAL); \
        COPY(s->own, , from + AREA, GLOBAL); \
        COPY(s->global, GLOBAL, from + 2 * AREA, GLOBAL); \
        COPY(s->share, SHARE, from + 3 * AREA, GLOBAL); \
    }
#define END_COMMON \
    { \
        GLOBAL u8 *to = out + item * RECORD + COMMON; \
        GLOBAL i64 *fields = (GLOBAL i64 *)(to + 4 * AREA); \
        COPY(to, GLOBAL, s->words, ); \
        COPY(to + AREA, GLOBAL, s->own, ); \
        COPY(to + 2 * AREA, GLOBAL, s->global, GLOBAL); \
        COPY(to + 3 * AREA, GLOBAL, s->share, SHARE); \
        fields[0] = s->fields.a; \
        fields[1] = s->fields.b; \
        fields[2] = s->fields.c; \
        fields[3] = s->fields.d; \
        fields[4] = s->fields.e; \
        fields[5] = s->fields.f; \
    }

#ifdef __AMDGCN__
SHARE u8 share[LANES * AREA] __attribute__((loader_uninitialized, aligned(16)));
#define KERNEL(name) \
    __attribute__((amdgpu_kernel)) void name(GLOBAL const u8 *in, GLOBAL u8 *out, GLOBAL u8 *area, \
                                             u32 number) { \
        struct name lane, *s = &lane; \
        u32 item = __builtin_amdgcn_workitem_id_x(); \
        BEGIN_COMMON(name)
#define FINISH \
    END_COMMON \
    }
#define ALL(call) call(s);
#define ALL_OF(what, ...) what(__VA_ARGS__)
#else
static u8 share[LANES * AREA], area[LANES * AREA];
#define EACH_LANE for (u32 item = 0; item < LANES; item++)
#define KERNEL(name) \
    static void name(const u8 *in, u8 *out) { \
        static struct name lanes[LANES]; \
        EACH_LANE { \
            struct name *s = lanes + item; \
            BEGIN_COMMON(name) \
        }
#define FINISH \
    EACH_LANE { \
        __typeof(lanes[0]) *s = lanes + item; \
        END_COMMON \
    } \
    }
#define ALL(call) EACH_LANE call(lanes + item);
#define ALL_OF(what, ...) \
    EACH_LANE { \
        __typeof(lanes[0]) *s = lanes + item; \
        what(__VA_ARGS__) \
    }
#endif
