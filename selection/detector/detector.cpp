// SPDX-License-Identifier: Apache-2.0
#include "selection/detector/detector.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace l3 {
namespace {

template <class... Parts>
[[noreturn]] void refuse(fmt::format_string<Parts...> text, Parts&&... parts) {
  throw std::runtime_error(fmt::format(text, std::forward<Parts>(parts)...));
}

} // namespace

std::string to_string(input_address at) {
  return fmt::format("{}/{}/{}", at.crate, at.slot, at.channel);
}

detector::detector(readout crates) : crates_(std::move(crates)), map_(input_count()) {
  std::uint32_t board = 0;
  for (const auto& c : crates_.crates) {
    first_board_.push_back(board);
    board += c.boards;
  }
}

const crate_readout* detector::crate(std::uint8_t number) const {
  const auto found = std::find_if(crates_.crates.begin(), crates_.crates.end(),
                                  [number](const auto& c) { return c.number == number; });
  return found == crates_.crates.end() ? nullptr : &*found;
}

bool detector::exists(input_address at) const {
  const auto* c = crate(at.crate);
  return c != nullptr && at.slot >= l2::first_slot && at.slot < l2::first_slot + c->boards &&
         at.channel < channels_of(c->kind);
}

std::uint32_t detector::number_of(input_address at) const {
  const auto place = static_cast<std::size_t>(crate(at.crate) - crates_.crates.data());
  const auto board = first_board_[place] + at.slot - l2::first_slot;
  return board * inputs_per_board + at.channel;
}

input_address detector::address_of(const element& e) const {
  if (e.what == element::kind::crystal) return crystals_[e.index].at;
  const veto& v = vetoes_[e.index];
  return v.inputs[e.module * v.ends + e.end];
}

void detector::claim(input_address at, element e) {
  if (!exists(at)) refuse("the readout has no input {}", to_string(at));
  auto& entry = map_[number_of(at)];
  if (entry.what != element::kind::none)
    refuse("input {} of {} is already connected to {}", to_string(at), name_of(e), name_of(entry));
  entry = e;
}

void detector::add_crystal(const crystal& c) {
  claim(c.at, {element::kind::crystal, static_cast<std::uint16_t>(crystals_.size()), 0, 0});
  crystals_.push_back(c);
}

void detector::add_veto(veto v) {
  if (v.inputs.size() != std::size_t{v.modules} * v.ends)
    refuse("{} needs {} inputs but has {}", v.name, std::size_t{v.modules} * v.ends,
           v.inputs.size());
  v.dead.assign(v.inputs.size(), false);
  const auto index = static_cast<std::uint16_t>(vetoes_.size());
  vetoes_.push_back(std::move(v));
  const auto& added = vetoes_.back();
  for (std::size_t i = 0; i < added.inputs.size(); ++i)
    claim(added.inputs[i], {element::kind::veto, index, static_cast<std::uint16_t>(i / added.ends),
                            static_cast<std::uint8_t>(i % added.ends)});
}

void detector::kill(input_address at) {
  if (!exists(at)) refuse("the readout has no input {}", to_string(at));
  const auto& e = map_[number_of(at)];
  switch (e.what) {
  case element::kind::none: refuse("input {} is not connected", to_string(at));
  case element::kind::crystal: crystals_[e.index].dead = true; break;
  case element::kind::veto: {
    auto& v = vetoes_[e.index];
    v.dead[e.module * v.ends + e.end] = true;
    break;
  }
  }
}

void detector::set_trigger_board(input_address board) {
  board.channel = 0;
  if (!exists(board)) refuse("the readout has no board {}/{}", board.crate, board.slot);
  trigger_board_ = board;
}

std::string detector::name_of(const element& e) const {
  switch (e.what) {
  case element::kind::crystal: return fmt::format("crystal {}", e.index);
  case element::kind::veto: {
    const auto& v = vetoes_[e.index];
    return v.ends > 1 ? fmt::format("{} module {} end {}", v.name, e.module, e.end)
                      : fmt::format("{} module {}", v.name, e.module);
  }
  case element::kind::none: break;
  }
  return "nothing";
}

std::vector<input_address> detector::run_of_inputs(input_address first, std::size_t count) const {
  if (!exists(first)) refuse("the readout has no input {}", to_string(first));
  std::vector<input_address> run;
  const auto* c = crate(first.crate);
  const auto kind = c->kind;
  for (auto at = first; run.size() < count;) {
    run.push_back(at);
    if (++at.channel < channels_of(kind)) continue;
    at.channel = 0;
    if (++at.slot < l2::first_slot + c->boards) continue;
    ++c;
    const bool more = c != crates_.crates.data() + crates_.crates.size() && c->kind == kind;
    if (!more && run.size() < count)
      refuse("{} inputs from {} on do not fit: the last of their kind is {}", count,
             to_string(first), to_string(run.back()));
    if (more) at = {c->number, l2::first_slot, 0};
  }
  return run;
}

std::vector<crystal_place> calorimeter_places(const calorimeter_rules& r) {
  std::vector<crystal_place> places;
  const double half = r.columns * r.small_size / 2;
  const double hole = r.hole_columns * r.small_size / 2;
  const int tiles = r.columns / r.tile_columns;
  for (int tile = 0; tile < tiles * tiles; ++tile) {
    for (int i = 0; i < r.tile_columns * r.tile_columns; ++i) {
      const int column = tile % tiles * r.tile_columns + i % r.tile_columns;
      const int row = tile / tiles * r.tile_columns + i / r.tile_columns;
      const double x = (column + 0.5) * r.small_size - half;
      const double y = (row + 0.5) * r.small_size - half;
      if (std::abs(x) > hole || std::abs(y) > hole) places.push_back({x, y, r.small_size});
    }
  }
  const int rows = static_cast<int>(std::ceil(r.large_radius / r.large_size));
  for (int row = -rows; row < rows; ++row) {
    for (int column = -rows; column < rows; ++column) {
      const double x = (column + 0.5) * r.large_size;
      const double y = (row + 0.5) * r.large_size;
      const bool outside_square = std::abs(x) > half || std::abs(y) > half;
      if (outside_square && x * x + y * y <= r.large_radius * r.large_radius)
        places.push_back({x, y, r.large_size});
    }
  }
  return places;
}

} // namespace l3
