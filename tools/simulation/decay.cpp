// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/decay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace l3 {
namespace {

// The beam: momenta above 0.4 GeV with a mean of 1.6, decays along the whole decay volume, a target
// 20 m upstream.
constexpr double least_momentum = 400;
constexpr double momentum_step = 400;
constexpr double beam_half_size = 35;
constexpr double target_distance = 20000;
constexpr double decay_from = 2000;
constexpr double decay_to = 5900;

// Level 1 counts clusters, so an event of n clusters has n photons that make clusters.
constexpr double least_photon_energy = 50;
constexpr double least_photon_distance = 150;
constexpr int most_tries = 20000;

constexpr double never = std::numeric_limits<double>::max(); // mm along a way

// A charged particle in 500 mm of caesium iodide; a pion may shower there.
constexpr double track_energy = 280; // MeV
constexpr double track_spread = 0.15;
constexpr double hadronic_chance = 0.6;
constexpr double between_modules = 1.1; // in ns, of consecutive modules

bool in_calorimeter(const true_photon& p) { return p.hit == true_photon::target::calorimeter; }

/// The origin of a cluster in the calorimeter.
struct cluster_at {
  double energy;
  double x;
  double y;
};

std::vector<cluster_at> clusters_of(const true_event& e) {
  std::vector<cluster_at> all;
  for (const auto& p : e.photons)
    if (in_calorimeter(p)) all.push_back({p.energy, p.x, p.y});
  for (const auto& p : e.charged)
    if (p.deposit > 0) all.push_back({p.deposit, p.x, p.y});
  return all;
}

bool make_clusters(const true_event& e, std::uint32_t wanted) {
  const auto clusters = clusters_of(e);
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    if (clusters[i].energy < least_photon_energy) return false;
    for (std::size_t j = 0; j < i; ++j) {
      const double dx = clusters[i].x - clusters[j].x;
      const double dy = clusters[i].y - clusters[j].y;
      if (dx * dx + dy * dy < least_photon_distance * least_photon_distance) return false;
    }
  }
  return clusters.size() == wanted;
}

bool is_of_type(event_type type, const true_event& e) {
  switch (type) {
  case event_type::six_cluster: return make_clusters(e, 6);
  case event_type::five_cluster: return make_clusters(e, 5);
  case event_type::four_cluster: return make_clusters(e, 4);
  case event_type::minimum_bias:
    return std::any_of(e.photons.begin(), e.photons.end(), in_calorimeter);
  default: return make_clusters(e, 2);
  }
}

/// A straight path from the vertex; lengths are in mm.
struct way {
  double x, y, z;    // vertex
  double dx, dy, dz; // unit direction

  [[nodiscard]] double x_at(double length) const { return x + length * dx; }
  [[nodiscard]] double y_at(double length) const { return y + length * dy; }
  [[nodiscard]] double z_at(double length) const { return z + length * dz; }
};

/// Where the path meets the plane between the square hole and the outer radius.
std::optional<double> meets_wall(const way& w, double plane, double hole, double radius) {
  const double length = w.dz != 0 ? (plane - w.z) / w.dz : -1;
  if (length <= 0) return std::nullopt;
  const double x = w.x_at(length);
  const double y = w.y_at(length);
  const bool within =
      std::max(std::abs(x), std::abs(y)) >= hole && x * x + y * y <= radius * radius;
  return within ? std::optional(length) : std::nullopt;
}

/// Where the path leaves the cylinder around the axis.
std::optional<double> meets_barrel(const way& w, const veto_shape& s) {
  const double a = w.dx * w.dx + w.dy * w.dy;
  const double b = w.x * w.dx + w.y * w.dy;
  const double c = w.x * w.x + w.y * w.y - s.inner * s.inner;
  const double root = b * b - a * c;
  if (a == 0 || root < 0) return std::nullopt;
  const double length = (std::sqrt(root) - b) / a;
  const double z = w.z_at(length);
  return length > 0 && z >= s.z_from && z <= s.z_to ? std::optional(length) : std::nullopt;
}

std::optional<double> meets(const way& w, const veto_shape& s) {
  switch (s.form) {
  case veto_shape::kind::wall: return meets_wall(w, s.z_from, s.inner, s.outer);
  case veto_shape::kind::barrel: return meets_barrel(w, s);
  case veto_shape::kind::none: break;
  }
  return std::nullopt;
}

/// Where a particle meets a thick counter, and the remaining part of its energy.
struct crossing {
  double length;
  std::size_t counter;
  double part;
};

/// The thick counters on the particle's path up to `end`, the nearest first, until one absorbs it.
/// Two counters may read out the same crystals.
std::vector<crossing> crossings(const std::vector<veto>& vetoes, const way& w, double end) {
  std::vector<crossing> all;
  for (std::size_t i = 0; i < vetoes.size(); ++i) {
    if (vetoes[i].charged > 0) continue;
    if (const auto length = meets(w, vetoes[i].shape); length && *length < end)
      all.push_back({*length, i, 1});
  }
  std::ranges::stable_sort(all, {}, &crossing::length);
  double part = 1;
  for (std::size_t n = 0; n < all.size(); ++n) {
    const veto& v = vetoes[all[n].counter];
    all[n].part = part;
    if (n + 1 < all.size() && vetoes[all[n + 1].counter].shape == v.shape) continue;
    part *= v.passes;
    if (part == 0) all.resize(n + 1);
  }
  return all;
}

/// Whether the last of them absorbs the particle.
bool absorbed(const std::vector<veto>& vetoes, const std::vector<crossing>& all) {
  return !all.empty() && vetoes[all.back().counter].passes == 0;
}

} // namespace

decay_maker::decay_maker(const detector& d) : detector_(d) {
  hole_ = std::numeric_limits<double>::max();
  for (const auto& c : d.crystals()) {
    hole_ = std::min(hole_, std::max(std::abs(c.x), std::abs(c.y)) - c.size / 2);
    radius_ = std::max(radius_, c.x * c.x + c.y * c.y);
  }
  radius_ = std::sqrt(radius_);
}

std::uint16_t decay_maker::module_at(const veto& v, double x, double y) {
  const auto m = static_cast<std::uint32_t>(turn_of(x, y) * v.modules);
  return static_cast<std::uint16_t>(std::min(m, v.modules - 1));
}

double decay_maker::along_module(const veto_shape& s, double z) {
  return s.form == veto_shape::kind::barrel ? z - (s.z_from + s.z_to) / 2 : 0;
}

void decay_maker::hit(std::size_t counter, double energy, const true_photon& where, double z,
                      random_source& random, true_event& out) const {
  const auto& v = detector_.vetoes()[counter];
  const auto add = [&](std::uint16_t module, double part, double later) {
    out.hits.push_back(
        {static_cast<std::uint16_t>(counter), module, part, where.time + later, z, false});
  };
  if (v.neighbours > 1) {
    // Consecutive modules along the beam: a shower passes several of them.
    const std::uint32_t seen = std::min(v.neighbours + 1, v.modules);
    const std::uint32_t first = random.below(v.modules - seen + 1);
    for (std::uint32_t k = 0; k < seen; ++k)
      add(static_cast<std::uint16_t>(first + k), energy / seen, between_modules * k);
    return;
  }
  add(module_at(v, where.x, where.y), energy, 0);
}

void decay_maker::fly(const four_momentum& p, random_source& random, true_event& out) const {
  const way w{out.vertex_x,   out.vertex_y,   out.vertex_z,
              p.x / p.energy, p.y / p.energy, p.z / p.energy};
  true_photon photon;
  photon.energy = p.energy;
  const auto& vetoes = detector_.vetoes();
  const auto calorimeter = meets_wall(w, detector_.front(), hole_, radius_);
  const auto met = crossings(vetoes, w, calorimeter.value_or(never));
  const auto reaches = [&](double length) {
    photon.x = w.x_at(length);
    photon.y = w.y_at(length);
    photon.time = length / light_speed;
  };
  for (const crossing& c : met) {
    const veto& v = vetoes[c.counter];
    reaches(c.length);
    hit(c.counter, photon.energy * c.part * v.unit_per_mev, photon,
        along_module(v.shape, w.z_at(c.length)), random, out);
  }
  if (calorimeter && !absorbed(vetoes, met)) {
    reaches(*calorimeter);
    photon.hit = true_photon::target::calorimeter;
  } else if (!met.empty()) {
    reaches(met.front().length);
    photon.hit = true_photon::target::veto;
    photon.veto = static_cast<std::uint16_t>(met.front().counter);
  }
  out.photons.push_back(photon);
}

void decay_maker::fly_charged(const four_momentum& p, true_charged::kind what,
                              random_source& random, true_event& out) const {
  const double momentum = std::sqrt(p.x * p.x + p.y * p.y + p.z * p.z);
  if (momentum <= 0) return;
  const way w{out.vertex_x,   out.vertex_y,   out.vertex_z,
              p.x / momentum, p.y / momentum, p.z / momentum};
  const double speed = light_speed * momentum / p.energy;
  true_charged one;
  one.what = what;
  one.momentum = momentum;
  // The largest possible deposit: its kinetic energy, or an electron's whole energy.
  const double kinetic = p.energy - (what == true_charged::kind::pion   ? charged_pion_mass
                                     : what == true_charged::kind::muon ? muon_mass
                                                                        : 0);
  const double hadronic = random.chance(hadronic_chance) ? random.uniform() : 0;
  const double through = track_energy * (1 + track_spread * random.exponential());

  const auto& vetoes = detector_.vetoes();
  const auto calorimeter = meets_wall(w, detector_.front(), hole_, radius_);
  const auto met = crossings(vetoes, w, calorimeter.value_or(never));
  const bool stopped = absorbed(vetoes, met);
  const double end = stopped ? met.back().length : calorimeter.value_or(never);
  const auto at = [&](double length) {
    true_photon where;
    where.x = w.x_at(length);
    where.y = w.y_at(length);
    where.time = length / speed;
    return where;
  };
  for (std::size_t i = 0; i < vetoes.size(); ++i) {
    if (vetoes[i].charged <= 0) continue;
    const auto length = meets(w, vetoes[i].shape);
    if (!length || *length > end) continue;
    const double energy = vetoes[i].charged * (1 + track_spread * random.exponential());
    hit(i, energy, at(*length), along_module(vetoes[i].shape, w.z_at(*length)), random, out);
  }
  for (const crossing& c : met) {
    const veto& v = vetoes[c.counter];
    hit(c.counter, std::min(kinetic, through) * c.part * v.unit_per_mev, at(c.length),
        along_module(v.shape, w.z_at(c.length)), random, out);
  }
  if (calorimeter && !stopped) {
    const auto where = at(end);
    one.x = where.x;
    one.y = where.y;
    one.time = where.time;
    one.showers =
        what == true_charged::kind::electron || (what == true_charged::kind::pion && hadronic > 0);
    one.deposit = what == true_charged::kind::electron ? kinetic
                  : one.showers
                      ? std::min(kinetic, through) + hadronic * std::max(kinetic - through, 0.0)
                      : std::min(kinetic, through);
  }
  out.charged.push_back(one);
}

void decay_maker::decay_once(event_type type, random_source& random, true_event& out) const {
  out.photons.clear();
  out.charged.clear();
  out.hits.clear();
  out.vertex_x = random.uniform(-beam_half_size, beam_half_size);
  out.vertex_y = random.uniform(-beam_half_size, beam_half_size);
  out.vertex_z = random.uniform(decay_from, decay_to);
  double momentum = least_momentum;
  for (int i = 0; i < 3; ++i) momentum += momentum_step * random.exponential();
  out.kaon_momentum = momentum;

  const double distance = target_distance + out.vertex_z;
  const double px = momentum * out.vertex_x / distance;
  const double py = momentum * out.vertex_y / distance;
  const four_momentum kaon{std::sqrt(momentum * momentum + kaon_mass * kaon_mass), px, py,
                           std::sqrt(momentum * momentum - px * px - py * py)};
  const auto pion_flies = [&](const four_momentum& pion) {
    for (const auto& photon : decay(pion, pion_mass, 0, 0, random)) fly(photon, random, out);
  };
  const auto two_pions = [&] {
    for (const auto& p : decay(kaon, kaon_mass, pion_mass, pion_mass, random)) pion_flies(p);
  };
  const auto three_pions = [&] {
    for (const auto& p : decay(kaon, kaon_mass, {pion_mass, pion_mass, pion_mass}, random))
      pion_flies(p);
  };
  const auto semileptonic = [&](double mass, true_charged::kind lepton) {
    const auto products = decay(kaon, kaon_mass, {charged_pion_mass, mass, 0}, random);
    fly_charged(products[0], true_charged::kind::pion, random, out);
    fly_charged(products[1], lepton, random, out);
  };
  switch (type) {
  case event_type::pi0nunu: pion_flies(decay(kaon, kaon_mass, {pion_mass, 0, 0}, random)[0]); break;
  case event_type::two_gamma:
    for (const auto& photon : decay(kaon, kaon_mass, 0, 0, random)) fly(photon, random, out);
    break;
  case event_type::ke3: semileptonic(electron_mass, true_charged::kind::electron); break;
  case event_type::kmu3: semileptonic(muon_mass, true_charged::kind::muon); break;
  case event_type::charged_3pi: {
    const auto pions =
        decay(kaon, kaon_mass, {charged_pion_mass, charged_pion_mass, pion_mass}, random);
    fly_charged(pions[0], true_charged::kind::pion, random, out);
    fly_charged(pions[1], true_charged::kind::pion, random, out);
    pion_flies(pions[2]);
    break;
  }
  case event_type::five_cluster:
  case event_type::six_cluster: three_pions(); break;
  case event_type::minimum_bias:
    if (random.chance(0.5)) {
      three_pions();
    } else {
      two_pions();
    }
    break;
  default: two_pions(); break;
  }
}

void decay_maker::make(event_type type, random_source& random, true_event& out) const {
  for (int i = 0; i < most_tries; ++i) {
    decay_once(type, random, out);
    if (is_of_type(type, out)) break;
  }

  // The trigger's time is that of the photons in the calorimeter.
  double sum = 0;
  int found = 0;
  for (const auto& p : out.photons)
    if (in_calorimeter(p)) {
      sum += p.time;
      ++found;
    }
  for (const auto& p : out.charged)
    if (p.deposit > 0) {
      sum += p.time;
      ++found;
    }
  const double start = found > 0 ? sum / found : (detector_.front() - out.vertex_z) / light_speed;
  for (auto& p : out.photons) p.time -= start;
  for (auto& p : out.charged) p.time -= start;
  for (auto& h : out.hits) h.time -= start;
}

} // namespace l3
