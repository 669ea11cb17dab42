// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/run_api.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "daemon/run/run_reasons.hpp"
#include "monitor/http_server.hpp"
#include "transport/format/plain_text.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

constexpr unsigned accepted = 202;
constexpr unsigned bad_request = 400;
constexpr unsigned refused_now = 409;
// In characters of at most four bytes of UTF-8: a ledger and a farm's order hold 4096 bytes.
constexpr std::size_t longest_comment = 1000;
constexpr std::size_t longest_text = 4096; // bytes

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

/// Throws std::runtime_error with a text that says what is wrong.
json::object object_of(std::string_view body) {
  if (body.empty()) return {};
  json::error_code error;
  const json::value parsed = json::parse({body.data(), body.size()}, error);
  if (error) throw std::runtime_error("the body is not JSON: " + error.message());
  if (!parsed.is_object()) throw std::runtime_error("the body is not a JSON object");
  return parsed.as_object();
}

std::string text_of(std::string_view key, const json::value& v) {
  if (!v.is_string() || v.as_string().size() > longest_text)
    throw std::runtime_error(
        fmt::format("{} is not a text of at most {} bytes", key, longest_text));
  std::string text(v.as_string());
  if (const auto c = find_unplain(text))
    throw std::runtime_error(
        fmt::format("{} is not plain text: it contains {}, a control or invisible character", key,
                    escaped_name(*c, text)));
  return text;
}

std::string comment_of(std::string_view key, const json::value& v) {
  std::string text = text_of(key, v);
  const auto begins_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  };
  if (static_cast<std::size_t>(std::ranges::count_if(text, begins_character)) > longest_comment)
    throw std::runtime_error(
        fmt::format("{} is not a text of at most {} characters", key, longest_comment));
  return text;
}

bool truth_of(std::string_view key, const json::value& v) {
  if (!v.is_bool()) throw std::runtime_error(fmt::format("{} is neither true nor false", key));
  return v.as_bool();
}

std::uint32_t number_of(std::string_view key, const json::value& v) {
  json::error_code error;
  const auto number = v.is_number() ? v.to_number<std::uint64_t>(error) : 0;
  if (!v.is_number() || error || number > std::numeric_limits<std::uint32_t>::max())
    throw std::runtime_error(fmt::format("{} is not a number from 0 to 4294967295", key));
  return static_cast<std::uint32_t>(number);
}

std::vector<std::uint32_t> numbers_of(const json::value& v) {
  if (!v.is_array() || v.as_array().size() > farm_limits::nodes)
    throw std::runtime_error("without is not a list of nodes");
  std::vector<std::uint32_t> all;
  for (const json::value& n : v.as_array()) all.push_back(number_of("a node in without", n));
  return all;
}

json::value value_of(const std::optional<farm_run_report>& r) {
  if (!r) return nullptr;
  return {{"number", r->number}, {"menu", r->menu}, {"comment", r->comment}};
}

json::value value_of(const std::optional<std::uint32_t>& n) {
  return n ? json::value(*n) : json::value(nullptr);
}

json::value value_of(const farm_report& f) {
  json::array nodes;
  for (const farm_node_report& n : f.nodes)
    nodes.push_back({{"node", n.node},
                     {"stands", name_of(n.stands)},
                     {"host", n.host},
                     {"state", n.state},
                     {"run", value_of(n.run)},
                     {"failure", n.failure},
                     {"not_well", value_of(n.not_well)}});
  return {{"state", name_of(f.state)},  {"text", f.text},       {"run", value_of(f.run)},
          {"order", value_of(f.order)}, {"failure", f.failure}, {"nodes", std::move(nodes)}};
}

} // namespace

/// `of_all` is older than `now`, so a run that has just begun to wait is in one of them.
http_response run_api::status(unsigned code, const std::optional<farm_report>& of_all,
                              const run_control::report& now) const {
  json::object o{{"state", name_of(now.state)},
                 {"current", value_of(now.current)},
                 {"next", value_of(now.next)},
                 {"stopping", now.stopping},
                 {"failure", now.failure.empty() ? json::value(nullptr) : json::value(now.failure)},
                 {"datagrams_without_run", host_.datagrams_without_run()},
                 {"last", nullptr},
                 {"farm", nullptr}};
  if (const auto last = host_.last())
    o["last"] = {{"number", last->number},
                 {"events", last->text},
                 {"ledger", last->ledger},
                 {"well", last->well}};
  if (!of_all) return answer(code, o);
  if (!now.next) o["next"] = value_of(of_all->order);
  o["farm"] = value_of(*of_all);
  return answer(code, o);
}

std::optional<farm_report> run_api::of_all() const {
  return farm_ != nullptr ? std::optional(farm_->now()) : std::nullopt;
}

/// Parses the body of a start. Throws std::runtime_error with a text that says what is wrong.
run_api::start_request run_api::read_start(std::string_view body) const {
  start_request r;
  for (const auto& [key, value] : object_of(body)) {
    if (key == "number") {
      r.wish.number = number_of(key, value);
    } else if (key == "again") {
      r.wish.again = truth_of(key, value);
    } else if (key == "menu") {
      r.wish.menu = text_of(key, value);
    } else if (key == "comment") {
      r.wish.comment = comment_of(key, value);
    } else if (key == "here") {
      r.here = truth_of(key, value);
    } else if (key == "without") {
      r.wish.without = numbers_of(value);
    } else {
      throw std::runtime_error(fmt::format(
          "{} is not a key; the keys are number, again, menu, comment, here and without",
          peer_text(key)));
    }
  }
  if (r.wish.again && !r.wish.number) throw std::runtime_error("again needs a number");
  if ((r.here || farm_ == nullptr) && !r.wish.without.empty())
    throw std::runtime_error("without is for a run on all nodes of a farm, not for one alone");
  r.wish.start = true;
  return r;
}

http_response run_api::start(std::string_view body) {
  start_request r;
  try {
    r = read_start(body);
  } catch (const std::runtime_error& e) {
    return refusal(bad_request, {e.what()});
  }
  if (farm_ != nullptr && !r.here) return ask_all(r.wish);
  std::optional<std::uint32_t> number = r.wish.number;
  if (number && !r.wish.again && host_.was_used(*number, control_.now()))
    return refusal(refused_now, {fmt::format("run number {} was already used on this node: choose "
                                             "another, or continue that run with --again (`again`)",
                                             *number)});
  if (!number) number = host_.next_number(control_.now());
  if (!number)
    return refusal(refused_now,
                   {"the highest run number is already used: choose another (--number)"});
  run_order order{*number, r.wish.menu, r.wish.comment};
  if (auto reasons = reasons_against(order, settings_, latest_(), host_); !reasons.empty())
    return refusal(refused_now, reasons);
  const auto now = control_.start(std::move(order));
  if (!now) return refusal(refused_now, {"the daemon ends"});
  return status(accepted, of_all(), *now);
}

http_response run_api::ask_all(const farm_wish& wish) {
  if (const auto reasons = farm_->ask(wish); !reasons.empty()) return refusal(refused_now, reasons);
  auto seen = farm_->now();
  return status(accepted, std::move(seen), control_.now());
}

http_response run_api::stop(std::string_view body) {
  bool here = false;
  try {
    for (const auto& [key, value] : object_of(body)) {
      if (key != "here") throw std::runtime_error("a stop takes no key but here");
      here = truth_of(key, value);
    }
  } catch (const std::runtime_error& e) {
    return refusal(bad_request, {e.what()});
  }
  if (farm_ != nullptr && !here) return ask_all({});
  const auto now = control_.stop();
  if (!now) return refusal(refused_now, {"no run is active or waiting"});
  return status(accepted, of_all(), *now);
}

http_pages run_api::pages() const {
  return {{"/run", [this] {
             const auto seen = of_all();
             return status(200, seen, control_.now());
           }}};
}

http_actions run_api::actions() {
  return {{"/run/start", [this](std::string_view body) { return start(body); }},
          {"/run/stop", [this](std::string_view body) { return stop(body); }}};
}

} // namespace l3
