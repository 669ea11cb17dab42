// SPDX-License-Identifier: Apache-2.0
// Keeps blocks that arrived out of order. A daemon with several connections sends the blocks of a
// lane over all of them, and blocks on a slow one are overtaken. Waiting blocks are neither checked
// nor stored. When the missing block arrives, they are processed as if they arrived then. A block
// too far ahead, or without room, is dropped and sent again.
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
  /// Distance to the missing block up to which blocks are kept.
  static constexpr std::uint64_t reach = 64;

  /// `most`: limit of all blocks together.
  explicit early_blocks(byte_size most) : most_(most) {}

  /// Returns false if there is no place for the block. A block that is already there stays.
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
  /// Returns nothing if the block is not there.
  [[nodiscard]] std::optional<zmq::message_t> take(std::uint64_t session, std::uint64_t sequence) {
    auto found = blocks_.extract({session, sequence});
    if (!found) return std::nullopt;
    bytes_ -= found.mapped().size();
    return std::move(found.mapped());
  }
  /// Bit i is set if block missing + 1 + i is there.
  [[nodiscard]] std::uint64_t behind(std::uint64_t session, std::uint64_t missing) const {
    std::uint64_t bits = 0;
    for (auto b = blocks_.upper_bound({session, missing});
         b != blocks_.end() && b->first.first == session && b->first.second - missing <= reach; ++b)
      bits |= std::uint64_t{1} << (b->first.second - missing - 1);
    return bits;
  }
  /// Drops the blocks for which the predicate holds.
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
