// SPDX-License-Identifier: Apache-2.0
// An imagined device, to test on any machine how the engine drives a real one. It has memory of its
// own, and queues that work like CUDA streams: enqueued work is done in order on any CPU executor,
// but not before somebody asks whether it is done. So an engine that reads a frame too early gives
// wrong bytes.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "gpu/memory/buffer.hpp"

namespace l3::test {

/// Counts allocations: an engine must not allocate once it is made.
struct imagined_memory {
  static constexpr bool has_device = true;

  static buffer allocate(std::size_t n) {
    ++allocations();
    return host_memory::allocate(n);
  }
  /// Memory that is not zeroed.
  static buffer allocate_on_device(std::size_t n) {
    buffer b = allocate(n);
    std::memset(b.data(), 0xa5, b.size());
    allocated_on_device().emplace_back(b.data(), b.size());
    return b;
  }
  /// In order, those of earlier engines included.
  static std::vector<std::span<std::byte>>& allocated_on_device() {
    static std::vector<std::span<std::byte>> all;
    return all;
  }
  static std::byte* on_device(std::byte* host) { return host; }

  static std::atomic<int>& allocations() {
    static std::atomic<int> n = 0;
    return n;
  }
};

/// Lets a test observe and control a queue.
class stream_control {
public:
  struct copy {
    bool in = false;
    std::size_t bytes = 0;
  };

  /// The queue does no enqueued work until release().
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    work();
  }
  /// While it is held, it does so many more pieces of work.
  void let(int pieces) {
    const std::lock_guard lock(mutex_);
    permits_ += pieces;
    work();
  }
  /// From here on finish() returns `why`.
  void fail(std::string why) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(why);
  }

  [[nodiscard]] std::vector<copy> copies() const { return locked(copies_); }
  [[nodiscard]] std::vector<std::string> stages() const { return locked(stages_); }
  /// The kernels that ran at least one block.
  [[nodiscard]] std::set<std::type_index> kernels() const { return locked(kernels_); }
  [[nodiscard]] int enqueued() const { return locked(enqueued_); }
  [[nodiscard]] int waits() const { return locked(waits_); }
  void forget() {
    const std::lock_guard lock(mutex_);
    copies_.clear();
    stages_.clear();
    kernels_.clear();
    enqueued_ = waits_ = 0;
  }

private:
  template <class Inner>
  friend class stream_queue;

  template <class T>
  [[nodiscard]] T locked(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }
  /// What is enqueued and not held.
  void work() {
    for (; !work_.empty() && (!held_ || permits_ > 0); work_.pop_front()) {
      if (held_) --permits_;
      work_.front()();
      ++done_;
    }
    changed_.notify_all();
  }
  void enqueue(std::function<void()> what) {
    ++enqueued_;
    ++total_;
    work_.push_back(std::move(what));
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  int permits_ = 0;
  std::string failure_;
  std::vector<copy> copies_;
  std::vector<std::string> stages_;
  std::set<std::type_index> kernels_;
  int enqueued_ = 0;
  int waits_ = 0;
  std::deque<std::function<void()>> work_;
  std::uint64_t total_ = 0; ///< pieces of work that were enqueued
  std::uint64_t done_ = 0;
};

/// The queue `Inner` runs the kernels.
template <class Inner>
class stream_queue {
public:
  using memory = imagined_memory;

  explicit stream_queue(
      Inner inner, std::shared_ptr<stream_control> control = std::make_shared<stream_control>())
      : control_(std::move(control)), inner_(std::make_unique<Inner>(std::move(inner))) {}
  stream_queue(stream_queue&&) = default;
  stream_queue& operator=(stream_queue&&) = delete;
  ~stream_queue() {
    if (control_ != nullptr) control_->release();
  }

  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    const std::lock_guard lock(control_->mutex_);
    if (blocks != 0) control_->kernels_.insert(typeid(Kernel));
    control_->enqueue(
        [inner = inner_.get(), kernel, blocks, args...] { inner->run(kernel, blocks, args...); });
  }
  void copy_in(void* device, const void* host, std::size_t n) { copy(true, device, host, n); }
  void copy_out(void* host, const void* device, std::size_t n) { copy(false, host, device, n); }
  void copy_within(void* to, const void* from, std::size_t n) {
    const std::lock_guard lock(control_->mutex_);
    control_->enqueue([=] { std::memcpy(to, from, n); });
  }
  void stage(const char* name) {
    const std::lock_guard lock(control_->mutex_);
    control_->stages_.emplace_back(name);
  }
  void mark() { mark_ = end(); }
  [[nodiscard]] bool is_past_mark() const { return is_done(mark_); }
  void submit() { submitted_ = end(); }
  [[nodiscard]] bool is_lost() const { return false; }
  /// Waits for submitted work only, so that an engine that forgets to submit does not end.
  [[nodiscard]] std::string finish() {
    std::string error;
    while (!finish_for(std::chrono::hours(1), error)) {
    }
    return error;
  }
  [[nodiscard]] bool finish_for(std::chrono::nanoseconds limit, std::string& error) {
    std::unique_lock lock(control_->mutex_);
    ++control_->waits_;
    control_->work();
    const auto has_ended = [&] { return submitted_ != 0 && control_->done_ >= submitted_; };
    if (!control_->changed_.wait_for(lock, limit, has_ended)) return false;
    error = control_->failure_;
    return true;
  }
  [[nodiscard]] bool at_rest() const { return is_done(submitted_); }

private:
  void copy(bool in, void* to, const void* from, std::size_t n) {
    const std::lock_guard lock(control_->mutex_);
    control_->copies_.push_back({in, n});
    control_->enqueue([=] { std::memcpy(to, from, n); });
  }
  /// A piece of work of its own, as in a stream: the number of pieces when it is done.
  [[nodiscard]] std::uint64_t end() {
    const std::lock_guard lock(control_->mutex_);
    control_->enqueue([] {});
    return control_->total_;
  }
  [[nodiscard]] bool is_done(std::uint64_t pieces) const {
    const std::lock_guard lock(control_->mutex_);
    control_->work();
    return control_->done_ >= pieces;
  }

  std::shared_ptr<stream_control> control_;
  std::unique_ptr<Inner> inner_; // enqueued work keeps its address, also after a move
  std::uint64_t mark_ = 0;
  std::uint64_t submitted_ = 0;
};

} // namespace l3::test
