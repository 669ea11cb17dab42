// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/event_maker.hpp"

#include <algorithm>
#include <cmath>

namespace l3 {
namespace {

// Accidental pulses before the first sample still reach the waveform.
constexpr double pulse_tail = 150;
constexpr double waveform_length = 512;
constexpr double accidental_energy = 3; // mean in a crystal, MeV
constexpr double accidental_veto_thresholds =
    0.25; // mean energy in a veto, relative to its threshold
constexpr double accidental_truth_energy = 3;
constexpr double accidental_truth_window = 15;

constexpr double trigger_jitter = 4; // ns, half a clock: the beam is not in phase with the clock

// Halo neutrons make two showers of one neutron, anywhere in the calorimeter.
constexpr double neutron_least = 100;
constexpr double neutron_mean = 250;
constexpr double neutron_distance = 200;
constexpr double neutron_field = 600;
constexpr double neutron_hole = 150;
constexpr double neutron_time_spread = 1.5;

// Light flashed into every crystal; energy of a muon per mm of a crystal and of a scintillator.
constexpr double led_energy = 60;
constexpr double laser_energy = 25;
constexpr double flash_spread = 0.03;
constexpr double muon_per_mm = 0.56;
constexpr double muon_in_veto = 15;

/// Counters with at least this rate are in the beam.
constexpr double rate_in_beam = 1e6;
constexpr double beam_tail_factor = 30;
bool is_in_beam(const veto& v) { return v.accidental_rate >= rate_in_beam; }

// Backsplash of a shower: slow photons and neutrons in the counters in front of the calorimeter.
constexpr double backsplash_energy = 1.5; // MeV, mean
constexpr double backsplash_delay = 5;    // ns, mean
constexpr double backsplash_reach = 1000; // mm

bool stands_before(const veto_shape& s, double front) {
  if (s.form == veto_shape::kind::none || s.z_from >= front) return false;
  return s.z_to > front - backsplash_reach;
}

} // namespace

event_maker::event_maker(const detector& d, const simulated_effects& effects)
    : detector_(d), effects_(effects), decays_(d), showers_(d) {
  constexpr double seconds = (pulse_tail + waveform_length) * 1e-9;
  double sum = 0;
  for (std::uint32_t n = 0; n < d.input_count(); ++n) {
    const auto& e = d.at(n);
    if (e.what == element::kind::none) continue;
    const bool is_crystal = e.what == element::kind::crystal;
    double rate = effects.accidentals * (is_crystal ? d.crystals()[e.index].accidental_rate
                                                    : d.vetoes()[e.index].accidental_rate);
    if (!is_crystal && is_in_beam(d.vetoes()[e.index])) rate *= effects.beam_pile_up;
    const bool dead = is_crystal
                          ? d.crystals()[e.index].dead
                          : d.vetoes()[e.index].dead[e.module * d.vetoes()[e.index].ends + e.end];
    if (dead || rate <= 0) continue;
    sum += seconds * rate;
    activity_.push_back({sum, n});
  }
  for (std::size_t i = 0; i < d.vetoes().size(); ++i)
    if (stands_before(d.vetoes()[i].shape, d.front()))
      before_calorimeter_.push_back(static_cast<std::uint16_t>(i));
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
  case event_type::ke3:
  case event_type::kmu3:
  case event_type::charged_3pi:
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
  for (auto& p : out.charged) {
    p.time += jitter;
    if (p.deposit <= 0) continue;
    if (p.showers) {
      p.deposit = showers_.into_calorimeter(p.deposit, p.x, p.y, p.time, random, out.signals);
    } else {
      showers_.along_track(p.deposit, p.x, p.y, p.time, out.signals);
    }
  }
  for (auto& h : out.hits) h.time += jitter;
  if (effects_.veto_inefficiency > 0)
    std::erase_if(out.hits,
                  [&](const true_hit&) { return random.chance(effects_.veto_inefficiency); });
  if (effects_.backsplash > 0) add_backsplash(random, out);
  for (const auto& h : out.hits) showers_.into_veto(h, out.signals);
}

event_maker::place event_maker::near_calorimeter(const veto_shape& s, random_source& random) const {
  const auto direction = random_direction(random);
  const double across = std::sqrt(direction.x * direction.x + direction.y * direction.y);
  const bool wall = s.form == veto_shape::kind::wall;
  const double radius = wall ? random.uniform(s.inner, s.outer) : s.inner;
  const double z = wall ? s.z_from
                        : random.uniform(std::max(s.z_from, detector_.front() - backsplash_reach),
                                         std::min(s.z_to, detector_.front()));
  return {radius * direction.x / across, radius * direction.y / across, z};
}

void event_maker::add_backsplash(random_source& random, true_event& out) const {
  constexpr double gev = 1000;
  for (const auto& p : out.photons) {
    if (p.deposit <= 0 || before_calorimeter_.empty()) continue;
    const double expected = effects_.backsplash * p.deposit / gev;
    double at = 0;
    while ((at += random.exponential()) < expected) {
      const auto i =
          before_calorimeter_[random.below(static_cast<std::uint32_t>(before_calorimeter_.size()))];
      const auto& v = detector_.vetoes()[i];
      const double energy = backsplash_energy * random.exponential();
      const place to = near_calorimeter(v.shape, random);
      const double away = std::sqrt((to.x - p.x) * (to.x - p.x) + (to.y - p.y) * (to.y - p.y) +
                                    (detector_.front() - to.z) * (detector_.front() - to.z));
      const double time = p.time + away / light_speed + backsplash_delay * random.exponential();
      out.hits.push_back({i, decay_maker::module_at(v, to.x, to.y), energy, time,
                          decay_maker::along_module(v.shape, to.z), false});
    }
  }
}

void event_maker::add_accidentals(random_source& random, true_event& out) const {
  // Exponential steps along the cumulative activity give a Poisson number of pulses on every input.
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
      // Only one end: most of this activity is tube noise or a particle at that end.
      const auto& v = detector_.vetoes()[e.index];
      double energy = accidental_veto_thresholds * v.threshold * random.exponential();
      if (effects_.beam_tail > 0 && is_in_beam(v) && random.chance(effects_.beam_tail))
        energy *= beam_tail_factor;
      out.signals.push_back({input, energy * v.counts_per_unit, time});
      const double hit = time - v.delay;
      if (energy > v.threshold && hit - v.t0 > v.window_from && hit - v.t0 < v.window_to)
        out.hits.push_back({e.index, e.module, energy, hit, 0, true});
    }
  }
}

} // namespace l3
