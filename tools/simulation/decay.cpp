// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/decay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace l3 {
namespace {

constexpr double light_speed = 299.792458; // mm/ns

// The beam: momenta from 0.4 GeV on with a mean of 1.6, decays along the whole decay volume, a
// target 20 m upstream.
constexpr double least_momentum = 400;
constexpr double momentum_step = 400;
constexpr double beam_half_size = 35;
constexpr double target_distance = 20000;
constexpr double decay_from = 2000;
constexpr double decay_to = 5900;

// Level 1 counts clusters, so an event of n clusters holds n photons that make some.
constexpr double least_photon_energy = 50;
constexpr double least_photon_distance = 150;
constexpr int most_tries = 20000;

bool in_calorimeter(const true_photon& p) { return p.hit == true_photon::target::calorimeter; }

bool make_clusters(const std::vector<true_photon>& photons, std::uint32_t wanted) {
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < photons.size(); ++i) {
    if (!in_calorimeter(photons[i])) continue;
    if (photons[i].energy < least_photon_energy) return false;
    ++found;
    for (std::size_t j = 0; j < i; ++j) {
      const double dx = photons[i].x - photons[j].x;
      const double dy = photons[i].y - photons[j].y;
      if (in_calorimeter(photons[j]) &&
          dx * dx + dy * dy < least_photon_distance * least_photon_distance)
        return false;
    }
  }
  return found == wanted;
}

bool is_of_type(event_type type, const std::vector<true_photon>& photons) {
  switch (type) {
  case event_type::six_cluster: return make_clusters(photons, 6);
  case event_type::five_cluster: return make_clusters(photons, 5);
  case event_type::four_cluster: return make_clusters(photons, 4);
  case event_type::minimum_bias: return std::any_of(photons.begin(), photons.end(), in_calorimeter);
  default: return make_clusters(photons, 2);
  }
}

/// A straight way from the vertex; lengths along it are in mm.
struct way {
  double x, y, z;    // of the vertex
  double dx, dy, dz; // direction, of length 1

  [[nodiscard]] double x_at(double length) const { return x + length * dx; }
  [[nodiscard]] double y_at(double length) const { return y + length * dy; }
  [[nodiscard]] double z_at(double length) const { return z + length * dz; }
};

/// Where the track meets the plane between the square hole and the outer radius.
std::optional<double> meets_wall(const way& w, double plane, double hole, double radius) {
  const double length = w.dz != 0 ? (plane - w.z) / w.dz : -1;
  if (length <= 0) return std::nullopt;
  const double x = w.x_at(length);
  const double y = w.y_at(length);
  const bool within =
      std::max(std::abs(x), std::abs(y)) >= hole && x * x + y * y <= radius * radius;
  return within ? std::optional(length) : std::nullopt;
}

/// Where the track leaves the cylinder around the axis.
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

void decay_maker::fly(const four_momentum& p, true_event& out) const {
  const way w{out.vertex_x,   out.vertex_y,   out.vertex_z,
              p.x / p.energy, p.y / p.energy, p.z / p.energy};
  true_photon photon;
  photon.energy = p.energy;
  double nearest = std::numeric_limits<double>::max();
  if (const auto length = meets_wall(w, detector_.front(), hole_, radius_)) {
    nearest = *length;
    photon.hit = true_photon::target::calorimeter;
  }
  for (std::size_t i = 0; i < detector_.vetoes().size(); ++i) {
    const auto& s = detector_.vetoes()[i].shape;
    std::optional<double> length;
    if (s.form == veto_shape::kind::wall) length = meets_wall(w, s.z_from, s.inner, s.outer);
    if (s.form == veto_shape::kind::barrel) length = meets_barrel(w, s);
    if (!length || *length >= nearest) continue;
    nearest = *length;
    photon.hit = true_photon::target::veto;
    photon.veto = static_cast<std::uint16_t>(i);
  }
  if (photon.hit != true_photon::target::nothing) {
    photon.x = w.x_at(nearest);
    photon.y = w.y_at(nearest);
    photon.time = nearest / light_speed;
  }
  if (photon.hit == true_photon::target::veto) {
    const auto& v = detector_.vetoes()[photon.veto];
    const bool barrel = v.shape.form == veto_shape::kind::barrel;
    const double z = barrel ? w.z_at(nearest) - (v.shape.z_from + v.shape.z_to) / 2 : 0;
    out.hits.push_back({photon.veto, module_at(v, photon.x, photon.y),
                        photon.energy * v.unit_per_mev, photon.time, z, false});
  }
  out.photons.push_back(photon);
}

void decay_maker::decay_once(event_type type, random_source& random, true_event& out) const {
  out.photons.clear();
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
    for (const auto& photon : decay(pion, pion_mass, 0, 0, random)) fly(photon, out);
  };
  const auto two_pions = [&] {
    for (const auto& p : decay(kaon, kaon_mass, pion_mass, pion_mass, random)) pion_flies(p);
  };
  const auto three_pions = [&] {
    for (const auto& p : decay(kaon, kaon_mass, {pion_mass, pion_mass, pion_mass}, random))
      pion_flies(p);
  };
  switch (type) {
  case event_type::pi0nunu: pion_flies(decay(kaon, kaon_mass, {pion_mass, 0, 0}, random)[0]); break;
  case event_type::two_gamma:
    for (const auto& photon : decay(kaon, kaon_mass, 0, 0, random)) fly(photon, out);
    break;
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
    if (is_of_type(type, out.photons)) break;
  }

  // The trigger's time is that of the photons in the calorimeter.
  double sum = 0;
  int found = 0;
  for (const auto& p : out.photons)
    if (in_calorimeter(p)) {
      sum += p.time;
      ++found;
    }
  const double start = found > 0 ? sum / found : (detector_.front() - out.vertex_z) / light_speed;
  for (auto& p : out.photons) p.time -= start;
  for (auto& h : out.hits) h.time -= start;
}

} // namespace l3
