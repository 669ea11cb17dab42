// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/truth_file.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/print.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

std::optional<event_type> event_type_named(std::string_view name) {
  const auto found = std::ranges::find(names_of<event_type>, name);
  if (found == names_of<event_type>.end()) return std::nullopt;
  return static_cast<event_type>(found - names_of<event_type>.begin());
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

void append_truth(std::string& out, const detector& d, const true_event& e, event_key key,
                  std::chrono::nanoseconds since_spill) {
  const auto separate = [&, first = true]() mutable {
    if (!first) out += ',';
    first = false;
  };
  append(out, R"({{"spill":{},"event":{},"since_spill":{},"type":"{}","trigger_bits":{})",
         key.spill, key.number, since_spill.count(), name_of(e.type), e.trigger_bits);
  if (e.vertex_z != 0)
    append(out, R"(,"vertex":[{:.3f},{:.3f},{:.3f}],"kaon_momentum":{:.3f})", e.vertex_x,
           e.vertex_y, e.vertex_z, e.kaon_momentum);
  out += R"(,"photons":[)";
  for (auto next = separate; const auto& p : e.photons) {
    next();
    append(out, R"({{"energy":{:.3f},"hit":)", p.energy);
    switch (p.hit) {
    case true_photon::target::calorimeter:
      append(out, R"("CsI","deposit":{:.3f})", p.deposit);
      break;
    case true_photon::target::veto: append(out, R"("{}")", d.vetoes()[p.veto].name); break;
    case true_photon::target::nothing: out += "null"; break;
    }
    if (p.hit != true_photon::target::nothing)
      append(out, R"(,"x":{:.3f},"y":{:.3f},"time":{:.3f})", p.x, p.y, p.time);
    out += '}';
  }
  if (!e.charged.empty()) {
    out += R"(],"charged":[)";
    for (auto next = separate; const auto& p : e.charged) {
      next();
      append(out, R"({{"particle":"{}","momentum":{:.3f})", name_of(p.what), p.momentum);
      if (p.deposit > 0)
        append(out, R"(,"deposit":{:.3f},"x":{:.3f},"y":{:.3f},"time":{:.3f})", p.deposit, p.x, p.y,
               p.time);
      out += '}';
    }
  }
  out += R"(],"counters":[)";
  for (auto next = separate; const auto& h : e.hits) {
    next();
    append(
        out,
        R"({{"name":"{}","module":{},"energy":{:.3f},"time":{:.3f},"z":{:.3f},"accidental":{}}})",
        d.vetoes()[h.veto].name, h.module, h.energy, h.time, h.z, h.accidental);
  }
  out += R"(],"accidental_crystals":[)";
  for (auto next = separate; const auto& a : e.accidentals) {
    const auto& c = d.crystals()[a.crystal];
    next();
    append(out, R"({{"x":{:.3f},"y":{:.3f},"energy":{:.3f},"time":{:.3f}}})", c.x, c.y, a.energy,
           a.time);
  }
  out += "]}\n";
}

namespace {

namespace json = boost::json;

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
    : name_(file.string()), detector_(d), in_(file) {
  if (!in_)
    throw std::runtime_error("cannot read " + name_ + ": " +
                             std::generic_category().message(errno));
}

bool truth_reader::next(true_event& out, event_key& key) {
  std::string line;
  if (!std::getline(in_, line)) return false;
  ++number_;
  out.clear();
  try {
    take(json::parse(line).as_object(), detector_, out, key);
  } catch (const std::exception& e) {
    throw std::runtime_error(
        fmt::format("{}:{}: is not a line of truth: {}", name_, number_, reason_of(e)));
  }
  return true;
}

} // namespace l3
