// SPDX-License-Identifier: Apache-2.0
// Blocks that came before their turn. A daemon with several connections sends the blocks of a lane
// over all of them, and one that is slow lets others overtake. What waits here is not checked yet
// and not stored: when the missing block has come, those behind it are taken as if they came then.
// Bounded: a block beyond the reach, or without room, is dropped, and comes again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <zmq.hpp>

#include "transport/format/units.hpp"

namespace l3 {

class early_blocks {
public:
  /// So many numbers behind the missing one.
  static constexpr std::uint64_t reach = 64;

  /// `most`: bytes of all blocks together.
  explicit early_blocks(byte_size most) : most_(most) {}

  /// False: there is no place for it. One that is there already stays.
  bool keep(std::uint64_t session, std::uint64_t sequence, std::uint64_t missing,
            zmq::message_t& body) {
    if (sequence <= missing || sequence - missing > reach) return false;
    if (has(session, sequence)) return true;
    if (bytes_ + body.size() > most_.bytes) return false;
    bytes_ += body.size();
    blocks_[{session, sequence}].move(body);
    return true;
  }
  [[nodiscard]] bool has(std::uint64_t session, std::uint64_t sequence) const {
    return blocks_.contains({session, sequence});
  }
  /// Nothing if it is not there.
  [[nodiscard]] std::optional<zmq::message_t> take(std::uint64_t session, std::uint64_t sequence) {
    auto found = blocks_.extract({session, sequence});
    if (!found) return std::nullopt;
    bytes_ -= found.mapped().size();
    return std::move(found.mapped());
  }
  /// Bit i: block missing + 1 + i is there.
  [[nodiscard]] std::uint64_t behind(std::uint64_t session, std::uint64_t missing) const {
    std::uint64_t bits = 0;
    for (auto b = blocks_.upper_bound({session, missing});
         b != blocks_.end() && b->first.first == session && b->first.second - missing <= reach; ++b)
      bits |= std::uint64_t{1} << (b->first.second - missing - 1);
    return bits;
  }
  /// Those of the sessions for which this holds.
  template <class Predicate>
  void drop_if(const Predicate& holds) {
    std::erase_if(blocks_, [&](const auto& b) {
      if (!holds(b.first.first, b.first.second)) return false;
      bytes_ -= b.second.size();
      return true;
    });
  }

private:
  byte_size most_;
  std::uint64_t bytes_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, zmq::message_t> blocks_; ///< session, number
};

} // namespace l3
