// SPDX-License-Identifier: Apache-2.0
// Where each event of a store lies: the index that `verify` and `extract` build by walking the
// blocks once. It takes 32 bytes an event of any size; the events themselves stay in their files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/format/event_key.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

class event_index {
public:
  struct entry {
    event_key key;
    std::uint32_t bytes = 0;
    std::uint32_t session = 0; ///< place in sessions()
    std::uint32_t file = 0;
    std::uint32_t crc = 0; ///< of the event's bytes
    std::uint64_t offset = 0;
  };

  /// Walks the folder. Throws like store_reader.
  explicit event_index(const std::filesystem::path& folder, stop_question stop = {});

  /// In rising (spill, event number); events of the same key in the order in which they were
  /// stored.
  [[nodiscard]] std::span<const entry> entries() const { return entries_; }
  /// All entries of a key; seldom more than one.
  [[nodiscard]] std::span<const entry> find(event_key key) const;

  /// Only events of these runs stay in the index. What else it says is of all.
  void keep_events_of(const std::set<std::uint32_t>& runs);

  struct session {
    std::uint64_t number = 0;
    std::uint32_t run = 0;
    std::uint64_t events = 0;
    std::uint64_t repeated = 0; ///< left out by the receiver: another session has stored them
    std::uint64_t bytes = 0;    ///< of the events
  };
  [[nodiscard]] std::span<const session> sessions() const { return sessions_; }

  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; } ///< of packed events
  /// Places in the files, blocks and events that could not be read; what was in them is not in the
  /// index.
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }
  /// Not among these: the store may be being written.
  [[nodiscard]] const std::vector<torn_end>& torn_ends() const { return torn_ends_; }

private:
  void take_block(const stored_block& block, std::span<const std::byte> payload);

  std::vector<entry> entries_;
  std::vector<session> sessions_;
  std::map<std::uint64_t, std::size_t> places_; ///< in sessions_, by number
  std::uint64_t blocks_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t damaged_ = 0;
  std::vector<torn_end> torn_ends_;
};

/// Reads events at the places of an index, with some files kept open: events of one spill may lie
/// in a file of each node.
class event_reader {
public:
  explicit event_reader(std::filesystem::path folder)
      : folder_(std::move(folder)), kind_(kind_of(folder_)) {}
  /// The event, valid until the next call; nothing if its bytes changed since the index was made.
  /// Throws std::runtime_error if its file is not there any more.
  [[nodiscard]] std::optional<packed_event_view> read(const event_index::entry& at);

private:
  [[nodiscard]] block_file_name name_of(std::uint64_t file);
  [[nodiscard]] const store_file& opened(std::uint64_t file);

  std::filesystem::path folder_;
  store_kind kind_;
  std::vector<block_file_name> listed_; ///< by number
  static constexpr std::size_t most_files = 32;
  std::map<std::uint64_t, store_file> files_; ///< by number
  std::vector<std::byte> bytes_;
};

} // namespace l3
