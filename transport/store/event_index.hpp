// SPDX-License-Identifier: Apache-2.0
// The places of all events of a store: the index that `verify` and `extract` build by reading the
// blocks once. It takes 32 bytes per event; the events stay in their files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
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
    std::uint32_t session = 0; ///< index in sessions()
    std::uint32_t file = 0;
    std::uint32_t crc = 0; ///< of the event's bytes
    std::uint64_t offset = 0;
  };

  /// Walks the folder. Throws like store_reader.
  explicit event_index(const std::filesystem::path& folder, stop_question stop = {});

  /// Sorted by spill and event number; events of the same key in the order of storage.
  [[nodiscard]] std::span<const entry> entries() const { return entries_; }
  /// All entries of a key; rarely more than one.
  [[nodiscard]] std::span<const entry> find(event_key key) const;

  /// Removes events of other runs from the index. Other results stay those of all events.
  void keep_events_of(const std::set<std::uint32_t>& runs);

  struct session {
    std::uint64_t number = 0;
    std::uint32_t run = 0;
    std::uint64_t events = 0;
    std::uint64_t repeated = 0; ///< left out by the receiver: another session had stored them
    std::uint64_t bytes = 0;    ///< of the events
  };
  [[nodiscard]] std::span<const session> sessions() const { return sessions_; }

  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; } ///< of packed events
  /// Places, blocks and events that could not be read; their contents are not in the index.
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }
  /// Torn ends do not count as damaged, because the store may be being written.
  [[nodiscard]] const std::vector<torn_end>& torn_ends() const { return torn_ends_; }

private:
  void take_block(const stored_block& block, std::span<const std::byte> payload);

  std::vector<entry> entries_;
  std::vector<session> sessions_;
  std::map<std::uint64_t, std::size_t> places_; ///< index in sessions_, by number
  std::uint64_t blocks_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t damaged_ = 0;
  std::vector<torn_end> torn_ends_;
};

/// Reads the events of an index and keeps some files open, because events of a spill may be in a
/// file of each node.
class event_reader {
public:
  explicit event_reader(std::filesystem::path folder)
      : folder_(std::move(folder)), kind_(kind_of(folder_)) {}
  /// The event, valid until the next call; nothing if its bytes have changed. Throws
  /// std::runtime_error if its file was removed.
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
