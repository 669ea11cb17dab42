// SPDX-License-Identifier: Apache-2.0
// A run of the simulator: writes spills of events into a file of level-2 data, and their truth into
// another. An event depends only on the seed and its key, so the files are the same for any number
// of threads.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "selection/detector/random.hpp"
#include "tools/pending_file.hpp"
#include "tools/simulation/event_maker.hpp"
#include "tools/simulation/front_end.hpp"
#include "tools/simulation/truth_file.hpp"
#include "transport/file/l2raw.hpp"

namespace l3 {

/// The times and types of a spill's triggers. The beam is on for 2 s of a cycle of 4.24 s. During
/// this time triggers are a Poisson process, whose rate the beam's micro-structure changes between
/// × 0.3 and × 3. Any number of events is spread over the whole spill: 50 000 give the nominal 25
/// kHz, fewer are a node's share.
inline constexpr std::chrono::nanoseconds spill_beam_on = std::chrono::milliseconds(2000);
inline constexpr std::chrono::nanoseconds spill_cycle = std::chrono::milliseconds(4240);

struct planned_event {
  std::chrono::nanoseconds since_spill{};
  event_type type = event_type::clock;
  bool on_spill = true;
};

/// The triggers by time, of the usual mixture, or all of one type.
[[nodiscard]] std::vector<planned_event> plan_spill(std::uint32_t events, random_source random,
                                                    std::optional<event_type> only = {});

struct simulation_settings {
  std::uint32_t events = 1000; ///< in all spills together
  std::uint32_t spills = 1;
  std::uint64_t seed = 1;
  unsigned threads = 1;
  const recordings* waveforms = nullptr; ///< instead of simulated ones
  std::optional<event_type> only = {};   ///< instead of the usual mixture
  simulated_effects effects = {};
  /// Each event is made again until this returns true; empty accepts any event.
  std::function<bool(const true_event&)> wanted = {};
};

/// Number of events of each type.
using type_counts = std::array<std::uint64_t, static_cast<std::size_t>(event_type::count_)>;

class simulation {
public:
  simulation(const detector& d, const simulation_settings& settings);

  /// Calls `tell` with the number of events written so far. Throws if a file cannot be written.
  type_counts run(l2raw_writer& data, whole_file& truth,
                  const std::function<void(std::uint64_t)>& tell);

private:
  struct made_event {
    std::vector<std::byte> bytes;
    true_event event;
    std::string truth;
  };

  void make(event_maker& maker, const planned_event& plan, event_key key, made_event& out) const;
  [[nodiscard]] std::uint32_t events_of(std::uint32_t spill) const;

  const detector& detector_;
  simulation_settings settings_;
  front_end front_end_;
  std::vector<event_maker> makers_; // one per thread
  std::vector<made_event> slots_;
};

} // namespace l3
