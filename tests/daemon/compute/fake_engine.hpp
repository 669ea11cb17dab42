// SPDX-License-Identifier: Apache-2.0
// An engine for tests: its frames are plain memory, and a function of the test makes each result.
// It can be told to fail.
#pragma once

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "selection/engine/engine.hpp"

namespace l3::test {

class fake_engine final : public engine {
public:
  /// Packs every event as `bytes` bytes that begin with its number.
  fake_engine(std::uint32_t frames, std::uint32_t events, std::uint32_t bytes) : bytes_(bytes) {
    name_ = "fake";
    for (std::uint32_t i = 0; i < frames; ++i) {
      auto f = std::make_unique<own_frame>();
      f->index = i;
      f->events.resize(events);
      f->input.events = f->events;
      f->packed.resize(std::size_t{events} * bytes);
      f->decided.resize(events);
      frames_.push_back(f.get());
      owned_.push_back(std::move(f));
    }
  }

  void start(frame&) override { ++started; }
  [[nodiscard]] bool at_rest(const frame&) const override { return true; }
  [[nodiscard]] bool restart(frame&) override { return true; }
  [[nodiscard]] bool reads_input(const frame& f) const override { return reads(f); }
  [[nodiscard]] frame_outcome wait_for(frame& f, std::chrono::nanoseconds limit) override {
    if (hangs(f)) {
      std::this_thread::sleep_for(limit);
      return frame_outcome::not_yet;
    }
    if (fails(f)) {
      f.error = "the device fell off the bus";
      return frame_outcome::failed;
    }
    auto& own = static_cast<own_frame&>(f);
    for (std::uint32_t e = 0; e < f.input.used_events; ++e) {
      event_result r;
      r.offset = std::uint64_t{e} * bytes_;
      r.bytes = bytes_;
      r.original_bytes = 3 * bytes_;
      r.kept = keeps(f.input.events[e]);
      own.decided[e] = r;
      std::memcpy(own.packed.data() + r.offset, &f.input.events[e].number, sizeof(std::uint32_t));
    }
    f.results = {own.decided.data(), f.input.used_events};
    f.output = own.packed;
    return frame_outcome::done;
  }

  std::function<bool(const frame&)> hangs = [](const frame&) { return false; };
  std::function<bool(const frame&)> fails = [](const frame&) { return false; };
  std::function<bool(const frame&)> reads = [](const frame&) { return false; };
  std::function<bool(const event_entry&)> keeps = [](const event_entry&) { return true; };
  int started = 0;

private:
  struct own_frame : frame {
    std::vector<event_entry> events;
    std::vector<std::byte> packed;
    std::vector<event_result> decided;
  };
  std::uint32_t bytes_;
  std::vector<std::unique_ptr<own_frame>> owned_;
};

} // namespace l3::test
