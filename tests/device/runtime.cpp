// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA runtime that the programs of koto-l3 call, for the imagined device: programs
// that are linked with it instead of cudart execute their kernels' PTX.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/device/imagined_device.hpp"

using l3::ptx::imagined_device;
using l3::ptx::stream_worker;

namespace {

thread_local int current_device = 0;

/// L3_DEVICE_COUNT devices, which share memory, schedule and faults.
int device_count() {
  static const int count = [] {
    const char* const given = std::getenv("L3_DEVICE_COUNT");
    return given == nullptr ? 1 : std::atoi(given);
  }();
  return count;
}

} // namespace

/// Kernels in their order, captured from a stream.
struct CUgraph_st {
  std::vector<const l3::ptx::loaded_kernel*> kernels;
  std::vector<std::function<void()>> launches;
};
struct CUgraphExec_st : CUgraph_st {};

struct CUstream_st {
  int device = current_device;
  std::unique_ptr<CUgraph_st> captured; ///< while the stream is captured
  stream_worker worker{imagined_device::the_only_one()};
};

struct CUevent_st {
  std::mutex lock;
  std::condition_variable changed;
  std::uint64_t recorded = 0;
  std::uint64_t passed = 0;
};

namespace {

imagined_device& device() { return imagined_device::the_only_one(); }

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t note(cudaError_t result) {
  if (result != cudaSuccess) last_error = result;
  return result;
}

cudaError_t state() { return note(device().has_failed() ? cudaErrorLaunchFailure : cudaSuccess); }

/// The error that is planned for a call; else that of a device that has failed.
cudaError_t state_in(const char* call) {
  if (const int planned = device().errors.due(call); planned != 0)
    return note(static_cast<cudaError_t>(planned));
  return state();
}

CUstream_st& stream_of(cudaStream_t stream) {
  static auto* const by_default = [] {
    auto* const made = new CUstream_st;
    const imagined_device::turn mine(device());
    device().streams.push_back(&made->worker);
    return made;
  }();
  return stream == nullptr ? *by_default : *stream;
}

void wait_for_all() {
  std::vector<stream_worker*> streams;
  {
    const imagined_device::turn mine(device());
    streams = device().streams;
  }
  for (stream_worker* const s : streams) s->wait();
}

std::uint64_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// Does something in the stream unless the device has failed.
template <class F>
cudaError_t enqueue(cudaStream_t stream, F work) {
  if (state() != cudaSuccess) return state();
  stream_of(stream).worker.enqueue([work = std::move(work)] {
    if (!device().has_failed()) work();
  });
  return cudaSuccess;
}

bool is_pinned(const void* p, std::size_t bytes) {
  const auto* const at = static_cast<const std::byte*>(p);
  const imagined_device::turn mine(device());
  auto after = device().pinned.upper_bound(at);
  if (after == device().pinned.begin()) return false;
  --after;
  return at + bytes <= after->first + after->second;
}

bool lies_on_device(const void* p, std::size_t bytes) {
  const imagined_device::turn mine(device());
  return device().memory.find(address_of(p), bytes) != nullptr;
}

struct call_configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
};
thread_local call_configuration configured;

} // namespace

extern "C" {

// --- what nvcc's host code calls ---

void** __cudaRegisterFatBinary(void* wrapper) {
  struct fat_binary_wrapper {
    int magic;
    int version;
    const void* data;
    void* more;
  };
  return reinterpret_cast<void**>(
      &device().add_module(static_cast<const fat_binary_wrapper*>(wrapper)->data));
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void** module, const char* host, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  device().kernels[host] = {reinterpret_cast<l3::ptx::module*>(module), name};
}

// The variables of these programs belong to libraries' headers, and the host never touches them.
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                     CUstream_st* stream) {
  configured = {grid, block, shared, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  *grid = configured.grid;
  *block = configured.block;
  *shared = configured.shared;
  *static_cast<cudaStream_t*>(stream) = configured.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  const auto found = device().kernels.find(host);
  if (found == device().kernels.end()) return note(cudaErrorInvalidDeviceFunction);
  *kernel = reinterpret_cast<cudaKernel_t>(&found->second);
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared, cudaStream_t stream) {
  if (const cudaError_t e = state_in("cudaLaunchKernel"); e != cudaSuccess) return e;
  if (stream_of(stream).device != current_device && stream != nullptr)
    return note(cudaErrorInvalidResourceHandle);
  if (grid.y != 1 || grid.z != 1 || block.y != 1 || block.z != 1 || shared != 0 || grid.x == 0 ||
      block.x == 0) {
    std::fprintf(
        stderr,
        "device: a launch in several dimensions, of nothing, or with dynamic shared memory\n");
    std::_Exit(70);
  }
  l3::ptx::loaded_kernel* what = nullptr;
  try {
    const imagined_device::turn mine(device());
    what = &device().load(*reinterpret_cast<const l3::ptx::host_kernel*>(kernel));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "device: %s\n", e.what());
    std::_Exit(70);
  }
  // The arguments are copied now: the caller's may be gone when the kernel runs.
  const auto& code = what->code;
  std::vector<std::byte> block_of_arguments(code.parameters_end);
  for (std::size_t n = 0; n < code.parameter_bytes.size(); ++n)
    std::memcpy(block_of_arguments.data() + code.parameter_offsets[n], arguments[n],
                code.parameter_bytes[n]);
  auto launch = [what, blocks = grid.x, threads = block.x, given = std::move(block_of_arguments)] {
    device().run(*what, blocks, threads, given);
  };
  if (CUgraph_st* const graph = stream_of(stream).captured.get()) {
    graph->kernels.push_back(what);
    graph->launches.emplace_back(std::move(launch));
    return cudaSuccess;
  }
  return enqueue(stream, std::move(launch));
}

// --- graphs of kernels ---

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (const cudaError_t e = state_in("cudaStreamBeginCapture"); e != cudaSuccess) return e;
  if (stream_of(stream).captured) return note(cudaErrorIllegalState);
  stream_of(stream).captured = std::make_unique<CUgraph_st>();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  std::unique_ptr<CUgraph_st> captured = std::move(stream_of(stream).captured);
  *graph = nullptr;
  if (const cudaError_t e = state_in("cudaStreamEndCapture"); e != cudaSuccess) return e;
  if (!captured) return note(cudaErrorIllegalState);
  *graph = captured.release();
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  if (const cudaError_t e = state_in("cudaGraphInstantiate"); e != cudaSuccess) return e;
  *made = new CUgraphExec_st{*graph};
  return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t made, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* why) {
  if (const cudaError_t e = state_in("cudaGraphExecUpdate"); e != cudaSuccess) return e;
  if (made->kernels != graph->kernels) {
    why->result = cudaGraphExecUpdateErrorTopologyChanged;
    return note(cudaErrorGraphExecUpdateFailure);
  }
  made->launches = graph->launches;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t made, cudaStream_t stream) {
  if (const cudaError_t e = state_in("cudaGraphLaunch"); e != cudaSuccess) return e;
  for (const auto& launch : made->launches) static_cast<void>(enqueue(stream, launch));
  return state();
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t made) {
  delete made;
  return cudaSuccess;
}

// --- memory ---

cudaError_t cudaMalloc(void** p, std::size_t bytes) {
  if (const cudaError_t e = state_in("cudaMalloc"); e != cudaSuccess) return e;
  const imagined_device::turn mine(device());
  try {
    *p = reinterpret_cast<void*>(device().memory.allocate(bytes));
  } catch (const std::bad_alloc&) {
    return note(cudaErrorMemoryAllocation);
  }
  return cudaSuccess;
}

cudaError_t cudaFree(void* p) {
  if (p == nullptr) return cudaSuccess;
  wait_for_all();
  const imagined_device::turn mine(device());
  return note(device().memory.free(address_of(p)) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaHostAlloc(void** p, std::size_t bytes, unsigned) {
  if (const cudaError_t e = state_in("cudaHostAlloc"); e != cudaSuccess) return e;
  constexpr std::size_t page = 4096;
  void* const made =
      std::aligned_alloc(page, (bytes + page - 1) / page * page + (bytes == 0 ? page : 0));
  if (made == nullptr) return note(cudaErrorMemoryAllocation);
  const imagined_device::turn mine(device());
  auto* const host = static_cast<std::byte*>(made);
  device().pinned[host] = bytes;
  device().mapped[host] = device().memory.map({host, bytes});
  *p = made;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* p) {
  if (p == nullptr) return cudaSuccess;
  wait_for_all();
  const imagined_device::turn mine(device());
  auto* const host = static_cast<std::byte*>(p);
  if (device().pinned.erase(host) == 0) return note(cudaErrorInvalidValue);
  (void)device().memory.free(device().mapped[host]);
  device().mapped.erase(host);
  std::free(p);
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** p, void* host, unsigned) {
  const imagined_device::turn mine(device());
  const auto* const at = static_cast<const std::byte*>(host);
  auto after = device().pinned.upper_bound(at);
  if (after == device().pinned.begin() || at >= std::prev(after)->first + std::prev(after)->second)
    return note(cudaErrorInvalidValue);
  --after;
  *p = reinterpret_cast<void*>(device().mapped[after->first] +
                               static_cast<std::uint64_t>(at - after->first));
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const bool by_address = kind == cudaMemcpyDefault;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
                         (by_address && lies_on_device(to, bytes));
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
                           (by_address && lies_on_device(from, bytes));
  if (!from_device && !is_pinned(from, bytes)) {
    // Pageable memory is read before the call returns.
    const auto* const begin = static_cast<const std::byte*>(from);
    return enqueue(stream, [=, taken = std::vector<std::byte>(begin, begin + bytes)] {
      device().copy(to, taken.data(), bytes, to_device, false);
    });
  }
  return enqueue(stream, [=] { device().copy(to, from, bytes, to_device, from_device); });
}

cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t stream) {
  return enqueue(stream, [=] { device().fill(address_of(p), value, bytes); });
}

cudaError_t cudaMemset(void* p, int value, std::size_t bytes) {
  const cudaError_t result = cudaMemsetAsync(p, value, bytes, nullptr);
  stream_of(nullptr).worker.wait();
  return result;
}

// --- streams and events ---

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (const cudaError_t e = state_in("cudaStreamCreateWithFlags"); e != cudaSuccess) return e;
  *stream = new CUstream_st;
  const imagined_device::turn mine(device());
  device().streams.push_back(&(*stream)->worker);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    const imagined_device::turn mine(device());
    std::erase(device().streams, &stream->worker);
  }
  delete stream;
  return state();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  stream_of(stream).worker.wait();
  return state();
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (!stream_of(stream).worker.at_rest()) return note(cudaErrorNotReady);
  return state();
}

cudaError_t cudaDeviceSynchronize() {
  wait_for_all();
  return state();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return state();
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  wait_for_all(); // a stream may still have to pass it
  delete event;
  return state();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  std::uint64_t mine = 0;
  {
    const std::scoped_lock lock(event->lock);
    mine = ++event->recorded;
  }
  stream_of(stream).worker.enqueue([event, mine] {
    const std::scoped_lock lock(event->lock);
    event->passed = std::max(event->passed, mine);
    event->changed.notify_all();
  });
  return state();
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  std::unique_lock lock(event->lock);
  event->changed.wait(lock, [&] { return event->passed == event->recorded; });
  return state();
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::scoped_lock lock(event->lock);
  return event->passed == event->recorded ? state() : note(cudaErrorNotReady);
}

// --- what is there ---

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return state_in("cudaGetDeviceCount");
}

cudaError_t cudaGetDevice(int* which) {
  *which = current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int which) {
  if (const cudaError_t e = state_in("cudaSetDevice"); e != cudaSuccess) return e;
  if (which < 0 || which >= device_count()) return note(cudaErrorInvalidDevice);
  current_device = which;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* address, int bytes, int which) {
  std::snprintf(address, static_cast<std::size_t>(bytes), "0000:F%X:00.0", which);
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  // Not an error but a version: 12040, or 0 without a driver, planned as -1.
  const int planned = device().errors.due("cudaDriverGetVersion");
  *version = planned == 0 ? CUDART_VERSION : std::max(planned, 0);
  return cudaSuccess;
}

namespace {

constexpr int multiprocessors = 4;

} // namespace

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "interpreted PTX, no device");
  properties->warpSize = static_cast<int>(l3::ptx::warp_lanes);
  properties->multiProcessorCount = multiprocessors;
  constexpr std::size_t imagined_memory = std::size_t{8} << 30;
  properties->totalGlobalMem = imagined_memory;
  return cudaSuccess;
}

/// What libraries ask before they choose a kernel: a device of 9.0.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  constexpr int newest = 9;
  *value = which == cudaDevAttrComputeCapabilityMajor ? newest
           : which == cudaDevAttrMultiProcessorCount  ? multiprocessors
                                                      : 0;
  return cudaSuccess;
}

/// Of all attributes only the architecture of the PTX.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* host) {
  const auto found = device().kernels.find(host);
  if (found == device().kernels.end()) return note(cudaErrorInvalidDeviceFunction);
  const imagined_device::turn mine(device());
  const std::string& target = device().load(found->second).of->target;
  *attributes = {};
  attributes->ptxVersion = std::atoi(target.c_str() + target.find('_') + 1);
  attributes->binaryVersion = attributes->ptxVersion;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
  case cudaSuccess: return "no error";
  case cudaErrorLaunchFailure: return "the interpreted device has failed";
  case cudaErrorMemoryAllocation: return "out of memory";
  case cudaErrorInvalidValue: return "invalid argument";
  case cudaErrorNotReady: return "not ready";
  case cudaErrorInvalidDeviceFunction: return "no such kernel";
  case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
  case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient";
  case cudaErrorNoDevice: return "no CUDA-capable device is detected";
  case cudaErrorDevicesUnavailable: return "CUDA-capable device(s) is/are busy or unavailable";
  case cudaErrorNoKernelImageForDevice: return "no kernel image is available";
  case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
  default: return "an error that the interpreted device does not name";
  }
}

} // extern "C"
