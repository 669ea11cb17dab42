// SPDX-License-Identifier: Apache-2.0
// The disk behind the outbox: a folder of few large segment files (docs/formats.md, section 11)
// that keeps sealed output blocks until the receiver has stored them. Its size is limited, and it
// leaves some space of the disk free. It outlives the daemon: the next one finds the unreleased
// blocks, cuts off a torn end, and skips damaged blocks. A full or failing disk is a state:
// append() reports it and may be called again. why_ended() says why the daemon has to end: the disk
// fails for long, or a file was removed underneath it (an operator's error).
//
// One thread appends and one reads; any thread may release and ask. The index is never locked
// during disk operations. It takes 40 bytes per block and holds at most `most_blocks`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "transport/format/time.hpp"
#include "transport/outbox/settings.hpp"
#include "transport/outbox/spool_index.hpp"
#include "transport/outbox/spool_releases.hpp"
#include "transport/store/background_flush.hpp"
#include "transport/store/block.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

/// Free bytes for unprivileged users on the folder's file system; 0 if it does not tell.
[[nodiscard]] std::uint64_t free_bytes(int folder);

/// Why no daemon can have its spool in this folder, whose last part it may create; empty if this
/// user sees no obstacle.
[[nodiscard]] std::string wrong_with_spool_folder(const std::filesystem::path& folder);

/// The contents of a spool folder that no daemon uses; skips what cannot be read.
[[nodiscard]] spool_totals totals_in_spool(const std::filesystem::path& folder,
                                           const stop_question& stop);

/// Calls of the system that tests replace.
struct spool_system {
  block_file::flush_function flush = ::fdatasync;
  std::uint64_t (*free_bytes)(int folder) = l3::free_bytes;
  std::uint64_t most_blocks = std::uint64_t{1} << 22; ///< needed, on disk: 160 MiB of index
  stop_question stop{}; ///< called while the start reads files: true ends it with scan_stopped
  /// The daemon ends after the disk has refused every block for this time, if it is not full.
  std::chrono::nanoseconds longest_failure = std::chrono::minutes(1);
};

class spool {
public:
  /// Locks the folder, which must exist, and recovers its blocks. Throws std::runtime_error
  /// with a text that says what is wrong.
  explicit spool(const spool_settings& settings, const spool_system& system = {});
  ~spool();
  spool(const spool&) = delete;
  spool& operator=(const spool&) = delete;

  /// Size at which a file is followed by the next one: `segment`, or a quarter of `size` if that is
  /// less.
  [[nodiscard]] static std::uint64_t segment_bytes(const spool_settings& settings);

  /// Memory of the index for a full folder, or for `found_blocks` if they are more.
  [[nodiscard]] static std::size_t index_memory(const spool_settings& settings,
                                                std::uint64_t found_blocks = 0);

  /// The blocks that a start found and still needs, and the losses of a crash.
  struct recovery {
    std::vector<block_identity> lanes; ///< oldest first
    std::uint64_t blocks = 0;
    std::uint64_t events = 0;
    std::uint64_t longest = 0;        ///< longest block in bytes, including header
    std::uint64_t damaged = 0;        ///< places in segments without a valid block
    std::uint64_t damaged_events = 0; ///< of damaged blocks with a readable number
    std::uint64_t torn_tails = 0;     ///< cut off
    std::uint64_t torn_bytes = 0;
    std::uint64_t unreadable = 0; ///< segments that the disk partly refuses; they are kept
    struct numbers {
      std::uint64_t session = 0;
      std::uint64_t first = 0;
      std::uint64_t last = 0;
    };
    std::vector<numbers> gone; ///< blocks that were on disk, before or after the remaining ones
  };
  [[nodiscard]] const recovery& found() const { return found_; }

  // --- the writing thread ---

  /// Writes a sealed block of any lane; a lane's numbers increase and may have gaps. After an error
  /// nothing of the block is on disk, and it may be tried again. ENOSPC also means the size limit,
  /// the free space limit, or `most_blocks`. A block that is already released or on disk is not
  /// written.
  [[nodiscard]] std::error_code append(std::span<const std::byte> block);
  /// Without `sync`: flushes what was appended, on another thread and at most once a second.
  /// Returns the error of an earlier flush; from then on append() flushes, until it succeeds.
  [[nodiscard]] std::error_code flush_in_background(time_point now);

  // --- the reading thread ---

  struct read_result {
    std::error_code error;         ///< no block; ENOENT: released, or not there yet
    bool whole = false;            ///< the original block; otherwise an empty one replaces it
    std::uint32_t lost_events = 0; ///< of a block newly found damaged; reported once
  };
  /// Reads and checks a block. A damaged block, or a number missing in the lane, is replaced by an
  /// empty block, so that the receiver sees no gap. A missing block is counted once; its number of
  /// events is unknown.
  [[nodiscard]] read_result read(std::uint64_t session, std::uint64_t sequence,
                                 std::vector<std::byte>& to);

  // --- any thread ---

  /// The lane's blocks up to this one are no longer needed. Removes the files of segments without
  /// needed blocks at once.
  spool_index::released release(std::uint64_t session, std::uint64_t up_to);
  struct waiting_lane {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t events = 0;
  };
  /// The lane's needed blocks on disk; nothing if there are none.
  [[nodiscard]] std::optional<waiting_lane> lane(std::uint64_t session) const;
  /// Events of the lane in blocks found damaged since the start.
  [[nodiscard]] std::uint64_t lost_events(std::uint64_t session) const;
  /// Why the daemon has to end; empty if it need not. The first reason stays.
  [[nodiscard]] std::string why_ended() const;
  void end(std::string why);
  [[nodiscard]] spool_totals totals() const;
  [[nodiscard]] std::uint64_t capacity() const { return room(true); } ///< free bytes
  /// Whether the last append found no room, and there is still none.
  [[nodiscard]] bool full() const;

private:
  void recover_segment(std::uint64_t number, bool newest);
  void count_what_is_gone();

  [[nodiscard]] std::error_code write(std::span<const std::byte> block);
  [[nodiscard]] std::error_code prepare_segment(std::uint64_t bytes);
  void close_segment();
  [[nodiscard]] std::error_code refuse(std::error_code error, std::uint64_t bytes, bool by_system);
  [[nodiscard]] std::uint64_t room(bool with_written_segment) const;
  void remove(const std::vector<std::uint64_t>& segments);
  void forget_releases();
  [[nodiscard]] bool may_pass(const std::error_code& error, const spool_place& place);
  [[nodiscard]] std::error_code fetch(const spool_place& place, std::vector<std::byte>& to) const;
  void end_without(std::uint64_t segment);
  [[nodiscard]] static std::string name_of(std::uint64_t segment) {
    return store_file_name(segment, store_kind::spool);
  }

  std::uint64_t size_;
  std::uint64_t floor_;
  std::uint64_t segment_bytes_;
  spool_system system_;
  held_folder folder_;
  spool_releases releases_;
  recovery found_;

  // For the reading thread.
  spool_place failed_; ///< the block that the disk refused
  std::uint64_t failures_ = 0;

  // For the writing thread.
  block_file segment_;
  std::uint64_t next_number_ = 1;
  std::optional<time_point> failing_since_;  ///< since when a disk that is not full refuses blocks
  std::optional<background_flush> flushing_; ///< without `sync`
  std::uint64_t flushed_end_ = 0;            ///< of the segment, given to the flushing thread
  bool flushes_fail_ = false;

  mutable std::mutex lock_; ///< guards the members below
  spool_index index_;
  std::uint64_t written_segment_ = 0; ///< 0: none
  std::string why_ended_;

  std::atomic<std::uint64_t> room_wanted_{0}; ///< by the last append without room; else 0
};

} // namespace l3
