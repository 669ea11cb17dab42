// SPDX-License-Identifier: Apache-2.0
// The sycl executor: a block is a work-group, a lane is a work-item, a queue is an in-order queue.
// All kernels run in their portable form. The queue keeps the first error, like the cuda executor
// (gpu/executors/cuda.cuh); SYCL throws errors, or reports them to the queue later.
//
// SYCL guarantees no forward progress between work-groups: a kernel whose blocks wait for one
// another must not be launched here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <string>

#include <sycl/sycl.hpp>

#include "gpu/executors/atomics.sycl.hpp"
#include "gpu/executors/block.hpp"
#include "gpu/memory/sycl_memory.hpp"
#include "gpu/memory/sycl_queue.hpp"

namespace l3 {

namespace sycl_device {

/// The first error of a queue. Any thread may write and read it.
class kept_error {
public:
  void keep(const std::string& text) {
    const std::scoped_lock lock(mutex_);
    if (text_.empty()) text_ = text.empty() ? "an error without a text" : text;
  }
  [[nodiscard]] std::string text() const {
    const std::scoped_lock lock(mutex_);
    return text_;
  }

private:
  mutable std::mutex mutex_;
  std::string text_;
};

} // namespace sycl_device

class sycl_block {
public:
  explicit sycl_block(const sycl::nd_item<1>& item) : item_(&item) {}

  [[nodiscard]] std::uint32_t index() const {
    return static_cast<std::uint32_t>(item_->get_group(0));
  }
  [[nodiscard]] std::uint32_t threads() const {
    return static_cast<std::uint32_t>(item_->get_local_range(0));
  }
  [[nodiscard]] std::uint32_t lane() const {
    return static_cast<std::uint32_t>(item_->get_local_id(0));
  }
  void sync() const { sycl::group_barrier(item_->get_group()); }

private:
  const sycl::nd_item<1>* item_;
};

class sycl_queue {
public:
  using memory = sycl_memory;

  sycl_queue()
      : error_(std::make_unique<sycl_device::kept_error>()),
        queue_(
            sycl_device::common_queue().get_context(), sycl_device::common_queue().get_device(),
            [kept = error_.get()](const sycl::exception_list& all) { keep(*kept, all); },
            sycl::property_list{sycl::property::queue::in_order{}}) {}
  sycl_queue(sycl_queue&&) = default;
  sycl_queue& operator=(sycl_queue&&) = delete;
  ~sycl_queue() {
    if (error_) attempt([&] { queue_.wait(); });
  }

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    if (blocks == 0) return;
    using shared = typename Kernel::shared;
    enqueue([&](sycl::handler& h) {
      const sycl::local_accessor<aligned_bytes<alignof(shared)>, 1> lent(
          sycl::range<1>(sizeof(shared) / alignof(shared)), h);
      h.parallel_for(sycl::nd_range<1>(std::size_t{blocks} * Kernel::width, Kernel::width),
                     [=](sycl::nd_item<1> item) {
                       kernel(sycl_block(item), *reinterpret_cast<shared*>(&lent[0]), args...);
                     });
    });
  }

  void copy_in(void* device, const void* host, std::size_t bytes) { copy(device, host, bytes); }
  void copy_out(void* host, const void* device, std::size_t bytes) { copy(host, device, bytes); }
  void copy_within(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); }

  /// No effect: SYCL has no stage names.
  void stage(const char*) {}

  void mark() { mark_ = last_; }
  [[nodiscard]] bool is_past_mark() const { return has_ended(mark_) || at_rest(); }

  /// A runtime may delay work until somebody waits for it, as AdaptiveCpp does with up to 100
  /// commands: so a thread waits.
  void submit() {
    attempt([&] {
      ended_ = std::async(std::launch::async, [queue = queue_]() mutable { queue.wait(); });
    });
    submitted_ = true;
  }

  [[nodiscard]] std::string finish() {
    attempt([&] { queue_.wait_and_throw(); });
    return error_->text();
  }

  [[nodiscard]] bool finish_for(std::chrono::nanoseconds limit, std::string& error) {
    if (!submitted_) submit();
    if (ended_.valid() && ended_.wait_for(limit) != std::future_status::ready) return false;
    error = finish();
    return true;
  }

  /// SYCL does not tell which errors last, so each is retried.
  [[nodiscard]] bool is_lost() const { return false; }
  [[nodiscard]] bool at_rest() const { return has_ended(last_); }

protected:
  /// Enqueues a command group, unless an error is kept.
  template <class F>
  void enqueue(F work) {
    submitted_ = false;
    if (error_->text().empty()) attempt([&] { last_ = queue_.submit(work); });
  }

private:
  template <std::size_t alignment>
  struct alignas(alignment) aligned_bytes {
    std::byte bytes[alignment];
  };

  template <class F>
  void attempt(F work) const {
    try {
      work();
    } catch (const std::exception& e) {
      error_->keep(e.what());
    }
  }
  static void keep(sycl_device::kept_error& kept, const sycl::exception_list& all) {
    for (const std::exception_ptr& one : all) {
      try {
        std::rethrow_exception(one);
      } catch (const std::exception& e) {
        kept.keep(e.what());
      }
    }
  }
  void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) enqueue([&](sycl::handler& h) { h.memcpy(to, from, bytes); });
  }
  [[nodiscard]] static bool has_ended(const sycl::event& e) {
    return e.get_info<sycl::info::event::command_execution_status>() ==
           sycl::info::event_command_status::complete;
  }

  std::unique_ptr<sycl_device::kept_error> error_;
  sycl::queue queue_;
  sycl::event mark_;
  sycl::event last_; ///< initially ended
  std::future<void> ended_;
  bool submitted_ = false;
};

} // namespace l3
