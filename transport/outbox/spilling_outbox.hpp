// SPDX-License-Identifier: Apache-2.0
// The outbox with the disk behind it. Events go to the outbox's memory as long as there is room;
// when it is full, they go to the spool until half of the memory is free again. So a returning
// receiver gets new events at once, and the backlog beside them. A separate thread writes the disk:
// blocks without room in memory, and copies of blocks that wait in memory for long (or of all
// blocks, if configured), so that their senders may forget them and a crash does not lose them. The
// drain thread never waits for a disk; it only finds no room.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/outbox/outbox.hpp"
#include "transport/outbox/spool.hpp"
#include "transport/outbox/spool_backlog.hpp"

namespace l3 {

class spilling_outbox {
public:
  /// Receives news for a person; called by the disk's thread.
  using report_function = std::function<void(std::string_view)>;

  /// All references outlive this object; blocks without room in memory are added to the backlog's
  /// own lane. `largest_event`: the longest possible packed event. `decided_by`: see outbox.
  /// `largest_once`: the longest entries for add_once().
  spilling_outbox(const outbox_settings& settings, spool_use use, outbox& memory, spool& disk,
                  spool_backlog& backlog, safe_batches& safety, std::size_t largest_event,
                  report_function report, const std::vector<std::byte>& decided_by = {},
                  std::size_t largest_once = 0);
  /// Without a disk it only forwards to the outbox's memory.
  explicit spilling_outbox(outbox& memory) : memory_(memory) {}
  ~spilling_outbox();
  spilling_outbox(const spilling_outbox&) = delete;
  spilling_outbox& operator=(const spilling_outbox&) = delete;

  // --- the drain thread; see outbox ---

  [[nodiscard]] bool append(std::span<const std::byte> packed_event, time_point completed_at);
  [[nodiscard]] bool wait_for_room(std::chrono::nanoseconds limit, std::size_t bytes);
  void batch_done(std::uint64_t serial);
  [[nodiscard]] time_point due_at() const {
    return way_to_disk_ ? std::min(memory_.due_at(), way_to_disk_->due_at()) : memory_.due_at();
  }
  void seal_if_due(time_point now);
  void seal();
  [[nodiscard]] bool add_once(std::vector<std::byte> entries);
  [[nodiscard]] bool seal_once();
  [[nodiscard]] std::size_t once_waiting() const;

  // --- any thread ---

  /// From now on, copies everything that waits in memory to the disk as fast as possible.
  void copy_all() { copy_all_ = true; }
  /// Whether everything that waits in memory has a copy, and no block waits for the disk.
  [[nodiscard]] bool all_on_disk() const;
  /// Call it when no more events come: writes until everything is written or this deadline, and
  /// ends the thread.
  void finish(time_point deadline);

  /// The occupied fraction of memory and disk together: 0 … 1.
  [[nodiscard]] double fullness() const;
  /// Whether new events go to the disk because memory is full.
  [[nodiscard]] bool spilling() const {
    return spilling_ && memory_.bytes_waiting() > memory_.capacity() / 2;
  }
  /// Number of events that found no room in memory.
  [[nodiscard]] std::uint64_t events_spilled() const {
    return way_to_disk_ ? way_to_disk_->events_appended() : 0;
  }
  /// The number of those that the receiver has not stored yet.
  [[nodiscard]] std::uint64_t events_waiting() const;
  /// The number of waiting events that the next start would find on disk.
  [[nodiscard]] std::uint64_t events_on_disk() const;
  [[nodiscard]] std::uint64_t write_errors() const { return write_errors_; }
  /// The state of the disk as its thread last saw it. No other thread asks the file system, because
  /// it may hang.
  [[nodiscard]] std::uint64_t disk_room() const { return disk_room_; }
  [[nodiscard]] bool disk_full() const { return disk_full_; }
  /// Whether the disk has refused a block within the last minute for another reason than missing
  /// room.
  [[nodiscard]] bool disk_failing() const { return disk_failing_; }
  /// Memory besides the outbox's, including the backlog's buffers. `settings_bytes`: length of
  /// `decided_by`. `longest_found`: longest block of an earlier process on disk, which may have had
  /// longer ones.
  [[nodiscard]] static std::size_t memory_plan(const outbox_settings& settings,
                                               std::size_t largest_event,
                                               std::size_t settings_bytes, std::size_t largest_once,
                                               std::size_t longest_found = 0);

private:
  void write(const std::stop_token& stop);
  [[nodiscard]] bool write_spilled(time_point now);
  [[nodiscard]] bool copy_memory(time_point now);
  [[nodiscard]] bool copies_are_due(time_point now);
  void release_copies();
  [[nodiscard]] bool to_disk(std::span<const std::byte> block);
  void tell(const std::error_code& error, time_point now);
  void note_failure(const std::error_code& error, time_point now);

  outbox& memory_;
  spool* disk_ = nullptr;
  spool_backlog* backlog_ = nullptr;
  report_function report_;
  spool_use use_ = spool_use::overflow;
  std::size_t block_room_ = 0;
  /// The outbox of the backlog's own lane: a block counts as stored once it is on disk.
  std::optional<outbox> way_to_disk_;
  std::atomic<bool> spilling_{false};
  std::atomic<bool> copy_all_{false};

  // For the disk's thread.
  std::atomic<std::uint64_t> copied_{0}; ///< the last block in memory that has or had a copy
  std::uint64_t seen_stored_ = 0;
  time_point progress_at_;
  time_point not_before_;
  std::optional<time_point> refused_since_; ///< since when the disk refuses blocks
  std::error_code told_;                    ///< the reported error
  std::vector<std::byte> copy_;             ///< of a block in memory on its way to the disk
  std::atomic<std::uint64_t> disk_bytes_{0};
  std::atomic<std::uint64_t> disk_room_{0};
  std::atomic<bool> disk_full_{false};
  std::atomic<bool> disk_failing_{false};
  std::optional<time_point> failed_at_; ///< time of the last failure
  std::atomic<time_point> deadline_{never};

  counter write_errors_;
  std::jthread writer_;
};

} // namespace l3
