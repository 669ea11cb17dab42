// SPDX-License-Identifier: Apache-2.0
// The hip executor, for AMD's devices: the equivalent of the cuda executor
// (gpu/executors/cuda.cuh), which explains the calls. A block is a HIP block, a queue is a HIP
// stream, and a HIP event marks the end of the enqueued work. Kernels run in their portable form.
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

#include <hip/hip_runtime.h>

#include "gpu/executors/block.hpp"
#include "gpu/executors/lost_device.hpp"
#include "gpu/memory/hip_memory.hpp"

namespace l3 {

namespace hip {

/// Whether every later call of this process fails, too: assumed for all errors about a broken
/// kernel or context.
[[nodiscard]] inline bool lasts(hipError_t result) {
  switch (result) {
  case hipErrorECCNotCorrectable:
  case hipErrorIllegalAddress:
  case hipErrorLaunchTimeOut:
  case hipErrorAssert:
  case hipErrorLaunchFailure:
  case hipErrorContextIsDestroyed:
  case hipErrorUnknown: return true;
  default: return false;
  }
}

inline void check(hipError_t result, const char* what) {
  if (result == hipSuccess) return;
  const std::string text = std::string(what) + ": " + hipGetErrorString(result);
  if (lasts(result)) throw lost_device(text);
  throw std::runtime_error(text);
}

struct destroy {
  void operator()(hipStream_t s) const {
    static_cast<void>(hipStreamSynchronize(s));
    static_cast<void>(hipStreamDestroy(s));
  }
  void operator()(hipEvent_t e) const { static_cast<void>(hipEventDestroy(e)); }
};
using stream = std::unique_ptr<std::remove_pointer_t<hipStream_t>, destroy>;
using event = std::unique_ptr<std::remove_pointer_t<hipEvent_t>, destroy>;

[[nodiscard]] inline stream make_stream() {
  hipStream_t s = nullptr;
  check(hipStreamCreateWithFlags(&s, hipStreamNonBlocking), "cannot make a HIP stream");
  return stream(s);
}

[[nodiscard]] inline event make_event() {
  hipEvent_t e = nullptr;
  check(hipEventCreateWithFlags(&e, hipEventBlockingSync | hipEventDisableTiming),
        "cannot make a HIP event");
  return event(e);
}

} // namespace hip

struct hip_block {
  [[nodiscard]] __device__ std::uint32_t index() const { return blockIdx.x; }
  [[nodiscard]] __device__ std::uint32_t threads() const { return blockDim.x; }
  [[nodiscard]] __device__ std::uint32_t lane() const { return threadIdx.x; }
  __device__ void sync() const { __syncthreads(); }

  template <class F>
  __device__ void for_each(std::uint32_t n, F&& f) const {
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x) f(i);
  }
};

template <class Kernel, class... Args>
__global__ void __launch_bounds__(Kernel::width) run_block(Kernel kernel, Args... args) {
  // Plain bytes, because clang refuses shared memory of a type with initial values, which kernels
  // do not use.
  using shared = typename Kernel::shared;
  alignas(shared) __shared__ std::byte memory[sizeof(shared)];
  kernel(hip_block{}, *reinterpret_cast<shared*>(memory), args...);
}

class hip_queue {
public:
  using memory = hip_memory;

  hip_queue() : mark_(hip::make_event()), end_(hip::make_event()), stream_(hip::make_stream()) {}

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    if (blocks == 0 || first_error_ != hipSuccess) return;
    submitted_ = false;
    static_cast<void>(hipGetLastError());
    run_block<Kernel, Args...><<<blocks, Kernel::width, 0, stream_.get()>>>(kernel, args...);
    note(hipGetLastError());
  }

  void copy_in(void* device, const void* host, std::size_t bytes) {
    copy(device, host, bytes, hipMemcpyHostToDevice);
  }
  void copy_out(void* host, const void* device, std::size_t bytes) {
    copy(host, device, bytes, hipMemcpyDeviceToHost);
  }
  void copy_within(void* to, const void* from, std::size_t bytes) {
    copy(to, from, bytes, hipMemcpyDeviceToDevice);
  }

  /// No effect: AMD's profiler takes no stage names from this library.
  void stage(const char*) {}

  void mark() {
    if (first_error_ == hipSuccess) note(hipEventRecord(mark_.get(), stream_.get()));
    is_marked_ = first_error_ == hipSuccess;
  }
  [[nodiscard]] bool is_past_mark() const {
    return is_marked_ ? hipEventQuery(mark_.get()) != hipErrorNotReady : at_rest();
  }

  void submit() {
    if (first_error_ == hipSuccess) note(hipEventRecord(end_.get(), stream_.get()));
    submitted_ = true;
  }

  [[nodiscard]] std::string finish() {
    if (!submitted_) submit();
    if (first_error_ == hipSuccess) note(hipEventSynchronize(end_.get()));
    if (first_error_ == hipSuccess) return {};
    static_cast<void>(hipStreamSynchronize(stream_.get()));
    return hipGetErrorString(first_error_);
  }

  [[nodiscard]] bool finish_for(std::chrono::nanoseconds limit, std::string& error) {
    constexpr std::chrono::nanoseconds pause = std::chrono::microseconds(50);
    const auto until = std::chrono::steady_clock::now() + limit;
    if (!submitted_) submit();
    while (true) {
      const hipError_t result =
          first_error_ == hipSuccess ? hipEventQuery(end_.get()) : hipStreamQuery(stream_.get());
      if (result != hipErrorNotReady) {
        note(result);
        break;
      }
      const auto left = until - std::chrono::steady_clock::now();
      if (left <= left.zero()) return false;
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, pause));
    }
    error = first_error_ == hipSuccess ? std::string() : hipGetErrorString(first_error_);
    return true;
  }

  [[nodiscard]] bool is_lost() const { return hip::lasts(first_error_); }
  [[nodiscard]] bool at_rest() const { return hipStreamQuery(stream_.get()) != hipErrorNotReady; }

private:
  void copy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
    if (bytes == 0 || first_error_ != hipSuccess) return;
    submitted_ = false;
    note(hipMemcpyAsync(to, from, bytes, kind, stream_.get()));
  }
  void note(hipError_t result) {
    if (first_error_ == hipSuccess) first_error_ = result;
  }

  hip::event mark_;
  hip::event end_;
  hip::stream stream_; // destroyed before the events; its destructor waits for pending work
  bool is_marked_ = false;
  bool submitted_ = false;
  hipError_t first_error_ = hipSuccess;
};

} // namespace l3
