// SPDX-License-Identifier: Apache-2.0
#include "daemon/farm/farm_node.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <random>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/toml/complaints.hpp"
#include "daemon/run/run_reasons.hpp"
#include "selection/trigger/load_selection.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/plain_text.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

/// Run numbers are read from the folder of the ledgers at most this often.
constexpr std::chrono::seconds numbers_age{5};
constexpr std::uint64_t longest_id = 64;

std::string new_instance() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

std::string host_name() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0) return "?";
  return peer_text(name);
}

/// Identifies a ledger folder on one machine, by boot, device and inode. A daemon locks its node's
/// place there, so two daemons with the same place and node cannot run together.
std::string place_of(const std::string& folder) {
  struct stat is {};
  const input_text boot = read_input("/proc/sys/kernel/random/boot_id", longest_id);
  if (!boot.refusal.empty() || ::stat(folder.c_str(), &is) != 0) return {};
  return peer_text(
      fmt::format("{}-{}-{}", boot.text.substr(0, boot.text.find('\n')), is.st_dev, is.st_ino));
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

} // namespace

farm_node::farm_node(const daemon_settings& settings, run_control& control, const run_host& host,
                     std::function<metrics_snapshot()> latest)
    : settings_(settings), control_(control), host_(host), latest_(std::move(latest)) {
  is_.instance = new_instance();
  is_.place = place_of(settings.run.ledger);
  is_.host = host_name();
  is_.process = static_cast<std::uint32_t>(::getpid());
}

const farm_member_value& farm_node::now() {
  const run_control::report report = control_.now();
  const std::string state(name_of(report.state));
  const auto run = report.current ? std::optional(report.current->number) : std::nullopt;
  const time_point t = steady_clock::now();
  if (numbers_read_ == time_point{} || t - numbers_read_ > numbers_age || is_.state != state ||
      is_.run != run) {
    is_.next = host_.next_number(report);
    numbers_read_ = t;
  }
  is_.state = state;
  is_.run = run;
  waits_ = report.next.has_value();
  is_.failure = peer_text(report.failure);
  // A run that resumes under its number is only as good as its worst part.
  if (const auto last = host_.last(); last && !last->well)
    is_.not_well = last->number;
  else if (last && is_.not_well != last->number)
    is_.not_well.reset();
  return is_;
}

std::vector<std::string> farm_node::add_menu(farm_order& order) const {
  selection_files files = settings_.selection;
  if (!order.menu.empty()) files.lines = order.menu;
  if (files.lines.empty()) return {};
  try {
    if (!order.menu.empty() && order.menu != built_in) {
      const input_text menu = read_input(order.menu, farm_limits::menu);
      if (!menu.refusal.empty()) return {fmt::format("the menu: {} {}", order.menu, menu.refusal)};
      order.menu_text = menu.text;
    }
    order.selection = hash_of_selection(files, settings_.building.crates, order.number);
    return {};
  } catch (const bad_file& e) {
    std::vector<std::string> reasons;
    for (const complaint& c : e.all()) reasons.push_back(reason_in(c, files, "the menu"));
    return reasons;
  } catch (const std::exception& e) {
    return {fmt::format("the menu: {}", e.what())};
  }
}

/// Returns why the menu cannot be written, or an empty string.
std::string farm_node::write_menu(const farm_order& order, const std::string& name) const {
  const std::string trial = fmt::format("{}node{}.menu.trial", settings_.run.ledger, number());
  const std::error_code error = write_anew(name, trial, bytes_of(order.menu_text));
  return error ? fmt::format("the menu cannot be written to {}: {}", name, error.message())
               : std::string();
}

std::string farm_node::why_other_selection(const farm_order& order, const std::string& menu) const {
  selection_files files = settings_.selection;
  if (!menu.empty()) files.lines = menu;
  std::string here;
  try {
    if (!files.lines.empty())
      here = hash_of_selection(files, settings_.building.crates, order.number);
  } catch (const std::exception& e) {
    return fmt::format("the menu: {}", peer_text(e.what()));
  }
  if (here == order.selection) return {};
  const auto text = [](const std::string& hash) { return hash.empty() ? "none" : hash; };
  return fmt::format("its selection for run {} is {}, and that of node {} is {}: one of the files "
                     "selection.lines, selection.detector and selection.calibration differs",
                     order.number, text(here), order.by, text(order.selection));
}

std::vector<std::string> farm_node::reasons_against(const farm_order& order) const {
  std::vector<std::string> reasons;
  if (!order.again && host_.was_used(order.number, control_.now()))
    reasons.push_back(fmt::format(
        "run number {} was already used on it: choose another, or continue that run (again)",
        order.number));
  for (std::string& r : reasons_against_node(settings_, latest_(), host_))
    reasons.push_back(std::move(r));
  std::string menu = order.menu;
  if (!order.menu_text.empty()) {
    menu = fmt::format("{}node{}.menu.asked", settings_.run.ledger, number());
    if (std::string wrong = write_menu(order, menu); !wrong.empty()) {
      reasons.push_back(std::move(wrong));
      return reasons;
    }
  }
  auto of_menu = reasons_against_menu({order.number, menu, {}}, settings_, host_);
  if (of_menu.empty())
    if (std::string wrong = why_other_selection(order, menu); !wrong.empty())
      of_menu.push_back(std::move(wrong));
  std::ranges::move(of_menu, std::back_inserter(reasons));
  if (!order.menu_text.empty()) std::remove(menu.c_str());
  return reasons;
}

std::string farm_node::begin(const farm_order& order) {
  const run_control::report report = control_.now();
  const bool is_in_it = report.current && report.current->number == order.number;
  if (is_in_it && !order.again && !report.stopping) return {};
  std::string menu = order.menu;
  if (!order.menu_text.empty()) {
    // The ledger names the menu's file, which stays beside it.
    menu =
        fmt::format("{}menu-{:08x}.toml", settings_.run.ledger, crc32c(bytes_of(order.menu_text)));
    if (std::string wrong = write_menu(order, menu); !wrong.empty()) return wrong;
  }
  if (std::string wrong = why_other_selection(order, menu); !wrong.empty()) return wrong;
  if (!control_.start({order.number, menu, order.comment})) return "the daemon ends";
  return {};
}

void farm_node::stop() { static_cast<void>(control_.stop()); }

} // namespace l3
