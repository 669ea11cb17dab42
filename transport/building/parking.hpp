// SPDX-License-Identifier: Apache-2.0
// The parking area: memory for a bounded number of events that are incomplete when their batch
// closes. A parked fragment is contiguous: chunk i lies at i × chunk_bytes. Guarded by the event
// builder's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "transport/building/settings.hpp"

namespace l3 {

class parking {
public:
  parking(std::uint32_t events, std::uint32_t crates, std::uint32_t chunk_bytes,
          std::uint32_t max_chunks)
      : chunk_bytes_(chunk_bytes), fragment_bytes_(std::size_t{chunk_bytes} * max_chunks),
        event_bytes_(fragment_bytes_ * crates), memory_(event_bytes_ * events) {
    free_.reserve(events);
    for (std::uint32_t s = events; s > 0; --s) free_.push_back(s - 1);
  }

  [[nodiscard]] std::uint32_t free() const { return static_cast<std::uint32_t>(free_.size()); }
  [[nodiscard]] std::uint32_t take() {
    const auto slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::uint32_t slot) { free_.push_back(slot); }
  [[nodiscard]] static std::size_t memory_plan(const building_settings& s) {
    return std::size_t{s.chunk_bytes} * s.max_chunks() * s.crates.size() * s.parked_events;
  }

  [[nodiscard]] std::byte* fragment(std::uint32_t slot, std::uint32_t crate) {
    return memory_.data() + slot * event_bytes_ + crate * fragment_bytes_;
  }
  [[nodiscard]] std::byte* chunk(std::uint32_t slot, std::uint32_t crate, std::uint32_t index) {
    return fragment(slot, crate) + std::size_t{index} * chunk_bytes_;
  }
  void put(std::uint32_t slot, std::uint32_t crate, std::uint32_t index,
           std::span<const std::byte> bytes) {
    std::memcpy(chunk(slot, crate, index), bytes.data(), bytes.size());
  }

private:
  std::size_t chunk_bytes_;
  std::size_t fragment_bytes_;
  std::size_t event_bytes_;
  std::vector<std::byte> memory_;
  std::vector<std::uint32_t> free_;
};

} // namespace l3
