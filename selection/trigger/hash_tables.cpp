// SPDX-License-Identifier: Apache-2.0
#include "selection/trigger/make_tables.hpp"

#include "selection/trigger/line_id.hpp"

namespace l3 {
namespace {

template <class... T>
void add(fnv1a& hash, T... numbers) {
  (hash.add(numbers), ...);
}

void add(fnv1a& hash, const selection_constants& k) {
  add(hash, k.crystal_threshold, k.event_from, k.event_to, k.crystal_from, k.crystal_to);
  add(hash, k.photon_threshold, k.photon_from, k.photon_to, k.photon_scale, k.correction_points);
  for (std::uint32_t p = 0; p < k.correction_points; ++p)
    add(hash, k.correction[p].energy, k.correction[p].lacking);
  add(hash, k.front, k.trigger_board, k.vetoes, k.lines);
}

void add(fnv1a& hash, const input_entry& i) {
  add(hash, i.gain, i.time, i.least_height, i.index, i.time_shift,
      static_cast<std::uint8_t>(i.kind));
}

void add(fnv1a& hash, const veto_entry& v) {
  add(hash, v.threshold, v.from, v.to, v.first_module, v.modules, v.neighbours, v.within);
  add(hash, v.tolerance, v.half_length, v.z_of_time);
}

void add(fnv1a& hash, const line_entry& line) {
  add(hash, line.id, line.prescale, line.vetoes_off, line.vetoes_on);
  add(hash, line.trigger_any, line.trigger_none, line.priority, line.undecodable, line.overfull,
      static_cast<std::uint8_t>(line.unknown), line.ranges);
  for (std::uint32_t r = 0; r < line.ranges; ++r)
    add(hash, line.range[r].from, line.range[r].to, static_cast<std::uint8_t>(line.range[r].what));
}

} // namespace

std::uint32_t hash_of(const host_tables& t, const selection_settings& settings) {
  fnv1a hash;
  for (const auto& name : settings.sequence) {
    hash.add(name.value);
    hash.add("\n");
  }
  add(hash, t.constants);
  for (const auto board : t.first_board) hash.add(board);
  for (const auto& i : t.inputs) add(hash, i);
  for (const auto& c : t.crystals) add(hash, c.x, c.y, c.first_neighbour);
  for (const auto neighbour : t.neighbours) hash.add(neighbour);
  for (const auto& m : t.modules) add(hash, m.veto, m.ends, m.alive);
  for (const auto& v : t.vetoes) add(hash, v);
  for (const auto& a : t.attenuation) add(hash, a.grown, a.shrunk);
  for (const auto& line : t.lines) add(hash, line);
  if (t.constants.record != 0) hash.add("record\n");
  for (const auto& p : t.packed_payloads)
    add(hash, static_cast<std::uint8_t>(p.payload), p.control);
  if (t.constants.levels != 0) hash.add(t.constants.levels);
  return hash.value();
}

} // namespace l3
