// SPDX-License-Identifier: Apache-2.0
// The outbox with the disk behind it. Events go to the outbox's memory as long as there is room;
// when it is full, they go to the spool, until half of the memory is free again: so a receiver that
// comes back gets fresh events at once, and the backlog beside them. A thread of its own writes the
// disk: blocks that found no room in memory, and copies of blocks that wait in memory for long (or
// of all, if the spool is always used), so that their senders may forget them and a crash does not
// cost them. The drain thread never waits for a disk; it only finds no room.
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
  /// For the few things a person should know; called by the disk's thread.
  using report_function = std::function<void(std::string_view)>;

  /// The others outlive this object; what finds no room in memory is added to the backlog's own
  /// lane. `largest_event`: the longest packed event there may be; `decided_by`: see outbox;
  /// `largest_once`: of what add_once() may get.
  spilling_outbox(const outbox_settings& settings, spool_use use, outbox& memory, spool& disk,
                  spool_backlog& backlog, safe_batches& safety, std::size_t largest_event,
                  report_function report, const std::vector<std::byte>& decided_by = {},
                  std::size_t largest_once = 0);
  /// Without a disk it is the outbox's memory alone.
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

  /// Copies everything that waits in memory to the disk, as fast as that goes, from now on.
  void copy_all() { copy_all_ = true; }
  /// Everything that waits in memory has its copy, and nothing is on its way to the disk.
  [[nodiscard]] bool all_on_disk() const;
  /// When nothing is appended any more: writes what can be written, until this moment if the disk
  /// is slow, and ends the thread.
  void finish(time_point deadline);

  /// The part of all room, in memory and on disk, that is taken: 0 … 1.
  [[nodiscard]] double fullness() const;
  /// Events go to the disk for lack of room in memory, or would if any came.
  [[nodiscard]] bool spilling() const {
    return spilling_ && memory_.bytes_waiting() > memory_.capacity() / 2;
  }
  /// Events that found no room in memory, so far.
  [[nodiscard]] std::uint64_t events_spilled() const {
    return way_to_disk_ ? way_to_disk_->events_appended() : 0;
  }
  /// Of these, the ones that the receiver has not stored yet.
  [[nodiscard]] std::uint64_t events_waiting() const;
  /// Of all events that wait, in memory or not, those that a next start would find on disk.
  [[nodiscard]] std::uint64_t events_on_disk() const;
  [[nodiscard]] std::uint64_t write_errors() const { return write_errors_; }
  /// The disk's state as its thread saw it last: no other thread asks the file system, which may
  /// hang.
  [[nodiscard]] std::uint64_t disk_room() const { return disk_room_; }
  [[nodiscard]] bool disk_full() const { return disk_full_; }
  /// The disk has refused a block within the last minute, and not for want of room.
  [[nodiscard]] bool disk_failing() const { return disk_failing_; }
  /// Memory beside the outbox's, with what the backlog reads; `settings_bytes`: of `decided_by`;
  /// `longest_found`: of the blocks that an earlier process left on disk, which may have had longer
  /// ones.
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
  /// Blocks of the backlog's own lane until they are on the disk: that is where they are stored.
  std::optional<outbox> way_to_disk_;
  std::atomic<bool> spilling_{false};
  std::atomic<bool> copy_all_{false};

  // The disk's thread.
  std::atomic<std::uint64_t> copied_{0}; ///< the last block in memory that has, or had, a copy
  std::uint64_t seen_stored_ = 0;
  time_point progress_at_;
  time_point not_before_;
  std::optional<time_point> refused_since_; ///< by the disk; none: it took the last block
  std::error_code told_;                    ///< that it takes nothing
  std::vector<std::byte> copy_;             ///< of a block in memory, on its way to the disk
  std::atomic<std::uint64_t> disk_bytes_{0};
  std::atomic<std::uint64_t> disk_room_{0};
  std::atomic<bool> disk_full_{false};
  std::atomic<bool> disk_failing_{false};
  std::optional<time_point> failed_at_; ///< last
  std::atomic<time_point> deadline_{never};

  counter write_errors_;
  std::jthread writer_;
};

} // namespace l3
