// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory/device.hpp"

#include <cstring>
#include <stdexcept>

#include <cuda_runtime_api.h>

#include "gpu/memory/why_no_device.hpp"

namespace l3 {

// CMake 3.25 silently ignores CUDA_STANDARD 20; cmake/cuda.cmake passes the flag itself.
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
  check(cudaHostAlloc(&p, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "pinned host memory",
        bytes);
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

namespace {

device_refusal kind_of(cudaError_t result) {
  switch (result) {
  case cudaErrorInsufficientDriver:
  case cudaErrorUnsupportedPtxVersion:
  case cudaErrorCallRequiresNewerDriver: return device_refusal::old_driver;
  case cudaErrorNoDevice: return device_refusal::no_device;
  case cudaErrorDevicesUnavailable:
  case cudaErrorDeviceAlreadyInUse: return device_refusal::in_use;
  case cudaErrorNoKernelImageForDevice:
  case cudaErrorInvalidKernelImage: return device_refusal::no_code;
  default: return device_refusal::other;
  }
}

/// Only running a kernel shows that the program has code for this device and that the driver is new
/// enough.
cudaError_t run_a_kernel() {
  void* value = nullptr;
  cudaError_t result = cudaMalloc(&value, sizeof(int));
  if (result != cudaSuccess) return result;
  static_cast<void>(cudaGetLastError()); // clears earlier errors
  answer<<<1, 1>>>(static_cast<int*>(value));
  result = cudaGetLastError();
  if (result == cudaSuccess) result = cudaDeviceSynchronize();
  static_cast<void>(cudaFree(value));
  return result;
}

} // namespace

std::string why_no_device(int device) {
  refused_device refused;
  refused.runtime = CUDART_VERSION;
  if (cudaDriverGetVersion(&refused.driver) != cudaSuccess || refused.driver == 0) {
    refused.what = device_refusal::no_driver;
    return l3::why_no_device(refused);
  }
  int count = 0;
  cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaSuccess && count == 0) result = cudaErrorNoDevice;
  if (result == cudaSuccess && device >= count)
    return "there is no CUDA device " + std::to_string(device) + ", only " + std::to_string(count) +
           ": look at compute.devices and `nvidia-smi`";
  if (result == cudaSuccess) result = cudaSetDevice(device);
  if (result == cudaSuccess) result = run_a_kernel();
  if (result == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError()); // clears the error: a machine may have no device
  refused.what = kind_of(result);
  refused.words = cudaGetErrorString(result);
  return l3::why_no_device(refused);
}

int devices() {
  int count = 0;
  const bool answers = cudaGetDeviceCount(&count) == cudaSuccess;
  static_cast<void>(cudaGetLastError());
  return answers ? count : 0;
}

std::string pci_address(int device) {
  char address[32] = {};
  if (cudaDeviceGetPCIBusId(address, sizeof address, device) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  return address;
}

device_size size_of(int device) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  return {properties.name, properties.totalGlobalMem,
          static_cast<std::uint32_t>(properties.multiProcessorCount)};
}

void use(int device) {
  if (const cudaError_t result = cudaSetDevice(device); result != cudaSuccess)
    throw std::runtime_error("cannot use CUDA device " + std::to_string(device) + ": " +
                             cudaGetErrorString(result));
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
