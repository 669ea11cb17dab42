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
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <nvtx3/nvtx3.hpp>

#include "gpu/executors/block.hpp"
#include "gpu/executors/cuda_form.hpp"
#include "gpu/executors/lost_device.hpp"
#include "gpu/memory/device.hpp"

namespace l3 {

static_assert(__cplusplus >= 202002L, "device code is C++20, like all of koto-l3");

namespace cuda {

/// Whether every later call of this process fails, too. The CUDA runtime's documentation says so
/// for the errors about a broken kernel or context. For those about a driver, device or MPS server
/// that is gone it is assumed.
[[nodiscard]] inline bool lasts(cudaError_t result) {
  switch (result) {
  case cudaErrorContained:
  case cudaErrorIllegalAddress:
  case cudaErrorLaunchTimeout:
  case cudaErrorAssert:
  case cudaErrorHardwareStackError:
  case cudaErrorIllegalInstruction:
  case cudaErrorMisalignedAddress:
  case cudaErrorInvalidAddressSpace:
  case cudaErrorInvalidPc:
  case cudaErrorLaunchFailure:
  case cudaErrorTensorMemoryLeak:
  case cudaErrorMpsClientTerminated:
  case cudaErrorExternalDevice:
  case cudaErrorInitializationError:
  case cudaErrorDevicesUnavailable:
  case cudaErrorNoDevice:
  case cudaErrorDeviceUninitialized:
  case cudaErrorSystemNotReady:
  case cudaErrorMpsConnectionFailed:
  case cudaErrorMpsRpcFailure:
  case cudaErrorMpsServerNotReady:
  case cudaErrorContextIsDestroyed:
  case cudaErrorECCUncorrectable:
  case cudaErrorNvlinkUncorrectable:
  case cudaErrorUnknown: return true;
  default: return false;
  }
}

inline void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  const std::string text = std::string(what) + ": " + cudaGetErrorString(result);
  if (lasts(result)) throw lost_device(text);
  throw std::runtime_error(text);
}

struct destroy {
  void operator()(cudaStream_t s) const {
    static_cast<void>(cudaStreamSynchronize(s));
    static_cast<void>(cudaStreamDestroy(s));
  }
  void operator()(cudaEvent_t e) const { static_cast<void>(cudaEventDestroy(e)); }
  void operator()(cudaGraph_t g) const { static_cast<void>(cudaGraphDestroy(g)); }
  void operator()(cudaGraphExec_t g) const { static_cast<void>(cudaGraphExecDestroy(g)); }
};
using stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, destroy>;
using event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, destroy>;
using graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, destroy>;
using executable_graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, destroy>;

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

  /// A strided loop, not unrolled: nearly all loops have one or two iterations.
  template <class F>
  __device__ void for_each(std::uint32_t n, F&& f) const {
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x) f(i);
  }
};

namespace cuda {

/// The number of a kernel's blocks for which a multiprocessor must have registers. Kernels whose
/// warps wait for memory set `resident`. The default of one keeps the compiler from spilling
/// registers to make room for one more block.
template <class Form>
[[nodiscard]] constexpr std::uint32_t resident_blocks() {
  if constexpr (requires { Form::resident; }) return Form::resident;
  return 1;
}

/// The number of blocks that do the work of `portable` blocks.
template <class Form>
[[nodiscard]] constexpr std::uint32_t blocks_of(std::uint32_t portable) {
  if constexpr (requires { Form::blocks_for(portable); }) return Form::blocks_for(portable);
  return portable;
}

/// Under this name a profiler shows the stages.
struct nvtx_domain {
  static constexpr const char* name = "koto-l3";
};
using profiled_stage = nvtx3::unique_range_in<nvtx_domain>;

} // namespace cuda

template <class Kernel, class... Args>
__global__ void __launch_bounds__(cuda_form<Kernel>::type::width,
                                  cuda::resident_blocks<typename cuda_form<Kernel>::type>())
    run_block(Kernel kernel, Args... args) {
  using form = typename cuda_form<Kernel>::type;
  // Plain bytes, because clang refuses shared memory of a type with initial values, which kernels
  // do not use.
  using shared_memory = typename form::shared;
  alignas(shared_memory) __shared__ std::byte bytes[sizeof(shared_memory)];
  auto& shared = *reinterpret_cast<shared_memory*>(bytes);
  const std::uint32_t threads = blockDim.x;
  __builtin_assume(threads == form::width); // strides become constants in addresses
  if constexpr (std::is_same_v<form, Kernel>) {
    kernel(cuda_block{}, shared, args...);
  } else {
    form()(cuda_block{}, shared, args...);
  }
}

class cuda_queue {
public:
  using memory = cuda_memory;

  cuda_queue() : cuda_queue(0) {}
  explicit cuda_queue(int device)
      : device_((cuda::check(cudaSetDevice(device), "cannot use the CUDA device"), device)),
        mark_(cuda::make_event()), end_(cuda::make_event()), gathered_(cuda::make_stream()),
        stream_(cuda::make_stream()) {}

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    if (blocks == 0 || first_error_ != cudaSuccess) return;
    submitted_ = false;
    using form = typename cuda_form<Kernel>::type;
    blocks = cuda::blocks_of<form>(blocks);
    // Clears earlier errors of this thread: a query of a busy stream counts, too.
    static_cast<void>(cudaGetLastError());
    // A launch on another device than its queue's is refused.
    note(cudaSetDevice(device_));
    if (first_error_ != cudaSuccess) return;
    if (gathers_) kernels_.push_back(reinterpret_cast<const void*>(&run_block<Kernel, Args...>));
    run_block<Kernel, Args...>
        <<<blocks, form::width, 0, (gathers_ ? gathered_ : stream_).get()>>>(kernel, args...);
    note(cudaGetLastError());
  }

  /// Kernels enqueued from here to launch_gathered() reach the device together as a graph: ten
  /// separate launches slowed copies to the device by 6 %
  /// (docs/decisions/0034-kernels-as-a-graph.md). Only kernels may be enqueued in between, and each
  /// of them must have run before, because its first launch loads it. A profiler shows stages where
  /// kernels are gathered, and the graph in its own stage.
  void gather() {
    if (first_error_ == cudaSuccess)
      note(cudaStreamBeginCapture(gathered_.get(), cudaStreamCaptureModeThreadLocal));
    gathers_ = first_error_ == cudaSuccess;
    kernels_.clear();
  }
  void launch_gathered() {
    if (!std::exchange(gathers_, false)) return;
    cudaGraph_t made = nullptr;
    note(cudaStreamEndCapture(gathered_.get(), &made));
    const cuda::graph owner(made);
    if (first_error_ != cudaSuccess) return;
    submitted_ = false;
    // Nearly always the same kernels with other arguments.
    cudaGraphExecUpdateResultInfo why{};
    if (executable_ == nullptr || kernels_ != kernels_of_executable_ ||
        cudaGraphExecUpdate(executable_.get(), made, &why) != cudaSuccess) {
      cudaGraphExec_t executable = nullptr;
      note(cudaGraphInstantiate(&executable, made, 0));
      executable_.reset(executable);
      kernels_of_executable_ = kernels_;
    }
    stage("kernels");
    if (first_error_ == cudaSuccess) note(cudaGraphLaunch(executable_.get(), stream_.get()));
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

  /// Names work enqueued from here to the next stage or submit() for a profiler.
  void stage(const char* name) {
    stage_.reset();
    stage_.emplace(name);
  }

  /// Marks a place in the enqueued work for is_past_mark().
  void mark() {
    if (gathers_) std::abort(); // the mark would precede the kernels
    if (first_error_ == cudaSuccess) note(cudaEventRecord(mark_.get(), stream_.get()));
    is_marked_ = first_error_ == cudaSuccess;
  }
  /// Whether the work before the mark has ended; without a mark, all work. Any thread.
  [[nodiscard]] bool is_past_mark() const {
    return is_marked_ ? cudaEventQuery(mark_.get()) != cudaErrorNotReady : at_rest();
  }

  /// Marks the end of the enqueued work, for which finish() waits.
  void submit() {
    if (gathers_) std::abort(); // the end would precede the kernels
    stage_.reset();
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

  /// Like finish(), but returns false if the work has not ended after `limit`. After an
  /// error, too, it returns true when the stream has no running work. The driver has no wait
  /// with a time limit, so this polls it, with pauses that are short compared to the time of
  /// a frame.
  [[nodiscard]] bool finish_for(std::chrono::nanoseconds limit, std::string& error) {
    constexpr std::chrono::nanoseconds pause = std::chrono::microseconds(50);
    const auto until = std::chrono::steady_clock::now() + limit;
    if (!submitted_) submit();
    while (true) {
      // After a failed call, `end_` marks nothing, but earlier work may be queued.
      const cudaError_t result =
          first_error_ == cudaSuccess ? cudaEventQuery(end_.get()) : cudaStreamQuery(stream_.get());
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

  /// Whether the error of finish() or finish_for() lasts as long as this process.
  [[nodiscard]] bool is_lost() const { return cuda::lasts(first_error_); }

  /// Whether the stream has no running work, also after an error. Any thread.
  [[nodiscard]] bool at_rest() const { return cudaStreamQuery(stream_.get()) != cudaErrorNotReady; }

private:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0 || first_error_ != cudaSuccess) return;
    if (gathers_) std::abort(); // it would run before the kernels
    submitted_ = false;
    note(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()));
  }
  void note(cudaError_t result) {
    if (first_error_ == cudaSuccess) first_error_ = result;
  }

  int device_;
  cuda::event mark_;
  cuda::event end_;
  cuda::stream gathered_; // captures kernels for a graph, but never runs any
  cuda::executable_graph executable_;
  std::vector<const void*> kernels_; ///< of the current or last graph
  std::vector<const void*> kernels_of_executable_;
  std::optional<cuda::profiled_stage> stage_;
  cuda::stream stream_; // destroyed before the events; its destructor waits for pending work
  bool gathers_ = false;
  bool is_marked_ = false;
  bool submitted_ = false;
  cudaError_t first_error_ = cudaSuccess;
};

} // namespace l3
