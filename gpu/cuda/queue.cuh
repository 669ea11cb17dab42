// SPDX-License-Identifier: Apache-2.0
// The cuda executor: a block is a CUDA block, a queue is a stream. Nothing here blocks but
// finish(). The first error is kept, everything after it is skipped, and finish() tells it; it
// neither throws nor aborts, so that a failing device ends as a message and not as a dead process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>

#include "gpu/block.hpp"
#include "gpu/cuda/memory.hpp"

namespace l3 {

static_assert(__cplusplus >= 202002L, "device code is C++20, like all of koto-l3");

struct cuda_block {
  [[nodiscard]] __device__ std::uint32_t index() const { return blockIdx.x; }
  [[nodiscard]] __device__ std::uint32_t threads() const { return blockDim.x; }
  [[nodiscard]] __device__ std::uint32_t lane() const { return threadIdx.x; }
  __device__ void sync() const { __syncthreads(); }
};

template <class Kernel, class... Args>
__global__ void __launch_bounds__(Kernel::width) run_block(Kernel kernel, Args... args) {
  __shared__ typename Kernel::shared shared;
  kernel(cuda_block{}, shared, args...);
}

class cuda_queue {
public:
  using memory = cuda_memory;

  cuda_queue() {
    if (const cudaError_t result = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
        result != cudaSuccess) {
      throw std::runtime_error(std::string("cannot make a CUDA stream: ") +
                               cudaGetErrorString(result));
    }
  }
  cuda_queue(cuda_queue&& o) noexcept
      : stream_(std::exchange(o.stream_, nullptr)), first_error_(o.first_error_) {}
  cuda_queue& operator=(cuda_queue&&) = delete;
  ~cuda_queue() {
    if (stream_ == nullptr) return;
    static_cast<void>(cudaStreamSynchronize(stream_));
    static_cast<void>(cudaStreamDestroy(stream_));
  }

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    if (blocks == 0 || first_error_ != cudaSuccess) return;
    run_block<Kernel, Args...><<<blocks, Kernel::width, 0, stream_>>>(kernel, args...);
    note(cudaGetLastError());
  }

  void copy_in(void* device, const void* host, std::size_t bytes) {
    copy(device, host, bytes, cudaMemcpyHostToDevice);
  }
  void copy_out(void* host, const void* device, std::size_t bytes) {
    copy(host, device, bytes, cudaMemcpyDeviceToHost);
  }

  /// Waits for all that was enqueued. Empty if all went well; else the first error, as a text.
  [[nodiscard]] std::string finish() {
    if (first_error_ == cudaSuccess) note(cudaStreamSynchronize(stream_));
    return first_error_ == cudaSuccess ? std::string() : cudaGetErrorString(first_error_);
  }

private:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0 || first_error_ != cudaSuccess) return;
    note(cudaMemcpyAsync(to, from, bytes, kind, stream_));
  }
  void note(cudaError_t result) {
    if (first_error_ == cudaSuccess) first_error_ = result;
  }

  cudaStream_t stream_ = nullptr;
  cudaError_t first_error_ = cudaSuccess;
};

} // namespace l3
