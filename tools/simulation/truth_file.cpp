// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/truth_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "transport/system/reason_of.hpp"

namespace l3 {

std::string_view name_of(event_type t) {
  switch (t) {
  case event_type::pi0nunu: return "pi0nunu";
  case event_type::two_gamma: return "two_gamma";
  case event_type::two_pi0_lost: return "two_pi0_lost";
  case event_type::halo_neutron: return "halo_neutron";
  case event_type::four_cluster: return "four_cluster";
  case event_type::five_cluster: return "five_cluster";
  case event_type::six_cluster: return "six_cluster";
  case event_type::accidental: return "accidental";
  case event_type::ke3: return "ke3";
  case event_type::kmu3: return "kmu3";
  case event_type::charged_3pi: return "charged_3pi";
  case event_type::minimum_bias: return "minimum_bias";
  case event_type::led: return "led";
  case event_type::laser: return "laser";
  case event_type::cosmic: return "cosmic";
  case event_type::clock: return "clock";
  case event_type::recorded: return "recorded";
  case event_type::count_: break;
  }
  return "?";
}

std::optional<event_type> event_type_named(std::string_view name) {
  for (std::size_t t = 0; t < static_cast<std::size_t>(event_type::count_); ++t)
    if (name_of(static_cast<event_type>(t)) == name) return static_cast<event_type>(t);
  return std::nullopt;
}

std::uint16_t trigger_bits_of(event_type t, bool on_spill) {
  const auto bit = [t]() -> std::uint16_t {
    switch (t) {
    case event_type::pi0nunu:
    case event_type::two_gamma:
    case event_type::two_pi0_lost:
    case event_type::halo_neutron:
    case event_type::ke3:
    case event_type::kmu3:
    case event_type::charged_3pi: return trigger_two_clusters;
    case event_type::four_cluster: return trigger_four_clusters;
    case event_type::five_cluster: return trigger_five_clusters;
    case event_type::six_cluster: return trigger_six_clusters;
    case event_type::accidental: return trigger_accidental;
    case event_type::minimum_bias: return trigger_minimum_bias;
    case event_type::led: return trigger_led;
    case event_type::laser: return trigger_laser;
    case event_type::cosmic: return trigger_cosmic;
    case event_type::clock: return trigger_clock;
    case event_type::recorded:
    case event_type::count_: break;
    }
    return 0;
  }();
  return static_cast<std::uint16_t>(bit | (on_spill ? trigger_on_spill : 0));
}

void true_event::clear() {
  trigger_bits = 0;
  vertex_x = vertex_y = vertex_z = kaon_momentum = 0;
  photons.clear();
  charged.clear();
  hits.clear();
  accidentals.clear();
  signals.clear();
}

namespace {

/// Writes one object or list. Numbers have three digits after the point, which is enough and the
/// same on any machine.
/// same on any machine.
class json_line {
public:
  explicit json_line(std::string& out) : out_(out) {}

  json_line& raw(std::string_view text) {
    out_ += text;
    return *this;
  }
  json_line& key(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    out_ += '"';
    out_ += name;
    out_ += "\":";
    return *this;
  }
  json_line& text(std::string_view value) {
    out_ += '"';
    out_ += value;
    out_ += '"';
    return *this;
  }
  json_line& whole(std::int64_t value) {
    std::array<char, 24> buffer{};
    const auto r = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    out_.append(buffer.data(), r.ptr);
    return *this;
  }
  json_line& figure(double value) {
    std::array<char, 64> buffer{};
    const auto r = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::fixed, 3);
    out_.append(buffer.data(), r.ptr);
    return *this;
  }

private:
  std::string& out_;
};

std::string_view name_of(true_charged::kind k) {
  switch (k) {
  case true_charged::kind::pion: return "pion";
  case true_charged::kind::muon: return "muon";
  case true_charged::kind::electron: break;
  }
  return "electron";
}

} // namespace

void append_truth(std::string& out, const detector& d, const true_event& e, event_key key,
                  std::chrono::nanoseconds since_spill) {
  json_line line(out);
  const auto separate = [&, first = true]() mutable {
    if (!first) out += ',';
    first = false;
  };
  line.raw("{").key("spill").whole(key.spill).key("event").whole(key.number);
  line.key("since_spill").whole(since_spill.count()).key("type").text(name_of(e.type));
  line.key("trigger_bits").whole(e.trigger_bits);
  if (e.vertex_z != 0) {
    line.key("vertex").raw("[").figure(e.vertex_x).raw(",").figure(e.vertex_y);
    line.raw(",").figure(e.vertex_z).raw("]").key("kaon_momentum").figure(e.kaon_momentum);
  }
  line.key("photons").raw("[");
  for (auto next = separate; const auto& p : e.photons) {
    next();
    line.raw("{").key("energy").figure(p.energy).key("hit");
    switch (p.hit) {
    case true_photon::target::calorimeter: line.text("CsI"); break;
    case true_photon::target::veto: line.text(d.vetoes()[p.veto].name); break;
    case true_photon::target::nothing: line.raw("null"); break;
    }
    if (p.hit == true_photon::target::calorimeter) line.key("deposit").figure(p.deposit);
    if (p.hit != true_photon::target::nothing)
      line.key("x").figure(p.x).key("y").figure(p.y).key("time").figure(p.time);
    line.raw("}");
  }
  if (!e.charged.empty()) {
    line.raw("]").key("charged").raw("[");
    for (auto next = separate; const auto& p : e.charged) {
      next();
      line.raw("{").key("particle").text(name_of(p.what)).key("momentum").figure(p.momentum);
      if (p.deposit > 0)
        line.key("deposit").figure(p.deposit).key("x").figure(p.x).key("y").figure(p.y);
      if (p.deposit > 0) line.key("time").figure(p.time);
      line.raw("}");
    }
  }
  line.raw("]").key("counters").raw("[");
  for (auto next = separate; const auto& h : e.hits) {
    next();
    line.raw("{").key("name").text(d.vetoes()[h.veto].name).key("module").whole(h.module);
    line.key("energy").figure(h.energy).key("time").figure(h.time).key("z").figure(h.z);
    line.key("accidental").raw(h.accidental ? "true}" : "false}");
  }
  line.raw("]").key("accidental_crystals").raw("[");
  for (auto next = separate; const auto& a : e.accidentals) {
    const auto& c = d.crystals()[a.crystal];
    next();
    line.raw("{").key("x").figure(c.x).key("y").figure(c.y);
    line.key("energy").figure(a.energy).key("time").figure(a.time).raw("}");
  }
  line.raw("]}\n");
}

truth_file::truth_file(const std::filesystem::path& file)
    : path_(file), file_(std::fopen(file.c_str(), "we")) {
  if (!file_) fail();
}

void truth_file::fail() const {
  throw std::runtime_error("cannot write " + path_.string() + ": " +
                           std::generic_category().message(errno));
}

void truth_file::write(const std::string& lines) {
  if (std::fwrite(lines.data(), 1, lines.size(), file_.get()) != lines.size()) fail();
}

void truth_file::close() {
  if (std::fclose(file_.release()) != 0) fail();
}

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
        fmt::format("{}:{}: is not a line of truth: {}", name_, number_, reason_of(e)));
  }
  return true;
}

} // namespace l3
