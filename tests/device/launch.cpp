// SPDX-License-Identifier: Apache-2.0
#include "tests/device/launch.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

#include "tests/device/machine.hpp"

namespace l3::ptx {

namespace {

/// Unless a group of lanes comes to its end or to a barrier in so many instructions, another group
/// of its warp has a turn: it may be waiting for that one.
constexpr std::uint64_t patience = 1 << 16;
constexpr std::uint64_t longest_random_turn = 64;

/// Numbers of blocks are never used twice: an access log tells launches apart by them.
std::uint32_t take_ids(std::uint32_t blocks) {
  static std::atomic<std::uint32_t> next{1};
  return next.fetch_add(blocks);
}

} // namespace

grid_run::grid_run(loaded_kernel& what, std::uint32_t blocks, std::uint32_t threads,
                   std::vector<std::byte> parameters, device_memory& memory, const schedule& how)
    : machine_(
          std::make_unique<machine>(what, blocks, threads, std::move(parameters), memory, how)) {}

grid_run::~grid_run() = default;

bool grid_run::step(std::uint64_t instructions) { return machine_->step(instructions); }

void leave_out(loaded_kernel& of, std::size_t at) {
  instruction& i = of.code.code.at(at);
  if (!is_barrier(i)) throw std::invalid_argument("no barrier: " + i.text);
  i.what = action::nothing;
}

grid_run::machine::machine(loaded_kernel& what, std::uint32_t blocks, std::uint32_t threads,
                           std::vector<std::byte> parameters, device_memory& memory,
                           const schedule& how)
    : what_(what), code_(what.code.code), blocks_(blocks), threads_(threads),
      parameters_(std::move(parameters)), memory_(memory), how_(how), random_(how.seed),
      first_id_(take_ids(blocks)) {
  if (threads == 0 || threads > what.code.widest_block)
    throw device_fault(what.code.name + " was launched with " + std::to_string(threads) +
                       " threads a block; it allows " + std::to_string(what.code.widest_block));
  what_.executed.resize(code_.size());
  ++what_.counts.launches;
  what_.counts.blocks += blocks;
}

bool grid_run::machine::step(std::uint64_t instructions) {
  for (std::uint64_t done = 0; done < instructions;) {
    begin_blocks();
    if (resident_.empty()) return false;
    const std::uint64_t more = run_some_block(instructions - done);
    done += more;
    done_ += more;
    if (how_.most_instructions != 0 && done_ > how_.most_instructions)
      throw device_fault(what_.code.name + " has not ended after " + std::to_string(done_) +
                         " instructions");
  }
  return true;
}

void grid_run::machine::begin_blocks() {
  while (next_block_ < blocks_ && resident_.size() < std::max(how_.resident_blocks, 1U)) {
    if (unused_.empty()) unused_.push_back(std::make_unique<block_state>());
    begin_block(*unused_.back(), next_block_++);
    resident_.push_back(std::move(unused_.back()));
    unused_.pop_back();
  }
}

void grid_run::machine::begin_block(block_state& b, std::uint32_t index) {
  b.index = index;
  b.id = first_id_ + index;
  b.alive = threads_;
  b.waiting = 0;
  b.barrier_clock.assign(threads_, 0);
  if (b.warps.empty()) {
    b.shared.resize(what_.code.shared_bytes);
    b.shared_log = access_log(what_.code.shared_bytes);
    b.warps.resize((threads_ + warp_lanes - 1) / warp_lanes);
  }
  // What a block has not written is nothing that it may hope for.
  constexpr std::uint32_t some = 0xa5;
  std::ranges::fill(b.shared, static_cast<std::byte>(some + index));
  for (std::uint32_t n = 0; n < b.warps.size(); ++n) {
    warp& w = b.warps[n];
    w.first_thread = n * warp_lanes;
    const std::uint32_t lanes = std::min(threads_ - w.first_thread, warp_lanes);
    w.alive = lanes == warp_lanes ? ~std::uint32_t{0} : (std::uint32_t{1} << lanes) - 1;
    w.groups.assign(1, {.lanes = w.alive});
    w.in_a_row = 0;
    w.clock = {};
    w.known = {};
    w.rows.resize(std::size_t{what_.code.rows} * warp_lanes);
    for (const auto& c : what_.code.constants) std::fill_n(row(w, c.row), warp_lanes, c.value);
    for (const auto& s : what_.code.specials) {
      for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
        std::uint64_t& value = row(w, s.row)[lane];
        switch (s.what) {
        case special::tid_x: value = w.first_thread + lane; break;
        case special::ntid_x: value = threads_; break;
        case special::ctaid_x: value = index; break;
        case special::nctaid_x: value = blocks_; break;
        case special::lane_id: value = lane; break;
        case special::lanemask_lt: value = (std::uint32_t{1} << lane) - 1; break;
        case special::lanemask_le: value = (std::uint64_t{2} << lane) - 1; break;
        case special::lanemask_eq: value = std::uint32_t{1} << lane; break;
        case special::lanemask_ge: value = ~std::uint32_t{0} << lane; break;
        case special::lanemask_gt: value = (~std::uint32_t{0} << lane) << 1; break;
        case special::warp_id: value = n; break;
        }
      }
    }
  }
}

/// One turn of one group of lanes. Returns the number of instructions that it executed.
std::uint64_t grid_run::machine::run_some_block(std::uint64_t most) {
  if (how_.is_random) turn_ = random_() % resident_.size();
  for (std::size_t tried = 0; tried < resident_.size(); ++tried) {
    turn_ %= resident_.size();
    block_state& b = *resident_[turn_];
    const std::size_t first = how_.is_random ? random_() % b.warps.size() : 0;
    for (std::size_t n = 0; n < b.warps.size(); ++n) {
      warp& w = b.warps[(first + n) % b.warps.size()];
      lane_group* const g = choose_group(w);
      if (g == nullptr) continue;
      const auto chosen = static_cast<std::size_t>(g - w.groups.data());
      if (how_.is_random) {
        split_at_random(w, chosen);
        most = std::min(most, 1 + random_() % longest_random_turn);
      }
      const std::uint64_t done = run_group(b, w, chosen, most);
      if (b.alive == 0) {
        unused_.push_back(std::move(resident_[turn_]));
        resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(turn_));
      }
      return done;
    }
    ++turn_; // all of its threads wait
  }
  deadlock();
}

/// Null: none is ready. In the converged schedule it is the group that is furthest behind, so that
/// the others are caught up with where their ways meet.
lane_group* grid_run::machine::choose_group(warp& w) {
  lane_group* chosen = nullptr;
  std::uint32_t ready = 0;
  for (auto& g : w.groups) {
    if (g.state != lane_state::ready) continue;
    ++ready;
    const bool better = how_.is_random          ? random_() % ready == 0
                        : w.in_a_row < patience ? chosen == nullptr || g.at < chosen->at
                                                : chosen == nullptr || g.at > chosen->at;
    if (better) chosen = &g;
  }
  if (ready < 2 || w.in_a_row >= 2 * patience) w.in_a_row = 0;
  return chosen;
}

/// Lanes drift apart, as they may from sm_70 on.
void grid_run::machine::split_at_random(warp& w, std::size_t group) {
  constexpr std::uint64_t seldom = 16;
  if (random_() % seldom != 0) return;
  lane_group rest = w.groups[group];
  const auto some = static_cast<std::uint32_t>(random_()) & rest.lanes;
  if (some == 0 || some == rest.lanes) return;
  w.groups[group].lanes = some;
  rest.lanes &= ~some;
  w.groups.push_back(rest);
}

void grid_run::machine::deadlock() const {
  std::string text = what_.code.name + ": deadlock.";
  for (const auto& b : resident_) {
    for (const auto& w : b->warps) {
      for (const auto& g : w.groups)
        text += "\n  block " + std::to_string(b->index) + ", threads from " +
                std::to_string(w.first_thread) + ", lanes " + std::to_string(g.lanes) +
                " wait at " + place(code_[g.at]);
    }
  }
  throw device_fault(text);
}

std::string place_of(const program& p, const source_line& at) {
  const bool is_known = at.file >= 1 && at.file <= p.files.size();
  return (is_known ? p.files[at.file - 1] : "?") + ":" + std::to_string(at.line);
}

std::string grid_run::machine::place(const instruction& i) const {
  return place_of(*what_.of, i.line) + " (" + i.text + ")";
}

void grid_run::machine::fault(const block_state& b, std::uint32_t thread, const instruction& i,
                              const std::string& what) const {
  throw device_fault(what_.code.name + ", block " + std::to_string(b.index) + ", thread " +
                     std::to_string(thread) + ": " + what + " at " + place(i));
}

} // namespace l3::ptx
