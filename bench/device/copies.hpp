// SPDX-License-Identifier: Apache-2.0
// What copying costs on a device: over the link in each direction, in both at once, while packed
// events leave by mapped memory, and within the device. These are the limits that the other figures
// of a device stand beside, and they decide by which way packed events should leave.
//
// Written for any queue, so that the imagined device of the tests shows that every copy is made and
// every wrong byte is found.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/memory/buffer.hpp"
#include "selection/packing/deliver.hpp"

namespace l3::bench {

struct copy_row {
  std::string name;
  std::uint64_t bytes = 0;     ///< that count, in each of the seconds
  std::vector<double> seconds; ///< by round
  bool right = true;           ///< every byte arrived, in every round
};

template <class Queue>
class copies {
public:
  /// Copies of `bytes`, a multiple of 48, so that a third of them is one of 16.
  template <class MakeQueue>
  copies(MakeQueue&& make_queue, std::size_t bytes)
      : bytes_(bytes), source_(memory::allocate(bytes)), arrived_(memory::allocate(bytes)),
        on_device_(memory::allocate_on_device(bytes)), target_(memory::allocate_on_device(bytes)),
        summaries_(memory::allocate_on_device(2 * sizeof(frame_summary))), one_(make_queue()),
        other_(make_queue()) {
    for (std::size_t i = 0; i + sizeof(std::uint64_t) <= bytes_; i += sizeof(std::uint64_t))
      store(source_.data() + i, std::uint64_t{i} * odd_factor + 1);
    const frame_summary all_and_third[] = {{bytes_}, {bytes_ / 3}};
    one_.copy_in(summaries_.data(), all_and_third, sizeof all_and_third);
    one_.copy_in(on_device_.data(), source_.data(), bytes_);
    finish(one_);
  }

  /// Each of them in turn, `rounds` times.
  std::vector<copy_row> run(std::uint32_t rounds) {
    const std::vector<task> tasks = {
        {"host to device", link_passes, bytes_, 0, bytes_, [this] { to_device(one_); }},
        {"device to host", link_passes, bytes_, bytes_, 0, [this] { to_host(other_); }},
        {"both at once", link_passes, 2 * bytes_, bytes_, bytes_,
         [this] { to_device(one_), to_host(other_); }},
        {"kernel to mapped host memory", link_passes, bytes_, bytes_, 0,
         [this] { deliver(other_, 0); }},
        {"host to device, a third leaves mapped", link_passes, bytes_, bytes_ / 3, bytes_,
         [this] { to_device(one_), deliver(other_, 1); }},
        {"within the device, read and written", device_passes, 2 * bytes_, 0, bytes_,
         [this] { one_.copy_within(target_.data(), on_device_.data(), bytes_); }},
    };
    std::vector<copy_row> rows;
    for (const task& t : tasks) rows.push_back({t.name, t.counted * t.passes, {}, true});
    for (std::uint32_t round = 0; round < warming_rounds + rounds; ++round) {
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        poison();
        const double seconds = time(tasks[i]);
        rows[i].right = rows[i].right && is_right(tasks[i]);
        if (round >= warming_rounds) rows[i].seconds.push_back(seconds);
      }
    }
    return rows;
  }

private:
  using memory = typename Queue::memory;

  struct task {
    std::string name;
    std::uint32_t passes;  // in one timing: waking a sleeping host is then no part of it
    std::uint64_t counted; // bytes of a pass
    std::uint64_t to_host; // bytes that must then have arrived there
    std::uint64_t to_device;
    std::function<void()> enqueue;
  };

  static constexpr std::uint32_t link_passes = 4;
  static constexpr std::uint32_t device_passes = 64;
  static constexpr std::uint32_t warming_rounds = 1; // clocks and links wake up
  static constexpr std::uint64_t odd_factor = 0x9e3779b97f4a7c15U;

  void to_device(Queue& q) { q.copy_in(target_.data(), source_.data(), bytes_); }
  void to_host(Queue& q) { q.copy_out(arrived_.data(), on_device_.data(), bytes_); }
  void deliver(Queue& q, std::uint32_t summary) {
    const outgoing from{on_device_.data(), on_device_.data()};
    const outgoing to{memory::on_device(arrived_.data()), memory::on_device(arrived_.data())};
    const auto* const size = reinterpret_cast<const frame_summary*>(summaries_.data()) + summary;
    q.run(deliver_output{}, deliver_output::blocks, from, size, to, std::uint64_t{0});
  }

  double time(const task& t) {
    const auto start = std::chrono::steady_clock::now();
    for (std::uint32_t pass = 0; pass < t.passes; ++pass) t.enqueue();
    one_.submit();
    other_.submit();
    finish(one_);
    finish(other_);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void poison() {
    std::memset(arrived_.data(), 0xa5, bytes_);
    one_.copy_in(target_.data(), arrived_.data(), bytes_);
    finish(one_);
  }

  bool is_right(const task& t) {
    if (std::memcmp(arrived_.data(), source_.data(), t.to_host) != 0) return false;
    if (t.to_device == 0) return true;
    one_.copy_out(arrived_.data(), target_.data(), t.to_device);
    finish(one_);
    return std::memcmp(arrived_.data(), source_.data(), t.to_device) == 0;
  }

  void finish(Queue& q) {
    q.submit();
    if (const std::string error = q.finish(); !error.empty()) throw std::runtime_error(error);
  }

  std::size_t bytes_;
  buffer source_;    // on the host
  buffer arrived_;   // there, too
  buffer on_device_; // the same bytes as source_
  buffer target_;
  buffer summaries_;
  Queue one_;
  Queue other_;
};

/// On the CUDA device; nothing in a program that was built without CUDA.
[[nodiscard]] std::vector<copy_row> cuda_copies(std::size_t bytes, std::uint32_t rounds);

} // namespace l3::bench
