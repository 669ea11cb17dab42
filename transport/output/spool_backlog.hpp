// SPDX-License-Identifier: Apache-2.0
// What lies in the spool, as a source of blocks for a forwarder of its own: first the lanes that
// earlier processes left behind, the oldest first, then the lane to which this process adds. A lane
// keeps its session and its numbers across a restart, so the receiver recognizes every block that
// it has already. A block that was damaged on disk is sent empty: what was in it is counted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "transport/accounting/counters.hpp"
#include "transport/output/block_source.hpp"
#include "transport/output/spool.hpp"
#include "transport/system/wake_event.hpp"

namespace l3 {

/// What became of a lane's events. Written by the forwarder's thread.
struct lane_counters {
  std::uint64_t session = 0;
  counter delivered; ///< stored by the receiver
  counter damaged;   ///< on disk, and lost
};

class spool_backlog final : public block_source {
public:
  /// The spool must outlive it. `own`: the lane of this process.
  spool_backlog(spool& disk, const block_identity& own);

  // --- the thread that writes the spool ---

  /// A block of this process's lane is on disk.
  void added(std::uint64_t sequence);

  // --- the forwarder thread ---

  [[nodiscard]] block_identity identity() const override { return current_.identity; }
  [[nodiscard]] bool next_lane() override;
  [[nodiscard]] bool is_remainder() const override { return !current_.own; }
  [[nodiscard]] std::optional<held_block> hold(std::uint64_t sequence) override;
  [[nodiscard]] bool is_held(std::uint64_t sequence) const override;
  void stored_up_to(std::uint64_t sequence, std::uint64_t now) override;
  [[nodiscard]] int wake_descriptor() const override { return wake_.descriptor(); }
  void clear_wake() const override { wake_.clear(); }

  // --- any thread ---

  void wake() const override { wake_.wake(); }
  /// Of the current lane.
  [[nodiscard]] std::uint64_t last_sealed() const override {
    return current_is_own_ ? own_last_ : found_last_;
  }
  [[nodiscard]] std::uint64_t last_stored() const override { return stored_; }

  [[nodiscard]] const block_identity& own_identity() const { return own_; }
  [[nodiscard]] const lane_counters& own() const { return own_counters_; }
  /// Of the lanes that earlier processes left, whether their turn has come or not.
  [[nodiscard]] const std::deque<lane_counters>& found() const { return found_counters_; }
  /// Memory for blocks on their way to the line; it grows to the size of the largest ones.
  static constexpr std::size_t buffers = 8;

private:
  struct lane {
    block_identity identity;
    std::uint64_t last = 0;          ///< of a lane that was found
    lane_counters* counts = nullptr; ///< none: there is nothing to send
    bool own = false;
  };
  /// A block read from disk, for as long as ZeroMQ needs it.
  struct buffer final : block_hold {
    void release() noexcept override;

    spool_backlog* owner = nullptr;
    std::vector<std::byte> bytes;
    std::uint64_t session = 0;
    std::uint64_t sequence = 0;
    bool used = false;
  };

  [[nodiscard]] buffer* take_buffer(std::uint64_t sequence);
  void enter(const lane& next);

  spool& disk_;
  const block_identity own_;
  std::deque<lane> found_; ///< still to come
  lane current_;
  std::atomic<std::uint64_t> own_last_{0};   ///< on disk
  std::atomic<std::uint64_t> own_stored_{0}; ///< by the receiver
  std::atomic<bool> current_is_own_{false};
  std::atomic<std::uint64_t> found_last_{0}; ///< of the current lane, if it was found
  std::atomic<std::uint64_t> stored_{0};     ///< of the current lane
  mutable std::mutex lock_;                  ///< guards who uses the buffers
  std::array<buffer, buffers> buffers_;
  wake_event wake_;
  lane_counters own_counters_;
  std::deque<lane_counters> found_counters_; ///< all from the start
};

} // namespace l3
