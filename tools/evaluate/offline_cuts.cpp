// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/offline_cuts.hpp"

#include <algorithm>
#include <cmath>

namespace l3 {
namespace {

constexpr double least_energy = 100;
constexpr double most_energy = 2000;
constexpr double least_total = 650;
constexpr double vertex_from = 3200;
constexpr double vertex_to = 5000;
constexpr double least_momentum = 130;
constexpr double most_momentum = 250;
constexpr double hole = 150;
constexpr double radius = 850;
constexpr double distance = 300;

bool within(double value, double from, double to) { return value >= from && value <= to; }

bool is_fiducial(const true_photon& a, const true_photon& b) {
  for (const true_photon* p : {&a, &b}) {
    if (std::max(std::abs(p->x), std::abs(p->y)) <= hole) return false;
    if (p->x * p->x + p->y * p->y >= radius * radius) return false;
  }
  const double dx = a.x - b.x;
  const double dy = a.y - b.y;
  return dx * dx + dy * dy > distance * distance;
}

/// The energy-weighted mean time of the photons in the calorimeter.
double time_of(const std::vector<const true_photon*>& photons) {
  double energy = 0;
  double weighted = 0;
  for (const true_photon* p : photons) {
    energy += p->energy;
    weighted += p->energy * p->time;
  }
  return energy > 0 ? weighted / energy : 0;
}

/// The counter's hits that the offline analysis uses, in an event at this time.
std::vector<const true_hit*> hits_of(const true_event& e, double time, std::uint16_t counter,
                                     const veto& v) {
  std::vector<const true_hit*> hits;
  for (const true_hit& h : e.hits)
    if (h.veto == counter && h.energy >= v.threshold &&
        within(h.time - v.t0 - time, v.window_from, v.window_to))
      hits.push_back(&h);
  return hits;
}

/// Whether `modules` adjacent modules have hits within `ns`.
bool side_by_side(const std::vector<const true_hit*>& hits, int modules, double ns) {
  return std::any_of(hits.begin(), hits.end(), [&](const true_hit* first) {
    // For the first hit in time: every other module must have one shortly after.
    for (int below = 0; below < modules; ++below) {
      bool all = true;
      for (int k = 0; k < modules && all; ++k) {
        const int module = first->module - below + k;
        all = std::any_of(hits.begin(), hits.end(), [&](const true_hit* h) {
          return h->module == module && h->time >= first->time && h->time - first->time <= ns;
        });
      }
      if (all) return true;
    }
    return false;
  });
}

} // namespace

double true_transverse_momentum(const true_event& e, double front) {
  double px = 0;
  double py = 0;
  for (const true_photon& p : e.photons) {
    if (p.hit != true_photon::target::calorimeter) continue;
    const double dx = p.x - e.vertex_x;
    const double dy = p.y - e.vertex_y;
    const double dz = front - e.vertex_z;
    const double length = std::sqrt(dx * dx + dy * dy + dz * dz);
    px += p.energy * dx / length;
    py += p.energy * dy / length;
  }
  return std::sqrt(px * px + py * py);
}

offline_judgement judge_offline(const true_event& e, const detector& d) {
  offline_judgement j;
  std::vector<const true_photon*> seen;
  for (const true_photon& p : e.photons)
    if (p.hit == true_photon::target::calorimeter) seen.push_back(&p);
  if (seen.size() == 2) {
    const true_photon& a = *seen[0];
    const true_photon& b = *seen[1];
    j.photons = within(a.energy, least_energy, most_energy) &&
                within(b.energy, least_energy, most_energy) && a.energy + b.energy > least_total &&
                within(e.vertex_z, vertex_from, vertex_to) &&
                within(true_transverse_momentum(e, d.front()), least_momentum, most_momentum);
    j.fiducial = is_fiducial(a, b);
  }
  j.vetoes = true;
  const double time = time_of(seen);
  for (std::uint16_t v = 0; v < d.vetoes().size() && j.vetoes; ++v) {
    const veto& counter = d.vetoes()[v];
    const auto hits = hits_of(e, time, v, counter);
    j.vetoes = counter.neighbours > 1
                   ? !side_by_side(hits, static_cast<int>(counter.neighbours), counter.within)
                   : hits.empty();
  }
  return j;
}

} // namespace l3
