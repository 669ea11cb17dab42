// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/run_api.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>

#include "config/endpoint.hpp"
#include "config/toml/complaints.hpp"
#include "monitor/pages.hpp"
#include "selection/trigger/load_selection.hpp"
#include "transport/format/plain_text.hpp"
#include "transport/system/name_lookup.hpp"
#include "transport/system/nearest_folder.hpp"

namespace l3 {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr unsigned accepted = 202;
constexpr unsigned bad_request = 400;
constexpr unsigned refused_now = 409;
constexpr std::size_t longest_comment = 1000;
constexpr std::size_t longest_menu = 4096;
constexpr std::size_t deepest_json = 8;
constexpr std::uint64_t room_for_ledger = 1 << 20;

http_response answer(unsigned code, const json::value& v) {
  return {code, "application/json", json::serialize(v) + "\n"};
}

http_response refusal(unsigned code, const std::vector<std::string>& reasons) {
  return answer(code, {{"reasons", json::value_from(reasons)}});
}

json::value value_of(const std::optional<run_order>& o) {
  if (!o) return nullptr;
  return {{"number", o->number}, {"menu", o->menu}, {"comment", o->comment}};
}

/// How many keys an object of JSON has in its text, where the parser takes the last of two that are
/// equal: a colon outside of texts stands behind a key, and only there.
std::size_t keys_written(std::string_view object) {
  std::size_t keys = 0;
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < object.size(); ++i) {
    const char c = object[i];
    if (c == '"') in_text = !in_text;
    if (in_text) {
      if (c == '\\') ++i;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ':' && depth == 1) ++keys;
  }
  return keys;
}

/// Throws std::runtime_error with what is wrong.
json::object object_of(std::string_view body) {
  json::parse_options limits;
  limits.max_depth = deepest_json;
  if (body.empty()) return {};
  json::error_code error;
  const json::value parsed = json::parse({body.data(), body.size()}, error, {}, limits);
  if (error) throw std::runtime_error("the body is no JSON: " + error.message());
  if (!parsed.is_object()) throw std::runtime_error("the body is no JSON object");
  if (keys_written(body) != parsed.as_object().size())
    throw std::runtime_error("the body has a key twice; give each key once");
  return parsed.as_object();
}

std::string text_of(std::string_view key, const json::value& v, std::size_t most) {
  if (!v.is_string() || v.as_string().size() > most)
    throw std::runtime_error(fmt::format("{} is no text of at most {} bytes", key, most));
  std::string text(v.as_string());
  if (const auto c = find_unplain(text))
    throw std::runtime_error(fmt::format("{} is no plain text: it holds {}, a control character or "
                                         "one that is not seen",
                                         key, escaped_name(*c, text)));
  return text;
}

bool truth_of(std::string_view key, const json::value& v) {
  if (!v.is_bool()) throw std::runtime_error(fmt::format("{} is neither true nor false", key));
  return v.as_bool();
}

std::uint32_t number_of(const json::value& v) {
  json::error_code error;
  const auto number = v.is_number() ? v.to_number<std::uint64_t>(error) : 0;
  if (!v.is_number() || error || number > std::numeric_limits<std::uint32_t>::max())
    throw std::runtime_error("number is no number from 0 to 4294967295");
  return static_cast<std::uint32_t>(number);
}

/// Whether something listens at "tcp://host:port". A link that a run has open says more.
bool listens(const std::string& endpoint) {
  const auto host_at = endpoint.find("://");
  const auto colon = endpoint.rfind(':');
  if (host_at == endpoint.npos || colon <= host_at) return true; // not known
  std::string host = endpoint.substr(host_at + 3, colon - host_at - 3);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  const auto port = read_port(endpoint.substr(colon + 1));
  auto found = look_up(host, addresses_of);
  if (!port || found.wait_for(std::chrono::seconds(1)) != std::future_status::ready) return false;
  std::vector<asio::ip::tcp::endpoint> at;
  for (const std::string& number : found.get().addresses) {
    boost::system::error_code none;
    const auto address = asio::ip::make_address(number, none);
    if (!none) at.emplace_back(address, *port);
  }
  asio::io_context io;
  boost::beast::tcp_stream stream(io);
  stream.expires_after(std::chrono::seconds(1));
  bool connected = false;
  stream.async_connect(at,
                       [&](boost::system::error_code error, const auto&) { connected = !error; });
  io.run();
  return connected;
}

/// The room of the file system that a folder is on, or will be; nothing: it cannot be asked.
std::optional<std::uint64_t> room_in(const std::filesystem::path& folder) {
  struct statvfs disk {};
  if (::statvfs(nearest_folder(folder).c_str(), &disk) != 0) return std::nullopt;
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

void look_at_disks(const daemon_settings& s, std::vector<std::string>& reasons) {
  const auto needs = [&](const std::string& folder, std::uint64_t bytes, std::string_view why) {
    const auto room = folder.empty() ? std::nullopt : room_in(folder);
    if (room && *room < bytes)
      reasons.push_back(fmt::format("the disk of {} is short: {:.1f} MB are free, {:.1f} MB are "
                                    "needed ({})",
                                    folder, static_cast<double>(*room) / 1e6,
                                    static_cast<double>(bytes) / 1e6, why));
  };
  needs(s.spool.folder, s.spool.floor.bytes + s.spool.segment.bytes,
        "spool.floor and spool.segment");
  if (s.run.ledger.ends_with('/')) needs(s.run.ledger, room_for_ledger, "the ledger");
}

} // namespace

std::vector<std::string> reasons_against(const run_order& order, const daemon_settings& settings,
                                         const metrics_snapshot& s, const run_host& host) {
  std::vector<std::string> reasons;
  const bool in_force = s.state.now == phase::receiving;
  if (in_force ? !s.receiver_connected : !listens(settings.forward.to))
    reasons.push_back(fmt::format("the receiver is absent: none answers at {} (forward.to)",
                                  settings.forward.to));
  for (const crate_report& r : s.crates)
    if (in_force && r.fault == crate_fault::silent) reasons.push_back(r.text);
  for (const std::uint32_t crate : host.silent_crates())
    reasons.push_back(fmt::format("crate {} is silent while others send", crate));
  look_at_disks(settings, reasons);
  if (order.menu.empty()) return reasons;
  try {
    selection_files files = settings.selection;
    files.lines = order.menu;
    static_cast<void>(load_selection(files, settings.building.crates, order.number));
  } catch (const bad_file& e) {
    for (const complaint& c : e.all()) reasons.push_back("the menu: " + to_string(c));
  } catch (const std::exception& e) {
    reasons.push_back(fmt::format("the menu: {}", e.what()));
  }
  return reasons;
}

http_response run_api::status(unsigned code, const run_control::report& now) const {
  json::object o{{"state", name_of(now.state)},
                 {"current", value_of(now.current)},
                 {"next", value_of(now.next)},
                 {"stopping", now.stopping},
                 {"failure", now.failure.empty() ? json::value(nullptr) : json::value(now.failure)},
                 {"datagrams_without_run", host_.datagrams_without_run()},
                 {"last", nullptr}};
  if (const auto last = host_.last())
    o["last"] = {{"number", last->number},
                 {"events", last->text},
                 {"ledger", last->ledger},
                 {"well", last->well}};
  return answer(code, o);
}

http_response run_api::start(std::string_view body) {
  run_order order;
  try {
    std::optional<std::uint32_t> number;
    bool again = false;
    for (const auto& [key, value] : object_of(body)) {
      if (key == "number") {
        number = number_of(value);
      } else if (key == "again") {
        again = truth_of(key, value);
      } else if (key == "menu") {
        order.menu = text_of(key, value, longest_menu);
      } else if (key == "comment") {
        order.comment = text_of(key, value, longest_comment);
      } else {
        throw std::runtime_error(fmt::format(
            "{} is no key: there are number, again, menu and comment", std::string(key)));
      }
    }
    if (again && !number) throw std::runtime_error("again is without a number");
    if (number && !again && host_.was_used(*number))
      return refusal(refused_now, {fmt::format("the number {} was used before on this node: take "
                                               "another one, or say that this run goes on (again)",
                                               *number)});
    if (!number) number = host_.next_number();
    if (!number) return refusal(refused_now, {"the highest number is used: give another one"});
    order.number = *number;
  } catch (const std::runtime_error& e) {
    return refusal(bad_request, {e.what()});
  }
  if (auto reasons = reasons_against(order, settings_, latest_(), host_); !reasons.empty())
    return refusal(refused_now, reasons);
  const auto now = control_.start(std::move(order));
  if (!now) return refusal(refused_now, {"the daemon ends"});
  return status(accepted, *now);
}

http_response run_api::stop(std::string_view body) {
  try {
    if (!object_of(body).empty()) throw std::runtime_error("a stop has no keys");
  } catch (const std::runtime_error& e) {
    return refusal(bad_request, {e.what()});
  }
  const auto now = control_.stop();
  if (!now) return refusal(refused_now, {"no run is in force, and none waits"});
  return status(accepted, *now);
}

http_pages run_api::pages() const {
  return {{"/run", [this] { return status(200, control_.now()); }}};
}

http_actions run_api::actions() {
  return {{"/run/start", [this](std::string_view body) { return start(body); }},
          {"/run/stop", [this](std::string_view body) { return stop(body); }}};
}

} // namespace l3
