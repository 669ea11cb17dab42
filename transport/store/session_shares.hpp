// SPDX-License-Identifier: Apache-2.0
// A store takes a bounded number of sessions, and a peer may begin as many as it likes: each has a
// share of the places that were free when the receiver began, so that one that is let in, and
// hostile, cannot lock the others out. A daemon begins up to four sessions when it starts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace l3 {

class session_shares {
public:
  static constexpr std::size_t peers_at_least = 16; ///< who may each have a whole share
  static constexpr std::size_t least = 64;

  explicit session_shares(std::size_t free) : share_(std::max(least, free / peers_at_least)) {}

  [[nodiscard]] std::size_t share() const { return share_; }
  /// A block of a session that the store did not have was stored.
  void begin(const std::string& peer, std::uint64_t session) { begun_[peer].insert(session); }
  /// `has`: of a session, whether the store has it. What was taken back does not count.
  template <class Has>
  [[nodiscard]] bool may_begin(const std::string& peer, const Has& has) {
    const auto found = begun_.find(peer);
    if (found == begun_.end() || found->second.size() < share_) return true;
    std::erase_if(found->second, [&](std::uint64_t session) { return !has(session); });
    return found->second.size() < share_;
  }

private:
  std::size_t share_;
  std::map<std::string, std::set<std::uint64_t>> begun_; ///< by peer
};

} // namespace l3
