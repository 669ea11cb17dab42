// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/true_event.hpp"

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

} // namespace l3
