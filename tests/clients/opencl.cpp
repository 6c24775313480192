// SPDX-License-Identifier: GPL-2.0-only
// A program in OpenCL, which the runtime compiles: counts, running sums, a table turned
// around and a fractal, by local memory, barriers, atomics, the functions of workgroups and
// vectors, in a queue whose order events make.

#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>

#include "client.h"

namespace {

constexpr size_t ITEMS = 4096, WIDTH = 128, BINS = 64, SIDE = 64, TILE = 16, STEPS = 48;

const char *const SOURCE = R"(
kernel void counts(global const uint *in, global uint *bins) {
  local uint own[BINS];
  for (uint at = get_local_id(0); at < BINS; at += WIDTH)
    own[at] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint at = get_global_id(0); at < ITEMS; at += get_global_size(0))
    atomic_inc(&own[in[at] % BINS]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint at = get_local_id(0); at < BINS; at += WIDTH)
    atomic_add(&bins[at], own[at]);
}

kernel void running(global const uint *in, global uint *sums, global uint *totals) {
  uint sum = work_group_scan_inclusive_add(in[get_global_id(0)]);
  sums[get_global_id(0)] = sum;
  if (get_local_id(0) == WIDTH - 1)
    totals[get_group_id(0)] = sum;
}

kernel void turn(global const uint4 *in, global uint4 *out) {
  local uint4 tile[TILE][TILE + 1];
  uint x = get_global_id(0), y = get_global_id(1);
  tile[get_local_id(1)][get_local_id(0)] = in[y * SIDE + x].wzyx;
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1) * TILE + get_local_id(0);
  y = get_group_id(0) * TILE + get_local_id(1);
  out[y * SIDE + x] = tile[get_local_id(0)][get_local_id(1)] + (uint4)(0, 1, 2, 3);
}

kernel void fractal(global uint *out) {
  long x = (long)get_global_id(0) * 192 - 8192, y = (long)get_global_id(1) * 128 - 4096;
  long a = 0, b = 0;
  uint step = 0;
  for (; step < STEPS && a * a + b * b < (4L << 24); step++) {
    long next = ((a * a - b * b) >> 12) + x;
    b = ((2 * a * b) >> 12) + y;
    a = next;
  }
  out[get_global_id(1) * SIDE + get_global_id(0)] = step;
}
)";

void check(cl_int error, const char *what) {
  if (error != CL_SUCCESS) {
    fprintf(stderr, "%s: OpenCL's error %d\n", what, error);
    exit(1);
  }
}

struct Device {
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  cl_program program;

  Device() {
    cl_platform_id platform;
    check(clGetPlatformIDs(1, &platform, nullptr), "platforms");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &id, nullptr), "devices");
    cl_int error;
    context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &error);
    check(error, "a context");
    const cl_queue_properties any_order[] = {
        CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    queue = clCreateCommandQueueWithProperties(context, id, any_order, &error);
    check(error, "a queue");
    const char *source = SOURCE;
    program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    check(error, "a program");
    char options[200];
    snprintf(options, sizeof options,
             "-cl-std=CL2.0 -DITEMS=%zu -DWIDTH=%zu -DBINS=%zu -DSIDE=%zu -DTILE=%zu -DSTEPS=%zu",
             ITEMS, WIDTH, BINS, SIDE, TILE, STEPS);
    error = clBuildProgram(program, 1, &id, options, nullptr, nullptr);
    if (error != CL_SUCCESS) {
      char log[4000] = "";
      clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, sizeof log, log, nullptr);
      fprintf(stderr, "%s\n", log);
    }
    check(error, "compiling");
  }
};

const Device &device() {
  static const Device device;
  return device;
}

struct Buffer {
  cl_mem memory;
  size_t bytes;
  explicit Buffer(size_t bytes, const void *from = nullptr) : bytes(bytes) {
    cl_int error;
    cl_mem_flags flags = from ? CL_MEM_COPY_HOST_PTR : 0;
    memory = clCreateBuffer(device().context, flags | CL_MEM_READ_WRITE, bytes,
                            const_cast<void *>(from), &error);
    check(error, "a buffer");
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { clReleaseMemObject(memory); }
  cl_event clear() const {
    cl_event event;
    cl_uint zero = 0;
    check(clEnqueueFillBuffer(device().queue, memory, &zero, sizeof zero, 0, bytes, 0, nullptr,
                              &event),
          "filling");
    return event;
  }
  // What is there after an event, through a mapping.
  std::vector<uint32_t> read(cl_event after) const {
    cl_int error;
    void *data = clEnqueueMapBuffer(device().queue, memory, CL_TRUE, CL_MAP_READ, 0, bytes, 1,
                                    &after, nullptr, &error);
    check(error, "mapping");
    std::vector<uint32_t> words(bytes / sizeof(uint32_t));
    memcpy(words.data(), data, bytes);
    check(clEnqueueUnmapMemObject(device().queue, memory, data, 0, nullptr, nullptr), "unmapping");
    check(clReleaseEvent(after), "an event");
    return words;
  }
};

// Begins a kernel after an event, if there is one, and gives the one of its end.
cl_event launch(const char *name, std::vector<const Buffer *> arguments, size_t items[2],
                size_t group[2], cl_event after = nullptr) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(device().program, name, &error);
  check(error, name);
  for (cl_uint at = 0; at < arguments.size(); at++)
    check(clSetKernelArg(kernel, at, sizeof(cl_mem), &arguments[at]->memory), name);
  cl_event event;
  check(clEnqueueNDRangeKernel(device().queue, kernel, 2, nullptr, items, group, after ? 1 : 0,
                               after ? &after : nullptr, &event),
        name);
  check(clReleaseKernel(kernel), name);
  if (after)
    check(clReleaseEvent(after), name);
  return event;
}

void require_counts(const std::vector<uint32_t> &in, const std::vector<uint32_t> &bins) {
  std::vector<uint32_t> expected(BINS);
  for (uint32_t value : in)
    expected[value % BINS]++;
  REQUIRE(bins == expected, "counts");
}

void require_sums(const std::vector<uint32_t> &in, const std::vector<uint32_t> &sums,
                  const std::vector<uint32_t> &totals) {
  uint32_t sum = 0;
  for (size_t at = 0; at < ITEMS; at++) {
    sum = at % WIDTH ? sum + in[at] : in[at];
    REQUIRE(sums[at] == sum, "running sum %zu", at);
    REQUIRE(at % WIDTH != WIDTH - 1 || totals[at / WIDTH] == sum, "the sum at %zu", at);
  }
}

void require_turned(const std::vector<uint32_t> &in, const std::vector<uint32_t> &out) {
  for (size_t y = 0; y < SIDE; y++)
    for (size_t x = 0; x < SIDE; x++)
      for (size_t part = 0; part < 4; part++)
        REQUIRE(out[(x * SIDE + y) * 4 + part] == in[(y * SIDE + x) * 4 + 3 - part] + part,
                "a table at %zu, %zu", x, y);
}

void require_fractal(const std::vector<uint32_t> &out) {
  for (size_t at = 0; at < SIDE * SIDE; at++) {
    int64_t x = int64_t(at % SIDE) * 192 - 8192, y = int64_t(at / SIDE) * 128 - 4096;
    int64_t a = 0, b = 0;
    uint32_t step = 0;
    for (; step < STEPS && a * a + b * b < int64_t(4) << 24; step++) {
      int64_t next = ((a * a - b * b) >> 12) + x;
      b = ((2 * a * b) >> 12) + y;
      a = next;
    }
    REQUIRE(out[at] == step, "a fractal at %zu", at);
  }
}

uint64_t opencl() {
  Numbers numbers(11);
  std::vector<uint32_t> in(ITEMS), table(SIDE * SIDE * 4);
  for (uint32_t &value : in)
    value = numbers.below(1 << 20);
  for (uint32_t &value : table)
    value = numbers.next();
  Buffer given(ITEMS * 4, in.data()), bins(BINS * 4), sums(ITEMS * 4);
  Buffer totals(ITEMS / WIDTH * 4), rows(table.size() * 4, table.data());
  Buffer columns(table.size() * 4), picture(SIDE * SIDE * 4);
  size_t few[2] = {8 * WIDTH, 1}, all[2] = {ITEMS, 1}, line[2] = {WIDTH, 1};
  size_t square[2] = {SIDE, SIDE}, tile[2] = {TILE, TILE};

  cl_event counted = launch("counts", {&given, &bins}, few, line, bins.clear());
  cl_event summed = launch("running", {&given, &sums, &totals}, all, line);
  cl_event turned = launch("turn", {&rows, &columns}, square, tile);
  cl_event drawn = launch("fractal", {&picture}, square, tile);
  check(clRetainEvent(summed), "an event");

  std::vector<uint32_t> results[] = {bins.read(counted), sums.read(summed), totals.read(summed),
                                     columns.read(turned), picture.read(drawn)};
  require_counts(in, results[0]);
  require_sums(in, results[1], results[2]);
  require_turned(table, results[3]);
  require_fractal(results[4]);
  check(clFinish(device().queue), "finishing");
  Digest digest;
  for (const std::vector<uint32_t> &result : results)
    digest.add(result);
  return digest.value;
}

} // namespace

const Program PROGRAMS[] = {{"opencl", opencl}, {nullptr, nullptr}};
