// SPDX-License-Identifier: Apache-2.0
// The farm's view of a node: its state, the reasons against a run on it, and the start and end of a
// run that the farm has decided on. It does not use etcd. One thread calls it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "daemon/farm/farm_values.hpp"
#include "daemon/monitor/snapshot.hpp"
#include "daemon/run/run_control.hpp"
#include "daemon/run/run_host.hpp"

namespace l3 {

class farm_node {
public:
  /// All must outlive this object.
  farm_node(const daemon_settings& settings, run_control& control, const run_host& host,
            std::function<metrics_snapshot()> latest);

  [[nodiscard]] std::uint32_t number() const { return settings_.run.node; }
  [[nodiscard]] const std::string& instance() const { return is_.instance; }
  /// The current state, without the members that only the farm knows.
  [[nodiscard]] const farm_member_value& now();
  /// Whether a run is about to begin, as of now().
  [[nodiscard]] bool waits_for_pause() const { return waits_; }
  /// Adds the text of the menu that a person named, and the hash of its selection. Returns what is
  /// wrong with the menu.
  [[nodiscard]] std::vector<std::string> add_menu(farm_order& order) const;
  /// The reasons why the run cannot begin here, one sentence each. May take two seconds.
  [[nodiscard]] std::vector<std::string> reasons_against(const farm_order& order) const;
  /// Begins the run at the next pause. Returns why it cannot, or an empty string.
  [[nodiscard]] std::string begin(const farm_order& order);
  void stop();

private:
  [[nodiscard]] std::string write_menu(const farm_order& order, const std::string& name) const;
  [[nodiscard]] std::string why_other_selection(const farm_order& order,
                                                const std::string& menu) const;

  const daemon_settings& settings_;
  run_control& control_;
  const run_host& host_;
  std::function<metrics_snapshot()> latest_;
  farm_member_value is_;
  bool waits_ = false;
  time_point numbers_read_{};
};

} // namespace l3
