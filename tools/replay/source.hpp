// SPDX-License-Identifier: Apache-2.0
// A .l2raw file in memory for a replay: its spills and events, all checked before the first byte is
// sent. Events are never changed in place: a loop with another spill number copies them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "transport/file/l2raw.hpp"
#include "transport/file/record_parser.hpp"
#include "transport/format/batch.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

/// Repeated replays of a file: each loop uses new spill numbers, because spill and number identify
/// an event within a run. Its events differ from the file only in the spill number of every board
/// header. `replay` sends such events, `verify` expects them.
inline constexpr std::uint32_t spill_numbers = l2::spill_mask + 1; ///< they wrap at this number

/// The number of a spill in the given loop, from 0: a loop uses as many numbers as the file has
/// spills.
[[nodiscard]] constexpr std::uint32_t
spill_in_loop(std::uint32_t spill, std::uint32_t spills_of_file, std::uint32_t loop) {
  return (spill + loop * spills_of_file) & l2::spill_mask;
}

/// Copies an event's body with another spill number: word 4 of every board header. Malformed
/// fragments are copied unchanged.
class spill_changer {
public:
  explicit spill_changer(const readout& crates);

  /// `body`: valid for parse_event(). The result is valid until the next call.
  [[nodiscard]] std::span<const std::byte> change(std::span<const std::byte> body,
                                                  std::uint32_t from, std::uint32_t to);

private:
  readout crates_;
  std::vector<std::byte> copy_;
  event_view view_;
  std::vector<board_entry> boards_;
};

struct replay_event {
  std::span<const std::byte> body; ///< of the record
  std::uint32_t body_crc = 0;
  std::uint32_t number = 0;
  std::chrono::nanoseconds since_spill{};
};

struct replay_spill {
  std::uint32_t number = 0;
  std::chrono::nanoseconds beam_on{};
  std::chrono::nanoseconds cycle{}; ///< time until the next spill
  std::vector<replay_event> events;
};

class replay_source {
public:
  /// Reads the whole file, so that the replay does not wait for a disk. `tell` is called with the
  /// bytes read. Throws std::runtime_error with file and place.
  explicit replay_source(const std::filesystem::path& file,
                         const std::function<void(std::uint64_t)>& tell = {});

  [[nodiscard]] std::uint32_t run() const { return reader_.run(); }
  [[nodiscard]] const readout& crates() const { return reader_.crates(); }
  [[nodiscard]] const std::vector<replay_spill>& spills() const { return spills_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

  /// The number of a spill in the given loop, from 0.
  [[nodiscard]] std::uint32_t spill_number(const replay_spill& spill, std::uint32_t loop) const;

private:
  l2raw_reader reader_;
  std::vector<replay_spill> spills_;
  std::uint64_t events_ = 0;
};

} // namespace l3
