// SPDX-License-Identifier: Apache-2.0
#include "daemon/farm/farm_values.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "transport/format/plain_text.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

constexpr std::uint64_t format_version = 1;
constexpr std::size_t deepest_json = 8;
constexpr std::size_t instance_digits = 16;
constexpr std::size_t most_odd = 16; ///< that are told of
constexpr std::uint64_t largest_u32 = std::numeric_limits<std::uint32_t>::max();

struct other_version : std::runtime_error {
  other_version() : std::runtime_error("it is of another version of koto-l3") {}
};

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }

/// The keys of a value, one after the other.
class fields {
public:
  explicit fields(std::string_view text) {
    if (text.size() > farm_limits::value)
      fail(fmt::format("it has {} bytes, more than {}", text.size(), farm_limits::value));
    json::parse_options limits;
    limits.max_depth = deepest_json;
    json::error_code error;
    json::value v = json::parse({text.data(), text.size()}, error, {}, limits);
    if (error || !v.is_object()) fail("it is no JSON object");
    all_ = std::move(v.as_object());
    if (number("version", largest_u32) != format_version) throw other_version();
  }

  [[nodiscard]] const json::value* find(std::string_view key) const {
    return all_.if_contains(key);
  }
  [[nodiscard]] std::uint64_t number(std::string_view key, std::uint64_t most) const {
    const json::value* v = find(key);
    json::error_code error;
    const auto n = v != nullptr && v->is_number() ? v->to_number<std::uint64_t>(error) : most + 1;
    if (error || n > most) fail(fmt::format("{} is no number up to {}", std::string(key), most));
    return n;
  }
  [[nodiscard]] std::uint32_t number(std::string_view key) const {
    return static_cast<std::uint32_t>(number(key, largest_u32));
  }
  [[nodiscard]] std::optional<std::uint32_t> number_or_null(std::string_view key) const {
    const json::value* v = find(key);
    if (v != nullptr && v->is_null()) return std::nullopt;
    return number(key);
  }
  /// As above, of a key that an older daemon does not write: then there is none.
  [[nodiscard]] std::optional<std::uint32_t> number_or_none(std::string_view key) const {
    return find(key) == nullptr ? std::nullopt : number_or_null(key);
  }
  [[nodiscard]] bool truth(std::string_view key) const {
    const json::value* v = find(key);
    if (v == nullptr || !v->is_bool()) fail(std::string(key) + " is neither true nor false");
    return v->as_bool();
  }
  /// One line that may be shown.
  [[nodiscard]] std::string line(std::string_view key) const {
    std::string text = any_text(key, farm_limits::text);
    if (find_unplain(text)) fail(std::string(key) + " is no plain text");
    return text;
  }
  [[nodiscard]] std::string any_text(std::string_view key, std::size_t most) const {
    const json::value* v = find(key);
    if (v == nullptr || !v->is_string() || v->as_string().size() > most)
      fail(fmt::format("{} is no text of at most {} bytes", std::string(key), most));
    return std::string(v->as_string());
  }
  [[nodiscard]] std::string instance(std::string_view key) const {
    std::string text = line(key);
    if (text.size() != instance_digits) fail(std::string(key) + " is no instance");
    return text;
  }

private:
  json::object all_;
};

std::optional<std::uint32_t> node_in(std::string_view name) {
  std::uint32_t node = 0;
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), node);
  const bool whole = wrong == std::errc{} && end == name.data() + name.size();
  return whole && std::to_string(node) == name ? std::optional(node) : std::nullopt;
}

/// Reads keys into a view, and tells of those that it leaves out.
class view_reader {
public:
  view_reader(farm_view& to, const std::string& prefix) : to_(to), prefix_(prefix) {}

  template <class Each>
  void read(const etcd_keys& found, std::string_view beginning, const Each& each) {
    to_.cut = to_.cut || found.cut;
    if (found.cut)
      tell(fmt::format("there are more than {} keys under {}{}", farm_limits::keys, prefix_,
                       std::string(beginning)));
    for (const etcd_key& k : found.keys) {
      const std::string shown = peer_text(k.name);
      const std::string name = k.name.substr(std::min(prefix_.size(), k.name.size()));
      try {
        if (!each(name, k)) tell(shown + " is no key of a farm");
      } catch (const other_version& e) {
        tell(fmt::format("{} cannot be understood: {}", shown, e.what()));
      } catch (const std::runtime_error& e) {
        tell(fmt::format("{} cannot be understood: {}", shown, e.what()));
        to_.nonsense[name] = k.changed;
      }
    }
  }

private:
  void tell(std::string what) {
    if (to_.odd.size() < most_odd) to_.odd.push_back(std::move(what));
  }

  farm_view& to_;
  const std::string& prefix_;
};

/// What stands behind a beginning as a node's number.
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
  const fields f(text);
  return {f.instance("instance"),   f.line("place"),
          f.line("host"),           f.number("process"),
          f.line("state"),          f.number_or_null("run"),
          f.number_or_null("next"), f.number("serial", farm_limits::serial),
          f.line("failure"),        f.number_or_none("not_well")};
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
  const fields f(text);
  farm_order o{f.number("serial", farm_limits::serial),
               f.truth("start"),
               f.number("number"),
               f.truth("again"),
               f.line("comment"),
               f.line("menu"),
               f.any_text("menu_text", farm_limits::menu),
               f.line("selection"),
               f.number("by"),
               {}};
  const json::value* nodes = f.find("nodes");
  if (nodes == nullptr || !nodes->is_object() || nodes->as_object().size() > farm_limits::nodes)
    fail(fmt::format("nodes is no list of at most {} nodes", farm_limits::nodes));
  for (const auto& [name, instance] : nodes->as_object()) {
    const auto node = node_in(name);
    if (!node || !instance.is_string() || instance.as_string().size() != instance_digits ||
        find_unplain(instance.as_string()))
      fail("nodes names one that is none");
    o.nodes[*node] = std::string(instance.as_string());
  }
  return o;
}

std::string written(const farm_reply& r) {
  return json::serialize(json::object{{"version", format_version},
                                      {"instance", r.instance},
                                      {"order", r.order},
                                      {"reasons", json::value_from(r.reasons)}});
}

farm_reply read_reply(std::string_view text) {
  const fields f(text);
  constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
  farm_reply r{f.instance("instance"), static_cast<std::int64_t>(f.number("order", largest)), {}};
  const json::value* reasons = f.find("reasons");
  if (reasons == nullptr || !reasons->is_array() ||
      reasons->as_array().size() > farm_limits::reasons)
    fail(fmt::format("reasons is no list of at most {}", farm_limits::reasons));
  for (const json::value& reason : reasons->as_array()) {
    if (!reason.is_string()) fail("a reason is no text");
    r.reasons.push_back(peer_text(std::string_view(reason.as_string())));
  }
  return r;
}

std::int64_t farm_view::run_changed() const {
  if (run) return run->changed;
  const auto found = nonsense.find(std::string(farm_keys::now));
  return found == nonsense.end() ? 0 : found->second;
}

farm_view read_view(const std::string& prefix, const std::vector<etcd_keys>& found) {
  farm_view v;
  view_reader reader(v, prefix);
  reader.read(found.at(0), farm_keys::members, [&](std::string_view key, const etcd_key& k) {
    const auto node = node_behind(key, farm_keys::members);
    if (node) v.members.emplace(*node, entry_of(k, read_member(k.value)));
    return node.has_value();
  });
  reader.read(found.at(1), farm_keys::nodes, [&](std::string_view key, const etcd_key&) {
    const auto node = node_behind(key, farm_keys::nodes);
    if (node) v.nodes.insert(*node);
    return node.has_value();
  });
  reader.read(found.at(2), farm_keys::runs, [&](std::string_view key, const etcd_key& k) {
    if (key == farm_keys::order) {
      v.order = entry_of(k, read_order(k.value));
    } else if (key == farm_keys::now) {
      v.run = entry_of(k, read_order(k.value));
    } else if (const auto node = node_behind(key, farm_keys::armed)) {
      v.replies.emplace(*node, entry_of(k, read_reply(k.value)));
    } else {
      return false;
    }
    return true;
  });
  return v;
}

} // namespace l3
