// SPDX-License-Identifier: Apache-2.0
#include "daemon/memory_plan.hpp"

#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "daemon/compute/compute_side.hpp"
#include "daemon/compute/histogram_book.hpp"
#include "daemon/compute/shadow_menu.hpp"
#include "daemon/words.hpp"
#include "monitor/version.hpp"
#include "transport/building/event_builder.hpp"
#include "transport/format/payload.hpp"
#include "transport/input/tcp_receiver.hpp"
#include "transport/outbox/outbox.hpp"
#include "transport/outbox/spilling_outbox.hpp"

namespace l3 {

std::size_t largest_packed_event(const readout& crates) {
  return crates.size() * (l2::max_fragment_bytes + sizeof(packed_fragment)) +
         crates.boards() * sizeof(packed_board) + 2 * sizeof(packed_event) +
         packed_summary_bytes(max_lines, max_summary_photons, max_summary_hits) +
         packed_payload_bytes(max_lines);
}

std::string wrong_with_outbox(const daemon_settings& s) {
  const std::uint64_t needed = 2 * std::uint64_t{largest_packed_event(s.building.crates)};
  if (s.outbox.memory.bytes >= needed) return {};
  return fmt::format(
      "outbox.memory is too small: it must hold two events, which take {} with this readout.crates",
      size_in_words(needed));
}

std::vector<std::byte> decided_by(const daemon_settings& s,
                                  const std::optional<loaded_selection>& selection) {
  recorded_settings all;
  if (selection) all = selection->recorded;
  all.crates = s.building.crates;
  all.software = "koto-l3d " + std::string(version());
  auto bytes = encode(all);
  if (bytes.size() > max_settings_bytes)
    throw std::runtime_error(
        fmt::format("selection.lines, selection.detector and selection.calibration together have "
                    "{} bytes; a store has room for {}: make them shorter",
                    bytes.size(), max_settings_bytes));
  return bytes;
}

std::size_t histogram_inputs(const daemon_settings& s,
                             const std::optional<loaded_selection>& selection) {
  return selection && s.histograms.one_in != 0 ? selection->what.input_count() : 0;
}

std::vector<memory_use> memory_beside_engines(const daemon_settings& s,
                                              const std::optional<loaded_selection>& selection,
                                              std::optional<std::size_t> shadow_bytes,
                                              const spool* disk) {
  std::vector<memory_use> all;
  const batch_capacity frame = frame_capacity(s);
  const std::size_t inputs = histogram_inputs(s, selection);
  if (shadow_bytes) all.push_back({"shadow menu", *shadow_bytes});
  all.push_back({"outbox", outbox::memory_plan(s.outbox)});
  const bool spools = !s.spool.folder.empty();
  if (spools) {
    const spool::recovery found = disk != nullptr ? disk->found() : spool::recovery();
    all.push_back(
        {"blocks on their way to and from disk",
         spilling_outbox::memory_plan(s.outbox, largest_packed_event(s.building.crates),
                                      decided_by(s, selection).size(),
                                      inputs != 0 ? max_settings_bytes : 0, found.longest)});
    all.push_back({"index of blocks on disk", spool::index_memory(s.spool, found.blocks)});
  }
  if (!s.tcp.bind.empty())
    all.push_back(
        {"connections of senders over TCP", tcp_receiver::memory_plan(s.tcp, s.building.crates)});
  if (inputs != 0)
    all.push_back({"histograms of the run and of spills",
                   histogram_book::memory_plan(inputs) + outbox::most_once_bytes});
  const event_builder::memory building = event_builder::memory_plan(s.building, frame);
  all.push_back({"parked events", building.parking});
  all.push_back({"tables of event building", building.tables});
  return all;
}

std::vector<memory_use> memory_plan_of(const daemon_settings& s, const found_devices& devices) {
  std::optional<loaded_selection> selection;
  std::optional<std::size_t> shadow_bytes;
  if (!s.selection.lines.empty()) {
    selection = load_selection(s.selection, s.building.crates, s.run.number);
    if (!s.selection.shadow.empty())
      shadow_bytes = shadow_menu::memory_plan(
          load_selection(shadow_of(s.selection), s.building.crates, s.run.number),
          frame_capacity(s), s.outbox.codec);
  }
  std::vector<memory_use> all = compute_side::memory_plan(s, selection, devices);
  const auto beside = memory_beside_engines(s, selection, shadow_bytes);
  all.insert(all.end(), beside.begin(), beside.end());
  return all;
}

} // namespace l3
