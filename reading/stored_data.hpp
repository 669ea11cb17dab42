// SPDX-License-Identifier: Apache-2.0
// The index of a store, a spool, one of their files, or level-2 data: the place of every block or
// record, and the sessions with their settings. Files are mapped into memory, so payloads are read
// in place. Units are only added, and mappings stay: numbers of events and addresses of units and
// payloads remain valid.
//
// Const members may be called by several threads. What is read late (places of events in a block,
// checksums, settings, damage) is guarded here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reading/loaded_settings.hpp"
#include "transport/format/block.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/store_reader.hpp"

namespace l3::reading {

/// Where an event is in the payload of its unit.
struct event_place {
  std::uint32_t at = 0;
  std::uint32_t bytes = 0;
};

/// A block, or an event record of level-2 data: bytes under one checksum.
struct unit {
  std::uint32_t file = 0;    ///< index
  std::uint32_t session = 0; ///< index
  std::uint64_t offset = 0;  ///< of the payload in its file
  std::uint32_t bytes = 0;   ///< of the payload, settings included
  std::uint32_t crc = 0;
  std::uint32_t event_bytes = 0; ///< of the payload without settings
  std::uint32_t events = 0;
  std::uint64_t first_event = 0;
  std::uint64_t place = 0; ///< among the units
  codec_id codec = codec_id::koto;
  std::optional<std::uint32_t> spill{}; ///< of a record of level-2 data

  [[nodiscard]] bool has(std::uint64_t event) const { return event - first_event < events; }

  mutable std::mutex walking; ///< not once_flag: an exception cannot leave pthread_once here
  mutable std::atomic<bool> walked = false;
  mutable std::vector<event_place> places; ///< of the events that are there
  /// Views of these events, or empty if memory is short; nullopt for a damaged event.
  mutable std::vector<std::optional<packed_event_view>> views;
  enum class sum : std::uint8_t { unknown, right, wrong };
  mutable std::atomic<sum> checked = sum::unknown;
};

struct session {
  std::uint64_t number = 0;
  std::uint32_t run = 0;
  std::uint32_t node = 0;
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t left_out = 0;
  std::uint64_t bytes = 0;
  std::uint64_t begin = 0; ///< ns since 1970: when its first and last block were sealed
  std::uint64_t end = 0;
  std::vector<const unit*> with_settings{}; ///< in the order in which to try them
  mutable std::uint32_t settings = unread;  ///< index
  static constexpr std::uint32_t unread = 0xffffffff;
};

struct damage {
  std::string file;
  std::string what;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
};

/// A file that is mapped into memory to be read. It may grow meanwhile: the mapping is longer.
class file_mapping {
public:
  /// Throws std::system_error.
  file_mapping(int file, std::size_t length, const std::string& path);
  ~file_mapping();
  file_mapping(const file_mapping&) = delete;
  file_mapping& operator=(const file_mapping&) = delete;

  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

private:
  const std::byte* data_;
  std::size_t size_;
};

class stored_data {
public:
  /// Throws std::runtime_error.
  stored_data(std::filesystem::path path, bool skip_damaged, bool check_all);

  void refresh();

  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// The unit of an event; throws std::out_of_range.
  [[nodiscard]] const unit& unit_of(std::uint64_t event) const;
  /// The same, faster in `near` and the one behind it.
  [[nodiscard]] const unit& unit_of(std::uint64_t event, const unit& near) const {
    if (near.has(event)) return near;
    const bool is_next = near.place + 1 < units_.size() && units_[near.place + 1].has(event);
    return is_next ? units_[near.place + 1] : unit_of(event);
  }
  [[nodiscard]] const std::deque<session>& sessions() const { return sessions_; }
  [[nodiscard]] const session& session_of(const unit& u) const { return sessions_[u.session]; }
  /// The settings of all sessions, each once.
  [[nodiscard]] const std::deque<loaded_settings>& settings() const;
  /// Index in settings(), which was called before.
  [[nodiscard]] std::uint32_t settings_of(const unit& u) const;
  [[nodiscard]] bool skips_damaged() const { return skip_damaged_; }
  [[nodiscard]] bool checks_all() const { return check_all_; }

  /// The payload; empty if the file ends before. Throws std::runtime_error if it cannot be opened.
  [[nodiscard]] std::span<const std::byte> payload_of(const unit& u) const;
  [[nodiscard]] std::string path_of(std::uint32_t file) const;

  /// Notes damage if it is to be skipped; else throws std::runtime_error.
  void report(damage found) const;
  void report(const unit& u, const char* what, std::uint64_t events) const;
  /// Whether so many bytes more may be kept in memory: the views of some million events.
  [[nodiscard]] bool has_room(std::size_t bytes) const {
    constexpr std::size_t most = std::size_t{256} << 20;
    return kept_bytes_.fetch_add(bytes) + bytes <= most;
  }
  [[nodiscard]] std::size_t damages() const;
  /// Stays at its address.
  [[nodiscard]] const damage& damage_at(std::size_t row) const;

private:
  struct block_source {                  ///< a file of blocks
    std::optional<block_file_name> name; ///< in a folder
    std::optional<store_file> scan{};    ///< as long as blocks may come
    std::uint64_t seen_end = sizeof(store_file_header);
    std::uint64_t damaged = 0;                   ///< places reported
    bool ended = false;                          ///< no more blocks come
    mutable std::deque<file_mapping> mappings{}; ///< the last is the longest
    mutable std::uint64_t mapped = 0;            ///< bytes of the file that can be read there
  };

  void add_files();
  void read_headers(std::uint32_t file);
  void read_records();
  void add(const stored_block& block, std::uint32_t file);
  [[nodiscard]] std::uint32_t session_of(std::uint64_t number, std::uint32_t run,
                                         std::uint32_t node);
  void read_settings() const;
  [[nodiscard]] std::uint32_t settings_index(const session& s) const;

  std::filesystem::path path_;
  bool skip_damaged_;
  bool check_all_;
  bool is_folder_;
  store_kind kind_ = store_kind::store;
  std::deque<block_source> files_;
  std::deque<unit> units_;
  std::deque<session> sessions_;
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>, std::uint32_t> session_places_;
  std::uint64_t events_ = 0;

  // Level-2 data:
  bool level2_ = false;
  std::optional<readout> crates_;

  mutable std::mutex settings_mutex_;
  mutable std::deque<loaded_settings> settings_;
  mutable std::map<std::string, std::uint32_t> known_settings_; ///< by their bytes
  mutable std::atomic<std::size_t> kept_bytes_ = 0;
  mutable std::mutex mapping_mutex_;
  mutable std::mutex damage_mutex_;
  mutable std::deque<damage> damage_;
};

/// Fetches lines of memory before they are read: the processor does not wait for each in turn.
inline void fetch(std::span<const std::byte> bytes) {
  constexpr std::size_t cache_line = 64;
  for (std::size_t at = 0; at < bytes.size(); at += cache_line)
    __builtin_prefetch(bytes.data() + at);
}

/// Reads payloads, in one thread.
class payload_reader {
public:
  explicit payload_reader(const stored_data& from) : from_(from) {}

  [[nodiscard]] const stored_data& from() const { return from_; }
  /// From here to load(), events of the unit are summed before they are given. So they are in the
  /// processor's cache when they are decoded.
  void begin(const unit& u);
  /// Sums the rest of the unit, and verifies its checksum the first time. Reports damage, and
  /// returns false for it.
  [[nodiscard]] bool load(const unit& u);
  [[nodiscard]] bool load_quietly(const unit& u);
  /// Verifies the checksum, unless that is done.
  [[nodiscard]] bool check(const unit& u);
  /// Whether the unit is there and not known to be damaged; verifies it if the reader is to check
  /// all.
  [[nodiscard]] bool may_read(const unit& u);
  /// All bytes of a unit; empty if the file ends before.
  [[nodiscard]] std::span<const std::byte> payload(const unit& u);
  /// Whether the unit has an event `index`; reports it if it has not the events that its header
  /// says.
  [[nodiscard]] bool has(const unit& u, std::uint32_t index);
  /// Event `index`, valid until the next call; null if it is damaged or not there. Its boards' data
  /// were not checked.
  [[nodiscard]] const packed_event_view* event(const unit& u, std::uint32_t index);

private:
  void sum(const unit& u, std::uint32_t end);
  void walk(const unit& u);
  [[nodiscard]] std::optional<packed_event_view> parse(const unit& u, event_place of);

  const stored_data& from_;
  const unit* unit_ = nullptr; ///< the last one
  std::span<const std::byte> payload_;
  const unit* begun_ = nullptr;
  std::uint32_t summed_ = 0; ///< bytes of it
  std::uint32_t crc_ = 0;    ///< of these
  std::optional<packed_event_view> event_;
  std::optional<packed_event_view> like_; ///< the last event, of this codec
  codec_id like_codec_ = codec_id::koto;
};

} // namespace l3::reading
