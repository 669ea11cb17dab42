// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/event_maker.hpp"

#include <algorithm>
#include <cmath>

namespace l3 {
namespace {

// Accidental pulses before the first sample still reach into the waveform.
constexpr double pulse_tail = 150;
constexpr double waveform_length = 512;
constexpr double accidental_energy = 3; // MeV, mean, in a crystal
constexpr double accidental_veto_thresholds =
    0.25; // mean energy in a veto: most activity is below its threshold
constexpr double accidental_truth_energy = 3;
constexpr double accidental_truth_window = 15;

constexpr double trigger_jitter = 4; // ns, half a clock: the beam is not in phase with it

// Halo neutrons: two showers of one neutron, anywhere in the calorimeter.
constexpr double neutron_least = 100;
constexpr double neutron_mean = 250;
constexpr double neutron_distance = 200;
constexpr double neutron_field = 600;
constexpr double neutron_hole = 150;
constexpr double neutron_time_spread = 1.5;

// Light flashed into every crystal; a muon leaves so much in 1 mm of a crystal, and in a
// scintillator.
constexpr double led_energy = 60;
constexpr double laser_energy = 25;
constexpr double flash_spread = 0.03;
constexpr double muon_per_mm = 0.56;
constexpr double muon_in_veto = 15;

} // namespace

event_maker::event_maker(const detector& d) : detector_(d), decays_(d), showers_(d) {
  constexpr double seconds = (pulse_tail + waveform_length) * 1e-9;
  double sum = 0;
  for (std::uint32_t n = 0; n < d.input_count(); ++n) {
    const auto& e = d.at(n);
    if (e.what == element::kind::none) continue;
    const bool is_crystal = e.what == element::kind::crystal;
    const double rate =
        is_crystal ? d.crystals()[e.index].accidental_rate : d.vetoes()[e.index].accidental_rate;
    const bool dead = is_crystal
                          ? d.crystals()[e.index].dead
                          : d.vetoes()[e.index].dead[e.module * d.vetoes()[e.index].ends + e.end];
    if (dead || rate <= 0) continue;
    sum += seconds * rate;
    activity_.push_back({sum, n});
  }
}

void event_maker::make(event_type type, bool on_spill, random_source& random, true_event& out) {
  out.clear();
  out.type = type;
  out.trigger_bits = trigger_bits_of(type, on_spill);
  switch (type) {
  case event_type::pi0nunu:
  case event_type::two_gamma:
  case event_type::two_pi0_lost:
  case event_type::four_cluster:
  case event_type::five_cluster:
  case event_type::six_cluster:
  case event_type::minimum_bias: decays_.make(type, random, out); break;
  case event_type::halo_neutron: add_neutron(random, out); break;
  case event_type::led: add_flash(led_energy, random, out); break;
  case event_type::laser: add_flash(laser_energy, random, out); break;
  case event_type::cosmic: add_cosmic(random, out); break;
  case event_type::accidental:
  case event_type::clock:
  case event_type::recorded:
  case event_type::count_: break;
  }
  leave_energy(random, out);
  if (on_spill && type != event_type::recorded) add_accidentals(random, out);
}

void event_maker::add_neutron(random_source& random, true_event& out) const {
  while (out.photons.size() < 2) {
    true_photon p;
    p.hit = true_photon::target::calorimeter;
    p.energy = neutron_least + neutron_mean * random.exponential();
    p.x = random.uniform(-neutron_field, neutron_field);
    p.y = random.uniform(-neutron_field, neutron_field);
    p.time = neutron_time_spread * random.gaussian();
    if (std::max(std::abs(p.x), std::abs(p.y)) < neutron_hole) continue;
    if (!out.photons.empty()) {
      const double dx = p.x - out.photons[0].x;
      const double dy = p.y - out.photons[0].y;
      if (dx * dx + dy * dy < neutron_distance * neutron_distance) continue;
    }
    out.photons.push_back(p);
  }
}

void event_maker::add_flash(double energy, random_source& random, true_event& out) const {
  for (std::size_t i = 0; i < detector_.crystals().size(); ++i)
    showers_.into_crystal(i, energy * (1 + flash_spread * random.gaussian()), 0, out.signals);
}

void event_maker::add_cosmic(random_source& random, true_event& out) const {
  // A track across the face through a random point, nearly vertical.
  const double x0 = random.uniform(-neutron_field, neutron_field);
  const double slope = random.uniform(-0.5, 0.5);
  const double stretch = std::sqrt(1 + slope * slope);
  for (std::size_t i = 0; i < detector_.crystals().size(); ++i) {
    const auto& c = detector_.crystals()[i];
    const double distance = std::abs(c.x - x0 - slope * c.y) / stretch;
    if (distance > c.size / 2) continue;
    const double energy = muon_per_mm * c.size * stretch * (1 + 0.1 * random.gaussian());
    showers_.into_crystal(i, energy, 0, out.signals);
  }
  for (std::size_t i = 0; i < detector_.vetoes().size(); ++i) {
    const auto& v = detector_.vetoes()[i];
    if (v.shape.form != veto_shape::kind::barrel) continue;
    if (detector_.front() < v.shape.z_from || detector_.front() > v.shape.z_to) continue;
    const double z = detector_.front() - (v.shape.z_from + v.shape.z_to) / 2;
    for (const double y : {v.shape.inner, -v.shape.inner})
      out.hits.push_back({static_cast<std::uint16_t>(i),
                          decay_maker::module_at(v, x0 + slope * y, y), muon_in_veto, 0, z, false});
  }
}

void event_maker::leave_energy(random_source& random, true_event& out) {
  const double jitter = random.uniform(-trigger_jitter, trigger_jitter);
  for (auto& p : out.photons) {
    p.time += jitter;
    if (p.hit == true_photon::target::calorimeter)
      p.deposit = showers_.into_calorimeter(p.energy, p.x, p.y, p.time, random, out.signals);
  }
  for (auto& h : out.hits) {
    h.time += jitter;
    showers_.into_veto(h, out.signals);
  }
}

void event_maker::add_accidentals(random_source& random, true_event& out) const {
  // Exponential steps along the cumulative activity: a Poisson number of pulses on every input.
  std::size_t i = 0;
  for (double at = random.exponential(); i < activity_.size(); at += random.exponential()) {
    while (i < activity_.size() && activity_[i].cumulative < at) ++i;
    if (i == activity_.size()) break;
    const auto input = activity_[i].input;
    const auto& e = detector_.at(input);
    const double start = -pulse_tail - detector_.signals().pulse_time;
    const double time = start + (pulse_tail + waveform_length) * random.uniform();
    if (e.what == element::kind::crystal) {
      const double energy = accidental_energy * random.exponential();
      out.signals.push_back({input, energy * detector_.crystals()[e.index].counts_per_mev, time});
      if (energy > accidental_truth_energy && std::abs(time) < accidental_truth_window)
        out.accidentals.push_back({e.index, energy, time});
    } else {
      // Each end alone: most of this activity is noise of the tube or a particle at that end.
      const auto& v = detector_.vetoes()[e.index];
      const double energy = accidental_veto_thresholds * v.threshold * random.exponential();
      out.signals.push_back({input, energy * v.counts_per_unit, time});
      if (energy > v.threshold && time > v.window_from && time < v.window_to)
        out.hits.push_back({e.index, e.module, energy, time, 0, true});
    }
  }
}

} // namespace l3
