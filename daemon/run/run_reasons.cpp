// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/run_reasons.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <fmt/format.h>

#include "config/endpoint.hpp"
#include "config/toml/complaints.hpp"
#include "daemon/machine_check.hpp"
#include "daemon/run/disk_watch.hpp"
#include "monitor/http_client.hpp"
#include "selection/trigger/load_selection.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {
namespace {

/// Why nothing listens at "tcp://host:port"; empty if something does. The state of a run's open
/// link says more than this.
std::string why_none_listens(const std::string& endpoint) {
  const auto to = read_address(std::string_view(endpoint).substr(endpoint.find("//") + 2));
  if (!to) return {}; // of a form that only ZeroMQ knows
  constexpr std::chrono::seconds patience(1);
  const found_endpoints found = find_endpoints(to->host, to->port, steady_clock::now() + patience);
  if (found.at.empty())
    return fmt::format("the name in {} has no address on this machine: {}", endpoint,
                       found.failure);
  boost::asio::io_context io;
  boost::beast::tcp_stream stream(io);
  stream.expires_after(patience);
  bool connected = false;
  stream.async_connect(found.at,
                       [&](boost::system::error_code error, const auto&) { connected = !error; });
  io.run();
  return connected ? std::string() : "no receiver answers at " + endpoint;
}

} // namespace

std::string reason_in(const complaint& c, const selection_files& files, std::string_view menu) {
  const std::string& file = c.at.file;
  const bool of_detector = file == files.detector || file.starts_with("built-in detector");
  return fmt::format("{}: {}",
                     file == files.calibration ? "the calibration (selection.calibration)"
                     : of_detector             ? "the detector (selection.detector)"
                                               : menu,
                     to_string(c));
}

std::vector<std::string> reasons_against(const run_order& order, const daemon_settings& settings,
                                         const metrics_snapshot& s, const run_host& host) {
  std::vector<std::string> reasons = reasons_against_node(settings, s, host);
  for (std::string& r : reasons_against_menu(order, settings, host))
    reasons.push_back(std::move(r));
  return reasons;
}

std::vector<std::string> reasons_against_node(const daemon_settings& settings,
                                              const metrics_snapshot& s, const run_host& host) {
  std::vector<std::string> reasons;
  const bool in_force = s.state.now == phase::receiving;
  const std::string absent = !in_force ? why_none_listens(settings.forward.to)
                             : s.receiver_connected
                                 ? ""
                                 : "no receiver answers at " + settings.forward.to;
  if (!absent.empty())
    reasons.push_back(fmt::format("the receiver is absent: {} (forward.to)", absent));
  for (const crate_report& r : s.crates)
    if (in_force && r.fault == crate_fault::silent) reasons.push_back(r.text);
  for (const std::uint32_t crate : host.silent_crates())
    reasons.push_back(fmt::format("crate {} is silent while others send", crate));
  for (std::string& shortage : disk_shortages(settings)) reasons.push_back(std::move(shortage));
  for (std::string& wrong : wrong_with_node(settings)) reasons.push_back(std::move(wrong));
  return reasons;
}

std::vector<std::string> reasons_against_menu(const run_order& order,
                                              const daemon_settings& settings,
                                              const run_host& host) {
  std::vector<std::string> reasons;
  const daemon_settings of_run = settings_of_run(settings, order);
  const auto add = [&](std::string reason) { // adds a file that both menus use only once
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(std::move(reason));
  };
  const auto look_at = [&](const selection_files& menu, std::string_view what) {
    if (menu.lines.empty()) return;
    try {
      static_cast<void>(load_selection(menu, of_run.building.crates, order.number));
    } catch (const bad_file& e) {
      for (const complaint& c : e.all()) add(reason_in(c, menu, what));
    } catch (const std::exception& e) {
      add(fmt::format("{}: {}", what, reason_of(e)));
    }
  };
  look_at(of_run.selection, "the menu");
  if (!of_run.selection.lines.empty()) look_at(shadow_of(of_run.selection), "the shadow menu");
  if (!reasons.empty()) return reasons; // settings that do not load have no memory plan
  if (std::string wrong = host.wrong_with_memory(of_run); !wrong.empty())
    reasons.push_back(std::move(wrong));
  return reasons;
}

} // namespace l3
