// SPDX-License-Identifier: Apache-2.0
// A batch of made-up events, and the decoder on one kind of queue, with the techniques added one
// after the other in the order in which LHCb added them. What every step gives is compared with
// what the first one gave on the serial executor.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/decode/decode_batch.hpp"
#include "bench/device/host_reference.hpp"
#include "gpu/decode/run.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3::bench {

struct decode_step {
  const char* name;
  decode_techniques how;
};
inline constexpr std::array<decode_step, 7> decode_steps{{
    {"none of the techniques", no_technique},
    {"+ table by source", {true, false, false, false, false, false}},
    {"+ zero suppression", {true, true, false, false, false, false}},
    {"+ warp-aggregated atomics", {true, true, true, false, false, false}},
    {"+ big banks first", {true, true, true, true, false, false}},
    {"+ 16-bit registers", {true, true, true, true, true, false}},
    {"+ opportunistic looping", {true, true, true, true, true, true}},
}};

/// The same on any executor, for the program that prints.
struct decode_runner {
  std::string where;
  std::function<void()> poison; ///< what copies and steps write
  /// The batch's bytes, within the memory that is computed in. Like step it returns when all its
  /// passes, one behind the other, are done.
  std::function<void(std::uint32_t passes)> copy;
  std::function<void(std::size_t, std::uint32_t passes)> step;
  std::function<bool()> copy_is_right;
  std::function<bool()> step_is_right;
};

template <class Queue>
class decode_stand {
public:
  /// `at_once` blocks of the queue run at the same time. The batch outlives the stand.
  decode_stand(Queue queue, std::uint32_t at_once, const decode_batch& batch,
               std::uint32_t threshold)
      : queue_(std::move(queue)), at_once_(at_once), batch_(batch), threshold_(threshold),
        expected_(decode_on_host(batch, threshold)), input_(place(batch.bytes())),
        copied_(memory_for(batch.bytes().size())), output_(memory_for(output_bytes())),
        back_(Queue::memory::allocate(std::max(output_bytes(), batch.bytes().size()))) {
    const batch_view& host = batch.view();
    there_.input = input_.data();
    there_.events = place(host.events);
    there_.fragments = place(host.fragments);
    there_.pieces = place(host.pieces);
    there_.boards = place(host.boards);
    for (const decode_step& s : decode_steps) work_.push_back(place_work(s.how));
  }

  void poison() {
    std::memset(back_.data(), poison_byte, back_.size());
    for (const buffer* b : {&output_, &copied_}) move_in(*b, back_.data(), b->size());
  }
  void copy(std::uint32_t passes) {
    for (std::uint32_t pass = 0; pass < passes; ++pass) {
      if constexpr (Queue::memory::has_device) {
        queue_.copy_within(copied_.data(), input_.data(), batch_.bytes().size());
      } else {
        std::memcpy(copied_.data(), input_.data(), batch_.bytes().size());
      }
    }
    finish();
  }
  void step(std::size_t i, std::uint32_t passes) {
    for (std::uint32_t pass = 0; pass < passes; ++pass)
      run(i, std::make_index_sequence<decode_steps.size()>());
    finish();
  }
  bool copy_is_right() {
    move_back(copied_, batch_.bytes().size());
    return std::memcmp(back_.data(), batch_.bytes().data(), batch_.bytes().size()) == 0;
  }
  bool step_is_right() {
    move_back(output_, output_bytes());
    put_in_order(output_in(back_), batch_.view());
    return std::memcmp(back_.data(), expected_.data(), output_bytes()) == 0;
  }

private:
  template <std::size_t... all>
  void run(std::size_t i, std::index_sequence<all...>) {
    const decoded_batch out = output_in(output_);
    const auto run_this = [&]<std::size_t n>() {
      if (n == i)
        run_decoder<decode_steps[n].how>(queue_, there_, work_[n], threshold_, out, at_once_);
    };
    (run_this.template operator()<all>(), ...);
  }

  void finish() {
    if constexpr (Queue::memory::has_device) {
      queue_.submit();
      if (const std::string error = queue_.finish(); !error.empty())
        throw std::runtime_error(error);
    }
  }

  static buffer memory_for(std::size_t bytes) {
    if constexpr (Queue::memory::has_device) {
      return Queue::memory::allocate_on_device(bytes);
    } else {
      return Queue::memory::allocate(bytes);
    }
  }
  buffer place(std::span<const std::byte> bytes) {
    buffer b = memory_for(std::max<std::size_t>(bytes.size(), 1));
    if (!bytes.empty()) move_in(b, bytes.data(), bytes.size());
    return b;
  }
  template <class T>
  column<const T> place(column<const T> from) {
    tables_.push_back(place(std::as_bytes(std::span(from.data(), from.size()))));
    return {reinterpret_cast<const T*>(tables_.back().data()), from.size()};
  }
  column<const std::uint32_t> place_work(const decode_techniques& how) {
    const std::vector<std::uint32_t> list = decode_work(batch_.view(), how);
    return place(column<const std::uint32_t>(list.data(), static_cast<std::uint32_t>(list.size())));
  }

  [[nodiscard]] std::size_t output_bytes() const {
    region counted;
    static_cast<void>(take_output(counted));
    return counted.used();
  }
  [[nodiscard]] decoded_batch take_output(region& from) const {
    return decoded_batch::take(from, batch_.view().events.size(), batch_.view().boards.size());
  }
  [[nodiscard]] decoded_batch output_in(const buffer& b) const {
    region from(b);
    return take_output(from);
  }
  void move_in(const buffer& to, const std::byte* from, std::size_t n) {
    if constexpr (Queue::memory::has_device) {
      queue_.copy_in(to.data(), from, n);
      finish();
    } else {
      std::memcpy(to.data(), from, n);
    }
  }
  void move_back(const buffer& from, std::size_t n) {
    if constexpr (Queue::memory::has_device) {
      queue_.copy_out(back_.data(), from.data(), n);
      finish();
    } else {
      std::memcpy(back_.data(), from.data(), n);
    }
  }

  Queue queue_;
  std::uint32_t at_once_;
  const decode_batch& batch_;
  std::uint32_t threshold_;
  buffer expected_;
  std::vector<buffer> tables_;
  buffer input_;
  buffer copied_;
  buffer output_;
  buffer back_; // on the host
  batch_view there_;
  std::vector<column<const std::uint32_t>> work_;
};

template <class Queue>
decode_runner make_decode_runner(std::string where, Queue queue, std::uint32_t at_once,
                                 const decode_batch& batch, std::uint32_t threshold) {
  const auto stand =
      std::make_shared<decode_stand<Queue>>(std::move(queue), at_once, batch, threshold);
  return {std::move(where),
          [stand] { stand->poison(); },
          [stand](std::uint32_t passes) { stand->copy(passes); },
          [stand](std::size_t i, std::uint32_t passes) { stand->step(i, passes); },
          [stand] { return stand->copy_is_right(); },
          [stand] { return stand->step_is_right(); }};
}

/// On the CUDA device. Throws std::runtime_error in a program that was built without CUDA.
[[nodiscard]] decode_runner make_cuda_decode_runner(const decode_batch& batch,
                                                    std::uint32_t threshold);

} // namespace l3::bench
