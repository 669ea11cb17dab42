// SPDX-License-Identifier: Apache-2.0
// Makes the records of a replay from its file whenever one is sent, so that none is kept.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/replay/loop.hpp"
#include "tools/replay/source.hpp"
#include "transport/format/record.hpp"

namespace l3 {

/// A spill of a replay.
struct replayed_spill {
  std::uint32_t loop = 0;
  std::size_t spill = 0; ///< index in the file

  friend auto operator<=>(const replayed_spill&,
                          const replayed_spill&) = default; // NOLINT(modernize-use-nullptr)
};

/// Identifies a record of a replay.
struct replay_step {
  replayed_spill of;
  record_type type = record_type::begin_of_spill;
  std::size_t event = 0;    ///< index in the spill
  std::uint32_t events = 0; ///< in an end of spill: events given to its daemon
};

/// One per connection: a record lives until the next one is made.
class record_maker {
public:
  explicit record_maker(const replay_source& source) : source_(source), changer_(source.crates()) {}

  struct record {
    record_header header;
    std::span<const std::byte> body;
  };
  [[nodiscard]] record hello(std::uint64_t sequence);
  [[nodiscard]] record make(const replay_step& s, std::uint64_t sequence);
  /// Length of header and body.
  [[nodiscard]] std::size_t bytes_of(const replay_step& s) const;

private:
  const replay_source& source_;
  spill_changer changer_;
  std::vector<std::byte> small_body_; // of a record that is no event
};

} // namespace l3
