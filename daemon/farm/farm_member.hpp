// SPDX-License-Identifier: Apache-2.0
// A node's membership in a farm whose daemons find each other through etcd (docs/farm.md, decision
// 30). Its thread keeps this daemon's key alive, reads the keys of all daemons, and follows the
// farm's run. A request to this daemon is proposed to all nodes. When each node has answered that
// it is ready, the order is committed in one change, early in a pause of the beam.
//
// The data path does not depend on it. While etcd is absent a run continues, and no run begins on
// all nodes.
//
//   run/order proposed ──▶ each node: run/armed/N ──▶ all ready, the beam pauses ──▶ run/now holds
//           │ its lease is over, or a node refuses, dies, does not answer                 │
//           └──▶ gone: nothing has happened                        each node follows run/now
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "config/settings.hpp"
#include "daemon/farm/etcd_client.hpp"
#include "daemon/farm/farm_node.hpp"
#include "daemon/farm/farm_report.hpp"
#include "daemon/farm/farm_values.hpp"
#include "transport/format/time.hpp"

namespace l3 {

/// A person's request to all nodes.
struct farm_wish {
  bool start = false; ///< false: the run ends
  std::optional<std::uint32_t> number;
  bool again = false;
  std::string menu;
  std::string comment;
  std::vector<std::uint32_t> without; ///< missing nodes to go on without
};

/// The standing of a node that is present. `known`: the committed order. Without it, each node
/// counts as in order.
[[nodiscard]] farm_standing standing_of(const farm_member_value& is,
                                        const std::optional<farm_order>& known);

class farm_member {
public:
  /// `node` must outlive this object. Throws std::runtime_error if the password cannot be read.
  farm_member(const farm_settings& settings, farm_node& node);
  /// Leaves the farm if etcd responds in time.
  ~farm_member();
  farm_member(const farm_member&) = delete;
  farm_member& operator=(const farm_member&) = delete;

  /// Any thread. Returns nothing once all nodes are ready and the order will be committed at the
  /// next pause. Otherwise returns the reasons, and nothing happens on any node. Waits for eight
  /// seconds at most.
  [[nodiscard]] std::vector<std::string> ask(const farm_wish& wish);
  [[nodiscard]] farm_report now() const;
  /// Call it twice a second with whether the beam pauses.
  void beam(bool pauses);
  /// Call it when the daemon ends, so that the others do not wait for this node.
  void leave();

private:
  /// This daemon's own proposal.
  struct proposal {
    farm_order order;
    std::int64_t created = 0;
    std::int64_t lease = 0;
    time_point begun{};
    bool agreed = false;
    std::vector<std::string> over; ///< why it must be withdrawn
  };

  // The thread's functions. A round throws etcd_error.
  void work();
  void wait();
  void wake();
  void round();
  void keep_lease(time_point now);
  void take_place(const farm_view& v);
  void tell_how_it_is(const farm_view& v);
  void follow();
  void answer_order(const farm_view& v);
  void go();
  void note(const farm_view* v, const std::string& trouble);

  // In farm_orders.cpp.
  void take_wish(const farm_view& v, time_point now);
  [[nodiscard]] std::vector<std::string> wrong_with(const farm_wish& w, const farm_view& v) const;
  [[nodiscard]] std::optional<std::uint32_t> next_number(const farm_view& v) const;
  [[nodiscard]] farm_order order_of(const farm_wish& w, const farm_view& v) const;
  void propose(farm_order order, const farm_wish& w, const farm_view& v, time_point now);
  [[nodiscard]] bool pursue(const farm_view& v, time_point now);
  [[nodiscard]] std::vector<std::string> wrong_by_now(const farm_view& v, time_point now);
  [[nodiscard]] std::vector<std::string> refusals(const farm_view& v, bool late) const;
  [[nodiscard]] const farm_reply* reply_of(std::uint32_t node, const farm_view& v) const;
  [[nodiscard]] bool all_ready(const farm_view& v) const;
  [[nodiscard]] bool accept();
  void commit(const farm_view& v);
  void remove_order(std::int64_t changed);
  void withdraw(std::vector<std::string> reasons);
  void finish(std::vector<std::string> reasons);
  void answer(std::vector<std::string> reasons);
  [[nodiscard]] bool beam_allows(time_point now) const;

  [[nodiscard]] std::string key(std::string_view name) const {
    return settings_.prefix + std::string(name);
  }
  [[nodiscard]] std::string key_of(std::string_view kind, std::uint32_t node) const {
    return key(kind) + std::to_string(node);
  }

  const farm_settings& settings_;
  farm_node& node_;
  etcd_client etcd_;

  // Only the thread uses these.
  std::int64_t lease_ = 0;
  std::int64_t place_ = 0; // creation of this node's key; 0: no key
  std::string told_;       // the key's value
  time_point kept_at_{};   // when the lease was last renewed
  time_point spoke_at_;    // when etcd last responded
  bool has_spoken_ = false;
  std::string same_node_;           // the other node with this node's number
  std::optional<farm_order> known_; // the latest committed order
  std::uint64_t followed_ = 0;      // its serial
  std::uint64_t in_force_ = 0;      // the same, once its run has begun
  bool has_followed_ = false;       // since the daemon's start
  std::string why_apart_;           // why this node does not follow it
  std::int64_t answered_ = 0;       // creation of the proposal that this node has answered
  std::optional<proposal> own_;
  bool stopped_one_ = false; // a stop has removed another node's proposal

  mutable std::mutex mutex_; // guards the members below
  std::condition_variable answered_now_;
  std::condition_variable woken_now_; // wakes the thread
  bool woken_ = false;
  std::optional<farm_wish> wish_;
  std::optional<std::vector<std::string>> answer_;
  bool given_up_ = false; // its requester was told that nothing happens
  bool leaves_ = false;
  bool pauses_ = false;
  time_point pauses_since_{};
  bool pause_seen_ = false;
  farm_report report_;

  std::jthread thread_; // the last member: it uses the others
};

} // namespace l3
