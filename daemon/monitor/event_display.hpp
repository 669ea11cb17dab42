// SPDX-License-Identifier: Apache-2.0
// Pages that show what the detector saw: once the inputs and their places, then the pulse height of
// each input in the latest kept event, and its waveforms on request. The HTTP server's thread
// unpacks the event when it is asked for.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "daemon/monitor/kept_events.hpp"
#include "monitor/http_server.hpp"
#include "selection/detector/detector.hpp"

namespace l3 {

class event_display {
public:
  /// `lines`: names of the trigger lines in the order of their bits; empty without a selection.
  event_display(detector what, std::vector<std::string> lines, const kept_events& kept)
      : detector_(std::move(what)), lines_(std::move(lines)), kept_(kept) {}

  /// JSON: `crystals`, each [x, y, size in mm, number of its input]; `inputs`, the text "name,
  /// address" of each input by number, null for an unused number; `wide`, the numbers of the boards
  /// whose inputs have 256 samples.
  [[nodiscard]] std::string detector_json() const;
  /// JSON: `spill`, `event`, `lines` that kept it, `photons` (x, y in mm, energy in MeV), and
  /// `heights`, the pulse height of each input in counts, null where it was not read out. Returns
  /// "null" before the first event.
  [[nodiscard]] std::string event_json() const;
  /// For each of the latest two events: spill and number (32 bits, little-endian), then 1024
  /// samples (16 bits) of each board, input after input; 0 where it was not read out.
  [[nodiscard]] std::string waveforms() const;

  /// Adds /detector, /event and /waveforms; the last two are made once per kept event. Without a
  /// display the first two return "null". One thread calls it.
  static void add_pages(const event_display* display, http_pages& to);

private:
  struct samples;
  [[nodiscard]] samples samples_of(std::span<const std::byte> packed) const;

  detector detector_;
  std::vector<std::string> lines_;
  const kept_events& kept_;
};

} // namespace l3
