// SPDX-License-Identifier: Apache-2.0
// A batch pool that takes submitted batches apart at once: what events came out, with which bytes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/transport/building/level2.hpp"
#include "transport/building/held_batches.hpp"
#include "transport/format/batch_capacity.hpp"
#include "transport/format/event_key.hpp"

namespace l3::test {

struct received_fragment {
  bytes content;
  bool raw = false;
  std::uint32_t boards = 0;
};

struct received_event {
  std::uint64_t serial = 0;
  std::uint32_t flags = 0;
  std::uint32_t boards = 0;
  std::uint32_t reference_time = 0;
  std::map<std::uint32_t, received_fragment> fragments; ///< by place of the crate
};

class fake_pool final : public batch_pool {
public:
  fake_pool(const batch_capacity& capacity, std::size_t batches) : frames_(batches) {
    for (auto& f : frames_) {
      f.memory.resize(capacity.bytes);
      f.events.resize(capacity.events);
      f.fragments.resize(capacity.fragments);
      f.pieces.resize(capacity.pieces);
      f.boards.resize(capacity.boards);
      f.batch = {0, f.memory, f.events, f.fragments, f.pieces, f.boards};
    }
  }

  input_batch* try_take() override {
    const std::lock_guard lock(mutex_);
    ++asked;
    for (auto& f : frames_) {
      if (f.taken || stopped_) continue;
      f.taken = true;
      f.batch.clear();
      f.batch.serial = ++serial_;
      std::memset(f.memory.data(), 0xee, f.memory.size());
      return &f.batch;
    }
    return nullptr;
  }

  void submit(input_batch& b) override { take_apart(b); }

  [[nodiscard]] bool idle() const override {
    const std::lock_guard lock(mutex_);
    return std::ranges::none_of(
        frames_, [this](const frame& f) { return f.taken && f.batch.serial <= submitted_; });
  }

  /// Submitted batches do not become free.
  void hold(bool on) {
    const std::lock_guard lock(mutex_);
    hold_ = on;
    for (auto& f : frames_) {
      if (!on && f.batch.serial <= submitted_) f.taken = false;
    }
  }
  /// No batch is free from now on.
  void stop(bool on) {
    const std::lock_guard lock(mutex_);
    stopped_ = on;
  }

  [[nodiscard]] std::uint64_t submitted() const {
    const std::lock_guard lock(mutex_);
    return submitted_;
  }
  [[nodiscard]] std::size_t events() const {
    const std::lock_guard lock(mutex_);
    return received.size();
  }

  std::map<event_key, received_event> received; ///< read it when nothing runs
  std::uint64_t asked = 0;                      ///< how often for a batch
  std::uint64_t twice = 0;                      ///< events that came out more than once

private:
  struct frame {
    bytes memory;
    std::vector<event_entry> events;
    std::vector<fragment_entry> fragments;
    std::vector<piece_offset> pieces;
    std::vector<board_entry> boards;
    input_batch batch;
    bool taken = false;
  };

  void take_apart(input_batch& b) {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(b.serial, ++submitted_) << "batches go in order";
    EXPECT_LE(b.used_bytes, b.bytes.size());
    for (std::uint32_t e = 0; e < b.used_events; ++e) keep(b, e);
    if (hold_) return;
    for (auto& f : frames_) {
      if (&f.batch == &b) f.taken = false;
    }
  }

  void keep(const input_batch& b, std::uint32_t index) {
    const auto& e = b.events[index];
    received_event out;
    out.serial = b.serial;
    out.flags = e.flags;
    out.boards = e.boards;
    out.reference_time = e.reference_time;
    EXPECT_LE(e.first_fragment + e.fragments, b.used_fragments);
    EXPECT_LE(e.first_board + e.boards, b.used_boards);
    std::uint32_t boards = 0;
    int crate_before = -1;
    for (std::uint32_t i = e.first_fragment; i < e.first_fragment + e.fragments; ++i) {
      const auto& f = b.fragments[i];
      EXPECT_GT(int{f.crate}, crate_before) << "fragments in rising crate order";
      crate_before = f.crate;
      received_fragment r;
      r.raw = f.raw != 0;
      r.boards = f.boards;
      for (std::uint32_t at = 0; at < f.bytes; ++at)
        r.content.push_back(*byte_of(b.bytes.data(), b.pieces.data(), f, at));
      EXPECT_EQ(f.first_board, e.first_board + boards);
      for (const board_entry& board : b.boards.subspan(f.first_board, f.boards))
        EXPECT_LE(board.offset + board.bytes + 4U, f.bytes);
      boards += f.boards;
      out.fragments[f.crate] = std::move(r);
    }
    EXPECT_EQ(boards, e.boards);
    if (!received.emplace(event_key{e.spill, e.number}, std::move(out)).second) ++twice;
  }

  mutable std::mutex mutex_;
  std::vector<frame> frames_;
  std::uint64_t serial_ = 0;
  std::uint64_t submitted_ = 0;
  bool hold_ = false;
  bool stopped_ = false;
};

} // namespace l3::test
