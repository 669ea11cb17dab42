// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory/device.hpp"

#include <cstring>
#include <stdexcept>

#include <cuda_runtime_api.h>

namespace l3 {

// CMake 3.25 ignores CUDA_STANDARD 20 without a word; cmake/cuda.cmake passes the flag itself.
static_assert(__cplusplus >= 202002L, "device code is C++20, like all of koto-l3");

namespace {

void check(cudaError_t result, const char* what, std::size_t bytes) {
  if (result == cudaSuccess) return;
  throw std::runtime_error("cannot reserve " + std::to_string(bytes >> 20) + " MiB of " + what +
                           ": " + cudaGetErrorString(result));
}

__global__ void answer(int* value) { *value = 1; }

} // namespace

buffer cuda_memory::allocate(std::size_t bytes) {
  void* p = nullptr;
  check(cudaHostAlloc(&p, bytes, cudaHostAllocMapped), "pinned host memory", bytes);
  std::memset(p, 0, bytes);
  return {static_cast<std::byte*>(p), bytes,
          [](std::byte* data, std::size_t) { static_cast<void>(cudaFreeHost(data)); }};
}

std::byte* cuda_memory::on_device(std::byte* host) {
  void* p = nullptr;
  if (const cudaError_t result = cudaHostGetDevicePointer(&p, host, 0); result != cudaSuccess) {
    throw std::runtime_error(std::string("kernels cannot reach pinned host memory: ") +
                             cudaGetErrorString(result));
  }
  return static_cast<std::byte*>(p);
}

buffer cuda_memory::allocate_on_device(std::size_t bytes) {
  void* p = nullptr;
  check(cudaMalloc(&p, bytes), "device memory", bytes);
  buffer b(static_cast<std::byte*>(p), bytes,
           [](std::byte* data, std::size_t) { static_cast<void>(cudaFree(data)); });
  check(cudaMemset(p, 0, bytes), "device memory", bytes);
  check(cudaDeviceSynchronize(), "device memory", bytes);
  return b;
}

namespace cuda {

std::string why_no_device() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return "there is no CUDA driver on this machine";
  }
  int devices = 0;
  if (const cudaError_t result = cudaGetDeviceCount(&devices); result != cudaSuccess) {
    static_cast<void>(cudaGetLastError()); // forgets the error: a machine may have no device
    return std::string("no CUDA device answers: ") + cudaGetErrorString(result);
  }
  if (devices == 0) return "there is no CUDA device on this machine";
  // Only a kernel that ran shows that the program has code for this device and that the driver is
  // new enough.
  try {
    const buffer value = cuda_memory::allocate_on_device(sizeof(int));
    answer<<<1, 1>>>(reinterpret_cast<int*>(value.data()));
    cudaError_t result = cudaGetLastError();
    if (result == cudaSuccess) result = cudaDeviceSynchronize();
    if (result == cudaSuccess) return {};
    return std::string("the CUDA device cannot run this program: ") + cudaGetErrorString(result);
  } catch (const std::runtime_error& e) {
    return std::string("the CUDA device does not answer: ") + e.what();
  }
}

std::string device_name() {
  cudaDeviceProp properties{};
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return "unknown";
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return "unknown";
  return properties.name;
}

} // namespace cuda

} // namespace l3
