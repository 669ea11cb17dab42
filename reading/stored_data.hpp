// SPDX-License-Identifier: Apache-2.0
// The index of a store, a spool, one of their files, or level-2 data: the place of every block or
// record, and the sessions with their settings. It holds no payloads. Units are only added, so
// numbers of events and addresses of units stay valid.
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
  std::uint32_t bytes = 0; ///< 0: it is not there
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
  codec_id codec = codec_id::koto;
  std::optional<std::uint32_t> spill{}; ///< of a record of level-2 data

  mutable std::mutex walking; ///< not once_flag: an exception cannot leave pthread_once here
  mutable std::atomic<bool> walked = false;
  mutable std::vector<event_place> places; ///< of the events that are there
  /// The events' bytes up to the end of their tables, as long as there is room for them, and these
  /// tables; nothing for a damaged event.
  mutable std::vector<std::byte> fronts;
  mutable std::vector<std::optional<packed_event_view>> tables;
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

class stored_data {
public:
  /// Throws std::runtime_error.
  stored_data(std::filesystem::path path, bool skip_damaged, bool check_all);

  void refresh();

  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// The unit of an event; throws std::out_of_range.
  [[nodiscard]] const unit& unit_of(std::uint64_t event) const;
  [[nodiscard]] const std::deque<session>& sessions() const { return sessions_; }
  [[nodiscard]] const session& session_of(const unit& u) const { return sessions_[u.session]; }
  /// The settings of all sessions, each once.
  [[nodiscard]] const std::deque<loaded_settings>& settings() const;
  /// Index in settings(), which was called before.
  [[nodiscard]] std::uint32_t settings_of(const unit& u) const;
  [[nodiscard]] bool skips_damaged() const { return skip_damaged_; }
  [[nodiscard]] bool checks_all() const { return check_all_; }

  [[nodiscard]] file_descriptor opened(std::uint32_t file) const;
  [[nodiscard]] std::string path_of(std::uint32_t file) const;

  /// Notes damage if it is to be skipped; else throws std::runtime_error.
  void report(damage found) const;
  void report(const unit& u, const char* what, std::uint64_t events) const;
  /// Whether so many bytes more may be kept in memory: the tables of some 100 000 events.
  [[nodiscard]] bool has_room(std::size_t bytes) const {
    constexpr std::size_t most = std::size_t{256} << 20;
    return kept_bytes_.fetch_add(bytes) + bytes <= most;
  }
  /// Memory that was used before: new memory of the size of a block takes as long as to read one.
  [[nodiscard]] std::vector<std::byte> take_memory() const;
  void give_back(std::vector<std::byte> memory) const;
  [[nodiscard]] std::size_t damages() const;
  /// Stays at its address.
  [[nodiscard]] const damage& damage_at(std::size_t row) const;

private:
  struct block_source {                  ///< a file of blocks
    std::optional<block_file_name> name; ///< in a folder
    std::optional<store_file> scan{};    ///< as long as blocks may come
    std::uint64_t seen_end = sizeof(store_file_header);
    std::uint64_t damaged = 0; ///< places reported
    bool ended = false;        ///< no more blocks come
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
  mutable std::mutex memory_mutex_;
  mutable std::size_t readers_ = 0;
  mutable std::vector<std::vector<std::byte>> memory_; ///< of readers that ended
  mutable std::mutex damage_mutex_;
  mutable std::deque<damage> damage_;
};

/// Reads payloads, in one thread.
class payload_reader {
public:
  explicit payload_reader(const stored_data& from) : from_(from), payload_(from.take_memory()) {}
  ~payload_reader() { from_.give_back(std::move(payload_)); }
  payload_reader(const payload_reader&) = delete;
  payload_reader& operator=(const payload_reader&) = delete;

  [[nodiscard]] const stored_data& from() const { return from_; }
  /// Until load(), parts of the unit are read with all bytes before them, which are not verified
  /// yet. So they are in the processor's cache when they are decoded.
  void begin(const unit& u);
  /// Reads the rest of the unit, and verifies its checksum the first time. Reports damage, and
  /// returns false for it.
  [[nodiscard]] bool load(const unit& u);
  [[nodiscard]] bool load_quietly(const unit& u);
  /// Verifies the checksum, unless that is done.
  [[nodiscard]] bool check(const unit& u) {
    if (u.checked == unit::sum::right) return true;
    return (u.checked == unit::sum::unknown || !from_.skips_damaged()) && load(u);
  }
  /// Whether the unit is not known to be damaged; verifies it if the reader is to check all.
  [[nodiscard]] bool may_read(const unit& u) {
    return (u.checked != unit::sum::wrong && !from_.checks_all()) || check(u);
  }
  /// Bytes of a payload, valid until the next call; empty if the file ends before.
  [[nodiscard]] std::span<const std::byte> part(const unit& u, std::uint32_t at,
                                                std::uint32_t bytes) {
    return part(u, at, bytes, part_);
  }
  /// Reports a unit that has not the events that its header says, unless it was only begun.
  [[nodiscard]] event_place place(const unit& u, std::uint32_t index);
  /// The tables of event `index`, valid until the next call; nothing if they are damaged or not
  /// there.
  [[nodiscard]] std::optional<packed_event_view> tables(const unit& u, std::uint32_t index);

private:
  [[nodiscard]] bool is_begun(const unit& u) const { return begun_ && loaded_ == &u; }
  [[nodiscard]] bool read(const unit& u, std::uint32_t at, std::span<std::byte> to);
  [[nodiscard]] std::span<const std::byte>
  part(const unit& u, std::uint32_t at, std::uint32_t bytes, std::vector<std::byte>& buffer);
  [[nodiscard]] bool fill(const unit& u, std::uint32_t end);
  void walk(const unit& u);
  [[nodiscard]] std::span<const std::byte> front(const unit& u, std::uint32_t at);

  const stored_data& from_;
  std::optional<std::uint32_t> file_number_;
  file_descriptor file_;
  const unit* loaded_ = nullptr;
  bool begun_ = false; ///< and not loaded: its events are found as they are read
  std::vector<std::byte> payload_;
  std::uint32_t filled_ = 0;        ///< bytes of it that were read
  std::uint32_t crc_ = 0;           ///< of these
  std::vector<event_place> places_; ///< of its first events
  std::vector<std::byte> part_;
  std::vector<std::byte> front_;
  std::uint32_t front_bytes_ = 4096; ///< events of a run have about the same tables
};

} // namespace l3::reading
