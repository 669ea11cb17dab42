// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/truth_reader.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "transport/system/reason_of.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

/// A thousand times the simulator's longest line.
constexpr std::size_t longest_line = std::size_t{1} << 20;

double figure(const json::object& o, std::string_view key) { return o.at(key).to_number<double>(); }

event_type type_of(std::string_view name) {
  if (const auto type = event_type_named(name)) return *type;
  throw std::runtime_error("there is no event type " + std::string(name));
}

std::uint16_t veto_of(std::string_view name, const detector& d) {
  const auto& all = d.vetoes();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const veto& v) { return v.name == name; });
  if (found == all.end())
    throw std::runtime_error("the detector has no counter " + std::string(name));
  return static_cast<std::uint16_t>(found - all.begin());
}

true_photon photon_of(const json::object& o, const detector& d) {
  true_photon p;
  p.energy = figure(o, "energy");
  const json::value& hit = o.at("hit");
  if (hit.is_null()) return p;
  p.x = figure(o, "x");
  p.y = figure(o, "y");
  p.time = figure(o, "time");
  p.hit = true_photon::target::calorimeter;
  if (hit.as_string() == "CsI") {
    p.deposit = figure(o, "deposit");
    return p;
  }
  p.hit = true_photon::target::veto;
  p.veto = veto_of(hit.as_string(), d);
  return p;
}

true_hit hit_of(const json::object& o, const detector& d) {
  return {veto_of(o.at("name").as_string(), d),
          o.at("module").to_number<std::uint16_t>(),
          figure(o, "energy"),
          figure(o, "time"),
          figure(o, "z"),
          o.at("accidental").as_bool()};
}

void take(const json::object& o, const detector& d, true_event& out, event_key& key) {
  key = {o.at("spill").to_number<std::uint32_t>(), o.at("event").to_number<std::uint32_t>()};
  out.type = type_of(o.at("type").as_string());
  out.trigger_bits = o.at("trigger_bits").to_number<std::uint16_t>();
  out.since_spill = std::chrono::nanoseconds(o.at("since_spill").to_number<std::int64_t>());
  if (const auto* vertex = o.if_contains("vertex")) {
    const json::array& at = vertex->as_array();
    out.vertex_x = at.at(0).to_number<double>();
    out.vertex_y = at.at(1).to_number<double>();
    out.vertex_z = at.at(2).to_number<double>();
    out.kaon_momentum = figure(o, "kaon_momentum");
  }
  for (const auto& p : o.at("photons").as_array())
    out.photons.push_back(photon_of(p.as_object(), d));
  for (const auto& h : o.at("counters").as_array()) out.hits.push_back(hit_of(h.as_object(), d));
}

} // namespace

truth_reader::truth_reader(const std::filesystem::path& file, const detector& d)
    : name_(file.string()), detector_(d), in_(open_input(file)), buffer_(longest_line + 1, '\0') {
  if (!in_.refusal.empty()) throw std::runtime_error(name_ + " " + in_.refusal);
}

std::optional<std::string_view> truth_reader::next_line() {
  while (true) {
    const auto rest = std::string_view(buffer_).substr(taken_, held_ - taken_);
    if (at_end_ && rest.empty()) return std::nullopt;
    const auto end = rest.find('\n');
    if (end != rest.npos || at_end_) {
      ++number_;
      taken_ += std::min(end, rest.size() - 1) + 1;
      return rest.substr(0, end);
    }
    if (rest.size() == buffer_.size())
      throw std::runtime_error(
          fmt::format("{}:{}: the line is longer than {} bytes", name_, number_ + 1, longest_line));
    read_on();
  }
}

void truth_reader::read_on() {
  held_ -= taken_;
  std::memmove(buffer_.data(), buffer_.data() + std::exchange(taken_, 0), held_);
  const auto to = std::as_writable_bytes(std::span(buffer_)).subspan(held_);
  std::error_code error;
  const std::size_t bytes = read_up_to(in_.file.get(), offset_, to, error);
  if (error) throw std::runtime_error(name_ + " " + cannot_be_read(error));
  at_end_ = bytes < to.size();
  offset_ += bytes;
  held_ += bytes;
}

bool truth_reader::next(true_event& out, event_key& key) {
  const auto line = next_line();
  if (!line) return false;
  out.clear();
  try {
    take(json::parse({line->data(), line->size()}).as_object(), detector_, out, key);
  } catch (const std::exception& e) {
    throw std::runtime_error(
        fmt::format("{}:{}: is no line of truth: {}", name_, number_, reason_of(e)));
  }
  return true;
}

} // namespace l3
