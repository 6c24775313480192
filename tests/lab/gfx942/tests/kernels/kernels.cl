// SPDX-License-Identifier: GPL-2.0-only
// Small kernels as a compiler translates them for gfx942; tests/kernels.rs runs them
// and compares what they leave with what the host calculates.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define GROUP 256
#define ITEM ((int)__builtin_amdgcn_workitem_id_x())
#define INDEX ((int)__builtin_amdgcn_workgroup_id_x() * GROUP + ITEM)

static void wait_for_group(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

kernel void add(global const float *a, global const float *b, global float *to, int count) {
    int i = INDEX;
    if (i < count) to[i] = a[i] + b[i];
}

kernel void divide(global const float *a, global const float *b, global float *to, int count) {
    int i = INDEX;
    if (i < count) to[i] = a[i] / b[i];
}

kernel void divide_double(global const double *a, global const double *b, global double *to,
                          int count) {
    int i = INDEX;
    if (i < count) to[i] = a[i] / b[i];
}

kernel void root(global const float *a, global const float *b, global float *to, int count) {
    int i = INDEX;
    if (i < count) to[i] = __builtin_elementwise_sqrt(a[i]);
}

kernel void divide_long(global const long *a, global const long *b, global long *to, int count) {
    int i = INDEX;
    if (i < count) to[i] = a[i] / b[i] + a[i] % b[i];
}

kernel void halves(global const half2 *a, global const half2 *b, global half2 *to, int count) {
    int i = INDEX;
    if (i < count) to[i] = a[i] * b[i] + a[i];
}

kernel void bytes(global const uchar *a, global const short *b, global uchar *to, int count) {
    int i = INDEX;
    if (i < count) to[i] = (uchar)(a[i] * 3 + (b[i] >> 2));
}

kernel void to_integers(global const float *a, global const double *b, global long *to,
                        int count) {
    int i = INDEX;
    if (i < count) to[i] = ((long)(int)a[i] << 32) ^ (long)b[i];
}

kernel void reduce(global const int *a, global const int *unused, global int *to, int count) {
    local int sums[GROUP];
    int i = INDEX, item = ITEM;
    sums[item] = i < count ? a[i] : 0;
    wait_for_group();
    for (int half_of = GROUP / 2; half_of > 0; half_of >>= 1) {
        if (item < half_of) sums[item] += sums[item + half_of];
        wait_for_group();
    }
    if (item == 0) __atomic_fetch_add(to, sums[0], __ATOMIC_RELAXED);
}

// Without a local share: what the lanes of a wave add is added up by the compiler.
kernel void count_all(global const int *a, global const int *unused, global int *to, int count) {
    int i = INDEX;
    if (i < count) {
        __atomic_fetch_add(to, a[i], __ATOMIC_RELAXED);
        __atomic_fetch_max(to + 1, a[i], __ATOMIC_RELAXED);
        __atomic_fetch_xor(to + 2 + (a[i] & 3), a[i], __ATOMIC_RELAXED);
    }
}

kernel void prefix(global const int *a, global const int *unused, global int *to, int count) {
    int sum = INDEX < count ? a[INDEX] : 0;
    for (int by = 1; by < 64; by <<= 1) {
        int lane = ITEM & 63;
        int other = __builtin_amdgcn_ds_bpermute((lane - by) << 2, sum);
        if (lane >= by) sum += other;
    }
    if (INDEX < count) to[INDEX] = sum;
}

// How often each value of the lowest bits occurs, first in the local share.
kernel void histogram(global const int *a, global const int *unused, global int *to, int count) {
    local int bins[64];
    int item = ITEM;
    if (item < 64) bins[item] = 0;
    wait_for_group();
    for (int i = INDEX; i < count; i += 4 * GROUP)
        __atomic_fetch_add(&bins[a[i] & 63], 1, __ATOMIC_RELAXED);
    wait_for_group();
    if (item < 64) __atomic_fetch_add(to + item, bins[item], __ATOMIC_RELAXED);
}

// Each item gets the sum of its workgroup's up to itself.
kernel void scan(global const int *a, global const int *unused, global int *to, int count) {
    local int sums[GROUP];
    int i = INDEX, item = ITEM;
    int sum = i < count ? a[i] : 0;
    sums[item] = sum;
    wait_for_group();
    for (int by = 1; by < GROUP; by <<= 1) {
        int other = item >= by ? sums[item - by] : 0;
        wait_for_group();
        sum += other;
        sums[item] = sum;
        wait_for_group();
    }
    if (i < count) to[i] = sum;
}

// The index into the array is not known when this is compiled: it lies in scratch.
kernel void scratch(global const int *a, global const int *b, global int *to, int count) {
    int own[37];
    int i = INDEX;
    for (int at = 0; at < 37; at++) own[at] = at * i;
    if (i < count) {
        own[a[i] % 37] += 5;
        own[b[i] % 37] ^= 9;
        to[i] = own[(a[i] + b[i]) % 37] + own[a[i] % 37] + own[b[i] % 37];
    }
}

static __attribute__((noinline)) int called(int a, private int *b) {
    *b += a;
    return a * 7 - *b;
}

kernel void calls(global const int *a, global const int *b, global int *to, int count) {
    int i = INDEX;
    if (i < count) {
        int other = b[i];
        to[i] = called(a[i], &other) + other;
    }
}

// A product of square matrices, a tile of the local share at a time.
kernel void product(global const float *a, global const float *b, global float *to, int size) {
    local float left[16][16], right[16][16];
    int x = ITEM & 15, y = ITEM >> 4, tiles = size / 16;
    int row = (int)__builtin_amdgcn_workgroup_id_x() / tiles * 16 + y;
    int column = (int)__builtin_amdgcn_workgroup_id_x() % tiles * 16 + x;
    float sum = 0;
    for (int from = 0; from < size; from += 16) {
        left[y][x] = a[row * size + from + x];
        right[y][x] = b[(from + y) * size + column];
        wait_for_group();
        for (int k = 0; k < 16; k++) sum = __builtin_fmaf(left[y][k], right[k][x], sum);
        wait_for_group();
    }
    to[row * size + column] = sum;
}

typedef float float4_of __attribute__((ext_vector_type(4)));
typedef half half4_of __attribute__((ext_vector_type(4)));
typedef short short4_of __attribute__((ext_vector_type(4)));

// One wave multiplies matrices of 16 by 16 with the matrix unit.
kernel void product_halves(global const half *a, global const half *b, global float *to,
                           int depth) {
    int lane = ITEM & 63, along = lane & 15, part = lane >> 4;
    float4_of sum = 0;
    for (int from = 0; from < depth; from += 16) {
        half4_of left, right;
        for (int k = 0; k < 4; k++) {
            left[k] = a[along * depth + from + part * 4 + k];
            right[k] = b[(from + part * 4 + k) * 16 + along];
        }
        sum = __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, sum, 0, 0, 0);
    }
    for (int k = 0; k < 4; k++) to[(part * 4 + k) * 16 + along] = sum[k];
}

kernel void product_brain(global const short *a, global const short *b, global float *to,
                          int depth) {
    int lane = ITEM & 63, along = lane & 15, part = lane >> 4;
    float4_of sum = 0;
    for (int from = 0; from < depth; from += 16) {
        short4_of left, right;
        for (int k = 0; k < 4; k++) {
            left[k] = a[along * depth + from + part * 4 + k];
            right[k] = b[(from + part * 4 + k) * 16 + along];
        }
        sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(left, right, sum, 0, 0, 0);
    }
    for (int k = 0; k < 4; k++) to[(part * 4 + k) * 16 + along] = sum[k];
}

kernel void product_singles(global const float *a, global const float *b, global float *to,
                            int depth) {
    int lane = ITEM & 63, along = lane & 15, part = lane >> 4;
    float4_of sum = 0;
    for (int from = 0; from < depth; from += 4)
        sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[along * depth + from + part],
                                                   b[(from + part) * 16 + along], sum, 0, 0, 0);
    for (int k = 0; k < 4; k++) to[(part * 4 + k) * 16 + along] = sum[k];
}
