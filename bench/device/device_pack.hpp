// SPDX-License-Identifier: Apache-2.0
// Packing of everything within the memory of a device: both forms of ours, and the two kernels that
// KOTO began with, beside a copy within that memory. More bytes than any cache holds; every output,
// the copy's too, is poisoned before and compared after.
//
// Written for any queue, so that an imagined device can show that every output is looked at.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/device/first_kernels.hpp"
#include "bench/device/host_reference.hpp"
#include "selection/engine/frame_parts.hpp"
#include "selection/packing/one_pass_plan.hpp"
#include "selection/packing/two_pass_plan.hpp"

namespace l3::bench {

struct device_pack_row {
  std::string name;
  std::uint64_t input_bytes = 0; ///< that were packed or copied in each of the seconds
  std::uint64_t traffic = 0;     ///< read once and written once
  std::vector<double> seconds{};
  bool right = true;
  bool first_kernel = false; ///< that gains are quoted against
};

/// What has to come out, made on the host.
struct device_pack_expected {
  explicit device_pack_expected(const decode_batch& batch);

  [[nodiscard]] std::uint32_t waveforms() const {
    return static_cast<std::uint32_t>(samples.size() / koto::record_samples);
  }

  std::vector<std::byte> packed;      ///< events
  std::vector<std::uint16_t> samples; ///< of all boards, decoded
  std::vector<std::byte> slots;       ///< records as the first kernels leave them, poison between
  std::uint64_t record_bytes = 0;     ///< of the records alone
};

/// The same waveforms packed by one core, with the best instructions that it has.
[[nodiscard]] device_pack_row pack_on_one_core(const device_pack_expected& expected,
                                               std::uint32_t rounds);

template <class Queue>
class device_pack {
public:
  device_pack(Queue queue, const decode_batch& batch, const device_pack_expected& expected)
      : queue_(std::move(queue)), packets_(batch.bytes()), expected_(expected),
        input_(place(packets_.data(), packets_.size())),
        samples_(place(expected.samples.data(), expected.samples.size() * sizeof(std::uint16_t))),
        output_(memory::allocate_on_device(
            std::max({packets_.size(), expected.packed.size(), expected.slots.size()}))),
        back_(memory::allocate(output_.size())) {
    const batch_view& host = batch.view();
    there_ = {input_.data(), place(host.events), place(host.fragments), place(host.pieces),
              place(host.boards)};
    capacity_ = {host.events.size(), host.fragments.size(), host.pieces.size(), host.boards.size(),
                 batch.bytes().size()};
    region counted;
    take(counted);
    arena_ = memory::allocate_on_device(counted.used());
    region from(arena_);
    take(from);
  }

  std::vector<device_pack_row> run(std::uint32_t rounds) {
    const output_view out{output_.data(), output_.size()};
    const waveform_slots slots{reinterpret_cast<const std::uint16_t*>(samples_.data()),
                               expected_.waveforms(), output_.data()};
    const std::uint64_t packets = packets_.size();
    const std::uint64_t waveforms = samples_.size();
    const std::uint64_t packed = packets + expected_.packed.size();
    const std::uint64_t records = waveforms + expected_.record_bytes;
    const std::vector<task> tasks = {
        {{"copy of the packets", packets, 2 * packets},
         packets_,
         [this] { queue_.copy_within(output_.data(), input_.data(), packets_.size()); }},
        {{"in one pass", packets, packed},
         expected_.packed,
         [&] { one_pass_plan::run(queue_, there_, columns_, out, summary_); }},
        {{"measure, select, place, pack", packets, packed},
         expected_.packed,
         [&] { two_pass_plan<keep_all>::run(queue_, there_, columns_.frame, out, summary_); }},
        {{"a block a waveform, a thread a byte", waveforms, records, {}, true, true},
         expected_.slots,
         [&] { queue_.run(pack_by_blocks{}, slots.waveforms, slots); }},
        {{"a thread a waveform", waveforms, records, {}, true, true},
         expected_.slots,
         [&] { queue_.run(pack_by_threads{}, pack_by_threads::blocks(slots), slots); }},
    };
    std::vector<device_pack_row> rows;
    for (const task& t : tasks) rows.push_back(t.row);
    constexpr std::uint32_t warming_rounds = 1;
    for (std::uint32_t round = 0; round < warming_rounds + rounds; ++round) {
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        poison();
        const auto begin = std::chrono::steady_clock::now();
        for (std::uint32_t pass = 0; pass < passes; ++pass) tasks[i].enqueue();
        finish();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        rows[i].right = rows[i].right && is_right(tasks[i].expected);
        if (round >= warming_rounds) rows[i].seconds.push_back(took.count() / passes);
      }
    }
    return rows;
  }

private:
  using memory = typename Queue::memory;

  struct task {
    device_pack_row row;
    std::span<const std::byte> expected;
    std::function<void()> enqueue;
  };

  /// In one timing: waking the host is then no part of it.
  static constexpr std::uint32_t passes = 16;

  void take(region& from) {
    results_ = from.take<event_result>(capacity_.events);
    summary_ = from.take<frame_summary>(1).data();
    columns_ = one_pass_columns::take(from, capacity_, results_);
  }

  buffer place(const void* from, std::size_t n) {
    buffer b = memory::allocate_on_device(n);
    queue_.copy_in(b.data(), from, n);
    finish();
    return b;
  }
  template <class T>
  column<const T> place(column<const T> from) {
    tables_.push_back(place(from.data(), from.size() * sizeof(T)));
    return {reinterpret_cast<const T*>(tables_.back().data()), from.size()};
  }

  void poison() {
    std::memset(back_.data(), poison_byte, back_.size());
    queue_.copy_in(output_.data(), back_.data(), back_.size());
    finish();
  }
  bool is_right(std::span<const std::byte> expected) {
    queue_.copy_out(back_.data(), output_.data(), expected.size());
    finish();
    return std::memcmp(back_.data(), expected.data(), expected.size()) == 0;
  }
  void finish() {
    queue_.submit();
    if (const std::string error = queue_.finish(); !error.empty()) throw std::runtime_error(error);
  }

  Queue queue_;
  std::span<const std::byte> packets_;
  const device_pack_expected& expected_;
  std::vector<buffer> tables_;
  buffer input_;
  buffer samples_;
  buffer output_;
  buffer back_; // on the host
  buffer arena_;
  batch_capacity capacity_;
  batch_view there_;
  column<event_result> results_;
  frame_summary* summary_ = nullptr;
  one_pass_columns columns_; // those of the other plan are a part of them
};

/// Of the CUDA device; nothing in a program that was built without CUDA.
[[nodiscard]] std::string device_name();

/// On it; likewise.
[[nodiscard]] std::vector<device_pack_row>
cuda_pack(const decode_batch& batch, const device_pack_expected& expected, std::uint32_t rounds);

} // namespace l3::bench
