// SPDX-License-Identifier: Apache-2.0
#include "tests/daemon/compute/fault_drills.hpp"

#include <thread>

#include "gpu/executors/cuda.cuh"

namespace l3::test {
namespace {

constexpr int threads = 1024;

__global__ void hang(int* flags) {
  constexpr unsigned nanoseconds = 1000;
  if (threadIdx.x == 0) atomicAdd_system(flags + 1, 1);
  while (*static_cast<volatile int*>(flags) == 0) __nanosleep(nanoseconds);
}

__global__ void trap() { __trap(); }

volatile int* flags_of(const buffer& b) { return reinterpret_cast<volatile int*>(b.data()); }

cudaStream_t own_stream() {
  static cudaStream_t const s = cuda::make_stream().release();
  return s;
}

} // namespace

hung_kernels::hung_kernels() : flags_(cuda_memory::allocate(2 * sizeof(int))) {
  int device = 0;
  int multiprocessors = 0;
  int blocks = 0;
  cuda::check(cudaGetDevice(&device), "cannot name the device");
  cuda::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
              "cannot count the multiprocessors");
  cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, hang, threads, 0),
              "cannot count the blocks of a multiprocessor");
  hang<<<multiprocessors * blocks, threads, 0, own_stream()>>>(
      reinterpret_cast<int*>(cuda_memory::on_device(flags_.data())));
  cuda::check(cudaGetLastError(), "cannot launch the kernels that hang");
  while (flags_of(flags_)[1] < multiprocessors * blocks) std::this_thread::yield();
}

hung_kernels::~hung_kernels() {
  release();
  static_cast<void>(cudaStreamSynchronize(own_stream()));
}

void hung_kernels::release() { flags_of(flags_)[0] = 1; }

void trap_the_device() {
  trap<<<1, 1, 0, own_stream()>>>();
  static_cast<void>(cudaStreamSynchronize(own_stream()));
}

} // namespace l3::test
