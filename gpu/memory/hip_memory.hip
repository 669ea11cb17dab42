// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory/hip_memory.hpp"

#include <cstring>
#include <stdexcept>

#include <hip/hip_runtime.h>

namespace l3 {
namespace {

void check(hipError_t result, const char* what, std::size_t bytes) {
  if (result == hipSuccess) return;
  throw std::runtime_error("cannot reserve " + std::to_string(bytes >> 20) + " MiB of " + what +
                           ": " + hipGetErrorString(result));
}

__global__ void answer(int* value) { *value = 1; }

hipError_t run_a_kernel() {
  void* value = nullptr;
  hipError_t result = hipMalloc(&value, sizeof(int));
  if (result != hipSuccess) return result;
  static_cast<void>(hipGetLastError());
  answer<<<1, 1>>>(static_cast<int*>(value));
  result = hipGetLastError();
  if (result == hipSuccess) result = hipDeviceSynchronize();
  static_cast<void>(hipFree(value));
  return result;
}

} // namespace

buffer hip_memory::allocate(std::size_t bytes) {
  void* p = nullptr;
  check(hipHostMalloc(&p, bytes, hipHostMallocMapped), "pinned host memory", bytes);
  std::memset(p, 0, bytes);
  return {static_cast<std::byte*>(p), bytes,
          [](std::byte* data, std::size_t) { static_cast<void>(hipHostFree(data)); }};
}

std::byte* hip_memory::on_device(std::byte* host) {
  void* p = nullptr;
  if (const hipError_t result = hipHostGetDevicePointer(&p, host, 0); result != hipSuccess) {
    throw std::runtime_error(std::string("kernels cannot reach pinned host memory: ") +
                             hipGetErrorString(result));
  }
  return static_cast<std::byte*>(p);
}

buffer hip_memory::allocate_on_device(std::size_t bytes) {
  void* p = nullptr;
  check(hipMalloc(&p, bytes), "device memory", bytes);
  buffer b(static_cast<std::byte*>(p), bytes,
           [](std::byte* data, std::size_t) { static_cast<void>(hipFree(data)); });
  check(hipMemset(p, 0, bytes), "device memory", bytes);
  check(hipDeviceSynchronize(), "device memory", bytes);
  return b;
}

namespace hip {

std::string why_no_device() {
  int devices = 0;
  hipError_t result = hipGetDeviceCount(&devices);
  if (result == hipSuccess) result = devices == 0 ? hipErrorNoDevice : run_a_kernel();
  if (result == hipSuccess) return {};
  static_cast<void>(hipGetLastError());
  return std::string("no HIP device answers: ") + hipGetErrorString(result);
}

std::string device_name() {
  hipDeviceProp_t properties{};
  int device = 0;
  if (hipGetDevice(&device) != hipSuccess) return "unknown";
  if (hipGetDeviceProperties(&properties, device) != hipSuccess) return "unknown";
  return properties.name;
}

} // namespace hip

} // namespace l3
