// SPDX-License-Identifier: Apache-2.0
// The pages that show what the detector saw: its inputs and their places once, then of the latest
// kept event the height of each pulse, and the waveforms for those who want to see one. It takes
// the event apart when it is asked for, in the thread of the HTTP server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/monitor/kept_events.hpp"
#include "monitor/http_server.hpp"
#include "selection/detector/detector.hpp"

namespace l3 {

class event_display {
public:
  /// `lines`: names of the trigger lines in the order of their bits; none without a selection.
  event_display(detector what, std::vector<std::string> lines, const kept_events& kept)
      : detector_(std::move(what)), lines_(std::move(lines)), kept_(kept) {}

  /// JSON: `crystals`, each [x, y, size in mm, number of its input]; `inputs`, the name and the
  /// address of each by its number, null where there is none; `wide`, the numbers of boards whose
  /// inputs have 256 samples.
  [[nodiscard]] std::string detector_json() const;
  /// JSON: `spill`, `event`, `lines` that kept it, `photons` (x, y in mm, energy in MeV), and
  /// `heights`, the height of the pulse of each input in counts, null where it was not read out.
  /// "null": there was no event yet.
  [[nodiscard]] std::string event_json() const;
  /// Of each of the latest two events spill and number (32 bits, little-endian), then for each
  /// board 1024 samples (16 bits), input after input; 0 where it was not read out.
  [[nodiscard]] std::string waveforms() const;

  /// /detector, /event and /waveforms, the last two made once for each kept event. Without a
  /// display the first two are "null". For one thread.
  static void add_pages(const event_display* display, http_pages& to);

private:
  struct samples;
  [[nodiscard]] samples samples_of(std::span<const std::byte> packed) const;

  detector detector_;
  std::vector<std::string> lines_;
  const kept_events& kept_;
};

} // namespace l3
