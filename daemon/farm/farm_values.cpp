// SPDX-License-Identifier: Apache-2.0
#include "daemon/farm/farm_values.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "transport/format/plain_text.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

constexpr std::uint64_t format_version = 1;

template <class Number>
Number number_at(const json::object& o, std::string_view key) {
  return o.at(key).to_number<Number>();
}

std::uint32_t count_at(const json::object& o, std::string_view key) {
  return number_at<std::uint32_t>(o, key);
}

std::optional<std::uint32_t> count_or_null(const json::object& o, std::string_view key) {
  return o.at(key).is_null() ? std::nullopt : std::optional(count_at(o, key));
}

std::string text_at(const json::object& o, std::string_view key) {
  return std::string(o.at(key).as_string());
}

/// A text of one line that is safe to show.
std::string line_at(const json::object& o, std::string_view key) {
  return peer_text(text_at(o, key));
}

json::object object_in(std::string_view text) {
  json::value v = json::parse({text.data(), text.size()});
  if (number_at<std::uint64_t>(v.as_object(), "version") != format_version)
    throw std::runtime_error("another version of koto-l3 wrote it");
  return std::move(v.as_object());
}

std::optional<std::uint32_t> node_in(std::string_view name) {
  std::uint32_t node = 0;
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), node);
  const bool whole = wrong == std::errc{} && end == name.data() + name.size();
  return whole && std::to_string(node) == name ? std::optional(node) : std::nullopt;
}

/// The node number that follows the prefix.
std::optional<std::uint32_t> node_behind(std::string_view key, std::string_view beginning) {
  if (!key.starts_with(beginning)) return std::nullopt;
  return node_in(key.substr(beginning.size()));
}

template <class Value>
farm_entry<Value> entry_of(const etcd_key& k, Value value) {
  return {std::move(value), k.created, k.changed};
}

json::value value_of(const std::optional<std::uint32_t>& n) {
  return n ? json::value(*n) : json::value(nullptr);
}

} // namespace

std::string written(const farm_member_value& m) {
  return json::serialize(json::object{{"version", format_version},
                                      {"instance", m.instance},
                                      {"place", m.place},
                                      {"host", m.host},
                                      {"process", m.process},
                                      {"state", m.state},
                                      {"run", value_of(m.run)},
                                      {"next", value_of(m.next)},
                                      {"serial", m.serial},
                                      {"failure", m.failure},
                                      {"not_well", value_of(m.not_well)}});
}

farm_member_value read_member(std::string_view text) {
  const json::object o = object_in(text);
  return {line_at(o, "instance"),   line_at(o, "place"),
          line_at(o, "host"),       count_at(o, "process"),
          line_at(o, "state"),      count_or_null(o, "run"),
          count_or_null(o, "next"), number_at<std::uint64_t>(o, "serial"),
          line_at(o, "failure"),    count_or_null(o, "not_well")};
}

std::string written(const farm_order& o) {
  json::object nodes;
  for (const auto& [node, instance] : o.nodes) nodes[std::to_string(node)] = instance;
  return json::serialize(json::object{{"version", format_version},
                                      {"serial", o.serial},
                                      {"start", o.start},
                                      {"number", o.number},
                                      {"again", o.again},
                                      {"comment", o.comment},
                                      {"menu", o.menu},
                                      {"menu_text", o.menu_text},
                                      {"selection", o.selection},
                                      {"by", o.by},
                                      {"nodes", std::move(nodes)}});
}

farm_order read_order(std::string_view text) {
  const json::object o = object_in(text);
  farm_order order{number_at<std::uint64_t>(o, "serial"),
                   o.at("start").as_bool(),
                   count_at(o, "number"),
                   o.at("again").as_bool(),
                   line_at(o, "comment"),
                   line_at(o, "menu"),
                   text_at(o, "menu_text"),
                   line_at(o, "selection"),
                   count_at(o, "by"),
                   {}};
  for (const auto& [name, instance] : o.at("nodes").as_object()) {
    const auto node = node_in(name);
    if (!node) throw std::runtime_error("nodes has an entry that is not a number");
    order.nodes[*node] = peer_text(std::string_view(instance.as_string()));
  }
  return order;
}

std::string written(const farm_reply& r) {
  return json::serialize(json::object{{"version", format_version},
                                      {"instance", r.instance},
                                      {"order", r.order},
                                      {"reasons", json::value_from(r.reasons)}});
}

farm_reply read_reply(std::string_view text) {
  const json::object o = object_in(text);
  farm_reply r{line_at(o, "instance"), number_at<std::int64_t>(o, "order"), {}};
  for (const json::value& reason : o.at("reasons").as_array())
    r.reasons.push_back(peer_text(std::string_view(reason.as_string())));
  return r;
}

namespace {

void read_key(farm_view& v, std::string_view name, const etcd_key& k) {
  if (name == farm_keys::order) v.order = entry_of(k, read_order(k.value));
  if (name == farm_keys::now) v.run = entry_of(k, read_order(k.value));
  if (const auto node = node_behind(name, farm_keys::members))
    v.members.emplace(*node, entry_of(k, read_member(k.value)));
  if (const auto node = node_behind(name, farm_keys::nodes)) v.nodes.insert(*node);
  if (const auto node = node_behind(name, farm_keys::armed))
    v.replies.emplace(*node, entry_of(k, read_reply(k.value)));
}

} // namespace

farm_view read_view(const std::string& prefix, const std::vector<etcd_keys>& found) {
  farm_view v;
  for (const etcd_keys& of_kind : found) {
    if (of_kind.cut)
      throw std::runtime_error(
          fmt::format("there are more than {} keys of a kind under {}", farm_limits::keys, prefix));
    for (const etcd_key& k : of_kind.keys) {
      try {
        read_key(v, std::string_view(k.name).substr(std::min(prefix.size(), k.name.size())), k);
      } catch (const std::exception& e) {
        throw std::runtime_error(
            fmt::format("etcd's key {} is invalid ({}): remove it", peer_text(k.name), e.what()));
      }
    }
  }
  return v;
}

} // namespace l3
