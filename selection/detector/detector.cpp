// SPDX-License-Identifier: Apache-2.0
#include "selection/detector/detector.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace l3 {
namespace {

[[noreturn]] void refuse(std::string_view place, const std::string& text) {
  throw std::runtime_error(std::string(place) + ": " + text);
}

} // namespace

std::string to_string(input_address at) {
  return std::to_string(at.crate) + '/' + std::to_string(at.slot) + '/' +
         std::to_string(at.channel);
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

void detector::claim(input_address at, element e, std::string_view place) {
  if (!exists(at)) refuse(place, "the readout has no input " + to_string(at));
  auto& entry = map_[number_of(at)];
  if (entry.what != element::kind::none)
    refuse(place,
           "input " + to_string(at) + " of " + name_of(e) + " already carries " + name_of(entry));
  entry = e;
}

void detector::add_crystal(const crystal& c, std::string_view place) {
  claim(c.at, {element::kind::crystal, static_cast<std::uint16_t>(crystals_.size()), 0, 0}, place);
  crystals_.push_back(c);
}

void detector::add_veto(veto v, std::string_view place) {
  if (v.inputs.size() != std::size_t{v.modules} * v.ends)
    refuse(place, v.name + " needs " + std::to_string(std::size_t{v.modules} * v.ends) +
                      " inputs and has " + std::to_string(v.inputs.size()));
  v.dead.assign(v.inputs.size(), false);
  const auto index = static_cast<std::uint16_t>(vetoes_.size());
  vetoes_.push_back(std::move(v));
  const auto& added = vetoes_.back();
  for (std::size_t i = 0; i < added.inputs.size(); ++i)
    claim(added.inputs[i],
          {element::kind::veto, index, static_cast<std::uint16_t>(i / added.ends),
           static_cast<std::uint8_t>(i % added.ends)},
          place);
}

void detector::kill(input_address at, std::string_view place) {
  if (!exists(at)) refuse(place, "the readout has no input " + to_string(at));
  const auto& e = map_[number_of(at)];
  switch (e.what) {
  case element::kind::none: refuse(place, "input " + to_string(at) + " carries nothing");
  case element::kind::crystal: crystals_[e.index].dead = true; break;
  case element::kind::veto: {
    auto& v = vetoes_[e.index];
    v.dead[e.module * v.ends + e.end] = true;
    break;
  }
  }
}

void detector::set_trigger_board(input_address board, std::string_view place) {
  board.channel = 0;
  if (!exists(board))
    refuse(place, "the readout has no board " + std::to_string(board.crate) + '/' +
                      std::to_string(board.slot));
  trigger_board_ = board;
}

std::string detector::name_of(const element& e) const {
  switch (e.what) {
  case element::kind::crystal: return "crystal " + std::to_string(e.index);
  case element::kind::veto: {
    const auto& v = vetoes_[e.index];
    auto name = v.name + " module " + std::to_string(e.module);
    return v.ends > 1 ? name + " end " + std::to_string(e.end) : name;
  }
  case element::kind::none: break;
  }
  return "nothing";
}

std::vector<input_address> detector::run_of_inputs(input_address first, std::size_t count,
                                                   std::string_view place) const {
  if (!exists(first)) refuse(place, "the readout has no input " + to_string(first));
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
      refuse(place, std::to_string(count) + " inputs from " + to_string(first) +
                        " on do not fit: the last of their kind is " + to_string(run.back()));
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
