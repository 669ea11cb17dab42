// SPDX-License-Identifier: Apache-2.0
// The cuda executor: a block is a CUDA block, a queue is a CUDA stream, and a CUDA event marks the
// end of the enqueued work. Only finish() and finish_for() wait. Both sleep meanwhile, so that the
// waiting thread takes no core from the receiving threads. The queue keeps the first error and
// skips all work after it; finish() and finish_for() return the error as a text and never throw or
// abort, so that a failing device does not end the process.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include "gpu/executors/block.hpp"
#include "gpu/memory/device.hpp"

namespace l3 {

static_assert(__cplusplus >= 202002L, "device code is C++20, like all of koto-l3");

namespace cuda {

inline void check(cudaError_t result, const char* what) {
  if (result != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}

struct destroy {
  void operator()(cudaStream_t s) const {
    static_cast<void>(cudaStreamSynchronize(s));
    static_cast<void>(cudaStreamDestroy(s));
  }
  void operator()(cudaEvent_t e) const { static_cast<void>(cudaEventDestroy(e)); }
};
using stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, destroy>;
using event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, destroy>;

/// A stream that waits for no other stream, not even for the default one.
[[nodiscard]] inline stream make_stream() {
  cudaStream_t s = nullptr;
  check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cannot make a CUDA stream");
  return stream(s);
}

/// A CUDA event whose waiters sleep. It takes no timestamps, which would slow every record.
[[nodiscard]] inline event make_event() {
  cudaEvent_t e = nullptr;
  check(cudaEventCreateWithFlags(&e, cudaEventBlockingSync | cudaEventDisableTiming),
        "cannot make a CUDA event");
  return event(e);
}

} // namespace cuda

struct cuda_block {
  [[nodiscard]] __device__ std::uint32_t index() const { return blockIdx.x; }
  [[nodiscard]] __device__ std::uint32_t threads() const { return blockDim.x; }
  [[nodiscard]] __device__ std::uint32_t lane() const { return threadIdx.x; }
  __device__ void sync() const { __syncthreads(); }

  /// The strided loop, not unrolled: nearly all loops have one turn or two.
  template <class F>
  __device__ void for_each(std::uint32_t n, F&& f) const {
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x) f(i);
  }
};

/// The bound of one resident block demands nothing, but it keeps the compiler from spilling
/// registers to make room for one more block.
template <class Kernel, class... Args>
__global__ void __launch_bounds__(Kernel::width, 1) run_block(Kernel kernel, Args... args) {
  __shared__ typename Kernel::shared shared;
  __builtin_assume(blockDim.x == Kernel::width); // strides become constants in addresses
  kernel(cuda_block{}, shared, args...);
}

class cuda_queue {
public:
  using memory = cuda_memory;

  cuda_queue() : end_(cuda::make_event()), stream_(cuda::make_stream()) {}

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    if (blocks == 0 || first_error_ != cudaSuccess) return;
    submitted_ = false;
    run_block<Kernel, Args...><<<blocks, Kernel::width, 0, stream_.get()>>>(kernel, args...);
    note(cudaGetLastError());
  }

  void copy_in(void* device, const void* host, std::size_t bytes) {
    copy(device, host, bytes, cudaMemcpyHostToDevice);
  }
  void copy_out(void* host, const void* device, std::size_t bytes) {
    copy(host, device, bytes, cudaMemcpyDeviceToHost);
  }

  void copy_within(void* to, const void* from, std::size_t bytes) {
    copy(to, from, bytes, cudaMemcpyDeviceToDevice);
  }

  /// Work that is enqueued from here to the next stage or submit() has this name in a profiler. The
  /// same thread enqueues from the begin of a stage to its end.
  void stage(const char* name) {
    end_stage();
    static_cast<void>(nvtxRangePushA(name));
    in_stage_ = true;
  }

  /// Marks the end of the enqueued work, for which finish() waits.
  void submit() {
    end_stage();
    if (first_error_ == cudaSuccess) note(cudaEventRecord(end_.get(), stream_.get()));
    submitted_ = true;
  }

  /// Waits for all enqueued work; any thread may call it. Returns an empty text, or the first
  /// error. In both cases the stream has no running work afterwards.
  [[nodiscard]] std::string finish() {
    if (!submitted_) submit();
    if (first_error_ == cudaSuccess) note(cudaEventSynchronize(end_.get()));
    if (first_error_ == cudaSuccess) return {};
    static_cast<void>(cudaStreamSynchronize(stream_.get()));
    return cudaGetErrorString(first_error_);
  }

  /// Like finish(), but returns false if the work has not ended after `limit`. The driver has no
  /// wait with a time limit, so this polls it, with pauses that are short beside the time of a
  /// frame.
  [[nodiscard]] bool finish_for(std::chrono::nanoseconds limit, std::string& error) {
    constexpr std::chrono::nanoseconds pause = std::chrono::microseconds(50);
    const auto until = std::chrono::steady_clock::now() + limit;
    if (!submitted_) submit();
    while (first_error_ == cudaSuccess) {
      const cudaError_t result = cudaEventQuery(end_.get());
      if (result == cudaSuccess) break;
      if (result != cudaErrorNotReady) {
        note(result);
        break;
      }
      const auto left = until - std::chrono::steady_clock::now();
      if (left <= left.zero()) return false;
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, pause));
    }
    error = first_error_ == cudaSuccess ? std::string() : cudaGetErrorString(first_error_);
    return true;
  }

  /// Whether the stream has no running work, also after an error. Any thread may call it.
  [[nodiscard]] bool at_rest() const { return cudaStreamQuery(stream_.get()) != cudaErrorNotReady; }

private:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0 || first_error_ != cudaSuccess) return;
    submitted_ = false;
    note(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()));
  }
  void end_stage() {
    if (in_stage_) static_cast<void>(nvtxRangePop());
    in_stage_ = false;
  }
  void note(cudaError_t result) {
    if (first_error_ == cudaSuccess) first_error_ = result;
  }

  cuda::event end_;
  cuda::stream stream_; // destroyed before end_; its destruction waits for the work in it
  bool in_stage_ = false;
  bool submitted_ = false;
  cudaError_t first_error_ = cudaSuccess;
};

} // namespace l3
