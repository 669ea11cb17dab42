// SPDX-License-Identifier: Apache-2.0
// The device that the stand-in for the CUDA runtime (runtime.cpp) speaks to. Each stream has a
// thread of its own, which executes its copies and kernels in order; one of them at a time uses the
// device, for a slice of a kernel. A fault is written to the standard error output, and from then
// on every call fails, as on a device.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/device/device_memory.hpp"
#include "tests/device/launch.hpp"

namespace l3::ptx {

/// A program that was registered, decoded when its first kernel is launched.
struct module {
  const void* fat_binary = nullptr;
  std::unique_ptr<program> decoded;
  std::map<std::string, std::unique_ptr<loaded_kernel>> kernels;
};

/// A kernel as the host knows it.
struct host_kernel {
  module* of = nullptr;
  std::string name;
};

class imagined_device;

/// A gate before all work of all streams, for tests that look at what a device has not done yet.
class gate {
public:
  void close();
  void open();
  /// Lets so many more pieces of work through: copies, kernels, records of events.
  void let(int pieces);
  void pass();

private:
  std::mutex lock_;
  std::condition_variable changed_;
  bool closed_ = false;
  int permits_ = 0;
};

/// Errors that calls of the runtime return because a test says so.
class planned_errors {
public:
  /// Reads L3_DEVICE_ERRORS: "CALL=CODE", with ":SKIP" behind it the call after so many; several
  /// with spaces between them.
  planned_errors();
  /// The call returns this code once, after `skip` calls, or from then on.
  void plan(const std::string& call, int code, int skip = 0, bool always = false);
  void forget();
  /// 0: none is planned for this call.
  [[nodiscard]] int due(const std::string& call);

private:
  struct planned {
    int code = 0;
    int skip = 0;
    bool always = false;
  };
  std::mutex lock_;
  std::map<std::string, planned> by_call_;
};

/// Work in order, done by a thread of its own.
class stream_worker {
public:
  explicit stream_worker(imagined_device& device);
  ~stream_worker(); ///< does what is left
  stream_worker(const stream_worker&) = delete;
  stream_worker& operator=(const stream_worker&) = delete;

  void enqueue(std::function<void()> work);
  void wait();
  [[nodiscard]] bool at_rest();

private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool busy_ = false;
  bool ends_ = false;
  std::jthread thread_;
};

class imagined_device {
public:
  static imagined_device& the_only_one();

  /// Threads take turns in the order in which they came.
  class turn {
  public:
    explicit turn(imagined_device& device);
    ~turn();
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

  private:
    imagined_device& device_;
  };

  [[nodiscard]] module& add_module(const void* fat_binary);
  [[nodiscard]] loaded_kernel& load(const host_kernel& which);

  /// Executes a kernel to its end, in slices. `arguments`: a pointer to each.
  void run(loaded_kernel& what, std::uint32_t blocks, std::uint32_t threads,
           std::vector<std::byte> arguments);
  void copy(void* to, const void* from, std::size_t bytes, bool to_device, bool from_device);
  void fill(std::uint64_t address, int value, std::size_t bytes);

  [[nodiscard]] bool has_failed() const { return failed_; }
  void fail(const std::string& why);
  /// A test's device is whole again, as for another process.
  void mend();
  /// By kernel; then all counts begin anew.
  [[nodiscard]] std::map<std::string, kernel_counts> take_counts();

  device_memory memory;                             ///< for who has the turn
  std::map<const std::byte*, std::size_t> pinned;   ///< likewise: host memory, its bytes
  std::map<const std::byte*, std::uint64_t> mapped; ///< its address for kernels
  std::map<const void*, host_kernel> kernels;       ///< by the address of the host's stub
  std::vector<stream_worker*> streams;              ///< likewise
  gate all_streams;
  planned_errors errors;

private:
  imagined_device();
  void decode(module& m);
  void report();

  std::mutex lock_;
  std::condition_variable next_turn_;
  std::uint64_t tickets_ = 0;
  std::uint64_t serving_ = 0;
  std::vector<std::unique_ptr<module>> modules_;
  schedule how_;
  std::uint64_t launches_ = 0;
  std::atomic<bool> failed_ = false;
};

} // namespace l3::ptx
