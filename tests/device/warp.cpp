// SPDX-License-Identifier: Apache-2.0
// How a group of lanes executes: branches, barriers, and what lanes of a warp tell one another.
#include <algorithm>
#include <bit>

#include "tests/device/machine.hpp"

namespace l3::ptx {

namespace {

std::uint32_t lane_bit(std::uint32_t lane) { return std::uint32_t{1} << lane; }

} // namespace

/// Goes on until the group has done `most` instructions, waits, or another group of the warp may
/// have to go first. The group is named by its index, because others may be added.
std::uint64_t grid_run::machine::run_group(block_state& b, warp& w, std::size_t group,
                                           std::uint64_t most) {
  kernel_counts& counts = what_.counts;
  // Where the next of the other groups stands: this one stops there, so that both go on together.
  std::uint32_t meeting = ~std::uint32_t{0};
  bool others_ready = false;
  for (std::size_t n = 0; n < w.groups.size(); ++n) {
    if (n == group || w.groups[n].state != lane_state::ready) continue;
    others_ready = true;
    if (w.groups[n].at > w.groups[group].at) meeting = std::min(meeting, w.groups[n].at);
  }
  std::uint64_t done = 0;
  while (done < most) {
    lane_group& g = w.groups[group];
    const instruction& i = code_[g.at];
    ++what_.executed[g.at].times;
    const std::uint32_t active = guarded(w, i, g.lanes);
    ++done;
    if (!i.goes_on_with_last) {
      ++counts.warp_instructions;
      counts.lane_instructions += static_cast<std::uint64_t>(std::popcount(active));
    }
    if (others_ready) ++w.in_a_row;
    switch (i.what) {
    case action::compute:
      if (active != 0) i.compute(i, w.rows.data(), active);
      break;
    case action::load:
    case action::store:
    case action::atomic:
      if (active != 0) touch_memory(b, w, i, active);
      break;
    case action::active_mask:
      for_each_lane(active, [&](std::uint32_t lane) { row(w, i.to)[lane] = g.lanes; });
      break;
    case action::nothing: break;
    case action::branch: branch(w, group, i, active); return done;
    case action::trap:
      if (active != 0)
        fault(b, w.first_thread + static_cast<std::uint32_t>(std::countr_zero(active)), i,
              "a trap");
      break;
    case action::exit: end_lanes(b, w, group, active); return done;
    case action::block_barrier: reach_barrier(b, w, group, active); return done;
    case action::warp_barrier:
    case action::shuffle:
    case action::vote:
    case action::warp_reduction:
      if (active == 0) break;
      if (!reach_exchange(b, w, group, active)) return done;
      continue; // it has gone on by itself
    }
    if (++g.at == meeting) {
      if (!how_.is_random || random_() % 2 == 0) merge(w);
      return done;
    }
  }
  return done;
}

/// The lanes that the predicate in front of the instruction lets take part.
std::uint32_t grid_run::machine::guarded(const warp& w, const instruction& i,
                                         std::uint32_t lanes) const {
  if (i.guard == no_row) return lanes;
  const std::uint64_t* const predicate = row(w, i.guard);
  std::uint32_t mask = 0;
  for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
    mask |= static_cast<std::uint32_t>(predicate[lane] & 1) << lane;
  return lanes & (i.guard_negated ? ~mask : mask);
}

void grid_run::machine::branch(warp& w, std::size_t group, const instruction& i,
                               std::uint32_t taken) {
  lane_group& g = w.groups[group];
  if (taken == 0) {
    ++g.at;
  } else if (taken == g.lanes) {
    g.at = i.target;
  } else {
    const lane_group rest{.lanes = g.lanes & ~taken, .at = g.at + 1};
    g = {.lanes = taken, .at = i.target};
    w.groups.push_back(rest);
  }
  if (!how_.is_random || random_() % 2 == 0) merge(w);
}

/// Groups that are ready at the same place become one.
void grid_run::machine::merge(warp& w) {
  for (std::size_t n = 0; n < w.groups.size(); ++n) {
    for (std::size_t m = w.groups.size() - 1; m > n; --m) {
      if (w.groups[n].state != w.groups[m].state || w.groups[n].at != w.groups[m].at ||
          w.groups[n].state == lane_state::at_exchange)
        continue;
      w.groups[n].lanes |= w.groups[m].lanes;
      w.groups.erase(w.groups.begin() + static_cast<std::ptrdiff_t>(m));
      w.in_a_row = 0;
    }
  }
}

void grid_run::machine::end_lanes(block_state& b, warp& w, std::size_t group, std::uint32_t lanes) {
  lane_group& g = w.groups[group];
  ++g.at;
  g.lanes &= ~lanes;
  w.alive &= ~lanes;
  b.alive -= static_cast<std::uint32_t>(std::popcount(lanes));
  if (g.lanes == 0) w.groups.erase(w.groups.begin() + static_cast<std::ptrdiff_t>(group));
  reconsider_exchanges(b, w);
  if (b.waiting != 0 && b.waiting == b.alive) open_barrier(b);
}

// --- the barrier of the block ---

void grid_run::machine::reach_barrier(block_state& b, warp& w, std::size_t group,
                                      std::uint32_t lanes) {
  ++what_.counts.barriers;
  lane_group& g = w.groups[group];
  if (lanes != g.lanes) {
    const lane_group rest{.lanes = g.lanes & ~lanes, .at = g.at + 1};
    g.lanes = lanes;
    w.groups.push_back(rest);
  }
  if (lanes == 0) return;
  w.groups[group].state = lane_state::at_block_barrier;
  b.waiting += static_cast<std::uint32_t>(std::popcount(lanes));
  if (b.waiting == b.alive) open_barrier(b);
}

void grid_run::machine::open_barrier(block_state& b) {
  // All wait: at the same barrier, or the kernel is wrong.
  const lane_group* first = nullptr;
  std::uint32_t yes = 0;
  for (auto& w : b.warps) {
    for (auto& g : w.groups) {
      if (first == nullptr) first = &g;
      const instruction& i = code_[g.at];
      if (g.at != first->at)
        fault(b, w.first_thread + static_cast<std::uint32_t>(std::countr_zero(g.lanes)), i,
              "threads of a block wait at different barriers: others at " +
                  place(code_[first->at]));
      if (i.reduce == reduction::none) continue;
      for_each_lane(g.lanes, [&](std::uint32_t lane) {
        yes += ((row(w, i.from[0])[lane] & 1) != 0) != i.from_negated ? 1U : 0U;
      });
    }
  }
  const instruction& i = code_[first->at];
  const std::uint64_t result = i.reduce == reduction::and_  ? std::uint64_t{yes == b.alive}
                               : i.reduce == reduction::or_ ? std::uint64_t{yes != 0}
                                                            : yes;
  b.waiting = 0;
  for (auto& w : b.warps) {
    for (auto& g : w.groups) {
      if (i.reduce != reduction::none)
        for_each_lane(g.lanes, [&](std::uint32_t lane) { row(w, i.to)[lane] = result; });
      g.state = lane_state::ready;
      ++g.at;
    }
    merge(w);
    const auto lanes = std::min<std::uint32_t>(threads_ - w.first_thread, warp_lanes);
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      b.barrier_clock[w.first_thread + lane] = ++w.clock[lane];
  }
}

// --- barriers, shuffles and votes within a warp ---

/// The mask that a lane gives.
std::uint32_t grid_run::machine::mask_of(const warp& w, const instruction& i,
                                         std::uint32_t lane) const {
  const std::uint32_t mask_row = i.what == action::shuffle        ? i.from[3]
                                 : i.what == action::warp_barrier ? i.from[0]
                                                                  : i.from[1];
  return static_cast<std::uint32_t>(row(w, mask_row)[lane]);
}

/// True: all lanes that the mask names were there, and the group has gone on.
bool grid_run::machine::reach_exchange(block_state& b, warp& w, std::size_t group,
                                       std::uint32_t lanes) {
  const std::uint32_t at = w.groups[group].at;
  const instruction& i = code_[at];
  const auto first = static_cast<std::uint32_t>(std::countr_zero(lanes));
  const std::uint32_t mask = mask_of(w, i, first);
  std::uint32_t same = 0;
  for_each_lane(lanes, [&](std::uint32_t lane) {
    if (mask_of(w, i, lane) == mask) same |= lane_bit(lane);
  });
  if ((same & ~mask) != 0)
    fault(b, w.first_thread + static_cast<std::uint32_t>(std::countr_zero(same & ~mask)), i,
          "a lane is not in its own mask");
  for_each_lane(lanes & ~same, [&](std::uint32_t lane) {
    if (((mask_of(w, i, lane) & same) | (mask & lane_bit(lane))) != 0)
      fault(b, w.first_thread + lane, i, "lanes that name one another give different masks");
  });
  // Lanes that do not take part go on; those with another mask come for themselves.
  const std::uint32_t passing = w.groups[group].lanes & ~lanes;
  if (passing != 0) w.groups.push_back({.lanes = passing, .at = at + 1});
  if (same != lanes) w.groups.push_back({.lanes = lanes & ~same, .at = at});
  w.groups[group].lanes = same;
  if ((mask & w.alive) == same) {
    exchange(b, w, i, same);
    ++w.groups[group].at;
    return w.groups.size() == 1;
  }
  w.groups[group].state = lane_state::at_exchange;
  reconsider_exchanges(b, w);
  return false;
}

/// Lanes that wait for others of their mask at the same instruction go on when all are there.
void grid_run::machine::reconsider_exchanges(block_state& b, warp& w) {
  for (std::size_t n = 0; n < w.groups.size(); ++n) {
    if (w.groups[n].state != lane_state::at_exchange) continue;
    const std::uint32_t at = w.groups[n].at;
    const instruction& i = code_[at];
    const std::uint32_t mask =
        mask_of(w, i, static_cast<std::uint32_t>(std::countr_zero(w.groups[n].lanes)));
    const auto waits_for_the_same = [&](const lane_group& g) {
      return g.state == lane_state::at_exchange && g.at == at &&
             mask_of(w, i, static_cast<std::uint32_t>(std::countr_zero(g.lanes))) == mask;
    };
    std::uint32_t there = 0;
    for (const auto& g : w.groups) there |= waits_for_the_same(g) ? g.lanes : 0;
    if (there != (mask & w.alive)) continue;
    std::erase_if(w.groups, waits_for_the_same);
    exchange(b, w, i, there);
    w.groups.push_back({.lanes = there, .at = at + 1});
    n = ~std::size_t{0}; // once more from the first
  }
}

void grid_run::machine::exchange(block_state& b, warp& w, const instruction& i,
                                 std::uint32_t lanes) {
  for (const auto& g : w.groups) {
    if (g.state != lane_state::at_exchange || &code_[g.at] != &i || (g.lanes & lanes) != 0)
      continue;
    const auto waiting = static_cast<std::uint32_t>(std::countr_zero(g.lanes));
    if ((mask_of(w, i, waiting) & lanes) != 0)
      fault(b, w.first_thread + waiting, i, "lanes that name one another give different masks");
  }
  if (i.what == action::warp_barrier) return order(w, lanes);
  if (i.what == action::shuffle) return shuffle(b, w, i, lanes);
  if (i.what == action::warp_reduction) {
    const std::uint64_t* const values = row(w, i.from[0]);
    auto all = static_cast<std::uint32_t>(values[std::countr_zero(lanes)]);
    for_each_lane(lanes & (lanes - 1), [&](std::uint32_t lane) {
      all = i.join(all, static_cast<std::uint32_t>(values[lane]));
    });
    for_each_lane(lanes, [&](std::uint32_t lane) { row(w, i.to)[lane] = all; });
    return;
  }
  std::uint32_t yes = 0;
  for_each_lane(lanes, [&](std::uint32_t lane) {
    if (((row(w, i.from[0])[lane] & 1) != 0) != i.from_negated) yes |= lane_bit(lane);
  });
  const std::uint64_t result = i.vote == vote_kind::ballot ? yes
                               : i.vote == vote_kind::any  ? std::uint64_t{yes != 0}
                                                           : std::uint64_t{yes == lanes};
  for_each_lane(lanes, [&](std::uint32_t lane) { row(w, i.to)[lane] = result; });
}

/// PTX ISA 9.0, "shfl.sync": the value of another lane, if that lies in the segment.
void grid_run::machine::shuffle(block_state& b, warp& w, const instruction& i,
                                std::uint32_t lanes) {
  std::array<std::uint64_t, warp_lanes> values{};
  for_each_lane(lanes, [&](std::uint32_t lane) { values[lane] = row(w, i.from[0])[lane]; });
  std::array<std::uint64_t, warp_lanes> results{};
  std::uint32_t in_range = 0;
  for_each_lane(lanes, [&](std::uint32_t lane) {
    const auto by = static_cast<std::uint32_t>(row(w, i.from[1])[lane]) & (warp_lanes - 1);
    const auto control = static_cast<std::uint32_t>(row(w, i.from[2])[lane]);
    const std::uint32_t segment = control >> 8 & (warp_lanes - 1);
    const std::uint32_t clamp = control & (warp_lanes - 1);
    const std::uint32_t lowest = lane & segment;
    const std::uint32_t limit = lowest | (clamp & ~segment);
    std::uint32_t from = lane;
    bool inside = false;
    switch (i.shuffle) {
    case shuffle_kind::up:
      from = lane - by;
      inside = static_cast<std::int32_t>(from) >= static_cast<std::int32_t>(limit);
      break;
    case shuffle_kind::down:
      from = lane + by;
      inside = from <= limit;
      break;
    case shuffle_kind::across:
      from = lane ^ by;
      inside = from <= limit;
      break;
    case shuffle_kind::index:
      from = lowest | (by & ~segment);
      inside = from <= limit;
      break;
    }
    if (inside)
      in_range |= lane_bit(lane);
    else
      from = lane;
    if ((lanes >> from & 1) == 0)
      fault(b, w.first_thread + lane, i,
            "a shuffle reads lane " + std::to_string(from) + ", which does not take part");
    results[lane] = static_cast<std::uint32_t>(values[from]);
  });
  for_each_lane(lanes, [&](std::uint32_t lane) {
    row(w, i.to)[lane] = results[lane];
    if (i.second_to != no_row) row(w, i.second_to)[lane] = in_range >> lane & 1;
  });
}

/// What these lanes did before, and knew of, is ordered before what they do now.
void grid_run::machine::order(warp& w, std::uint32_t lanes) {
  std::array<std::uint32_t, warp_lanes> joined{};
  for_each_lane(lanes, [&](std::uint32_t lane) {
    for (std::uint32_t about = 0; about < warp_lanes; ++about)
      joined[about] = std::max(joined[about], w.known[lane][about]);
  });
  for_each_lane(lanes, [&](std::uint32_t lane) { joined[lane] = ++w.clock[lane]; });
  for_each_lane(lanes, [&](std::uint32_t lane) { w.known[lane] = joined; });
}

} // namespace l3::ptx
