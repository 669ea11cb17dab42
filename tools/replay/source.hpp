// SPDX-License-Identifier: Apache-2.0
// A .l2raw file to be replayed, in memory: its spills and their events, all checked before the
// first byte is sent. Events are never changed in place; the copy of one with another spill number
// is made when a loop needs it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "transport/file/l2raw.hpp"
#include "transport/format/batch.hpp"

namespace l3 {

struct replay_event {
  std::span<const std::byte> body; ///< of the record
  std::uint32_t body_crc = 0;
  std::uint32_t number = 0;
  std::chrono::nanoseconds since_spill{};
};

struct replay_spill {
  std::uint32_t number = 0;
  std::chrono::nanoseconds beam_on{};
  std::chrono::nanoseconds cycle{}; ///< until the next one
  std::vector<replay_event> events;
};

class replay_source {
public:
  /// Reads the whole file, so that no disk is waited for later. `tell` hears how many bytes were
  /// read. Throws std::runtime_error that names the file and the place.
  replay_source(const std::filesystem::path& file,
                const std::function<void(std::uint64_t)>& tell = {});

  [[nodiscard]] std::uint32_t run() const { return reader_.run(); }
  [[nodiscard]] const readout& crates() const { return reader_.crates(); }
  [[nodiscard]] const std::vector<replay_spill>& spills() const { return spills_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

  /// The number of a spill in the given loop (from 0): a loop takes as many numbers as the file has
  /// spills.
  [[nodiscard]] std::uint32_t spill_number(const replay_spill& spill, std::uint32_t loop) const;

private:
  l2raw_reader reader_;
  std::vector<replay_spill> spills_;
  std::uint64_t events_ = 0;
};

/// Copies an event's body and gives it another spill number: word 4 of every board header. A
/// fragment that is not well formed is copied as it is.
class spill_changer {
public:
  explicit spill_changer(const readout& crates);

  /// Valid until the next call.
  [[nodiscard]] std::span<const std::byte> change(std::span<const std::byte> body,
                                                  std::uint32_t from, std::uint32_t to);

private:
  readout crates_;
  std::vector<std::byte> copy_;
  event_view view_;
  std::vector<board_entry> boards_;
};

} // namespace l3
