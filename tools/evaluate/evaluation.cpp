// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/evaluation.hpp"

#include <cmath>

#include "tools/evaluate/offline_cuts.hpp"

namespace l3 {
namespace {

constexpr double kev_per_mev = 1000;
constexpr double tenths_per_mm = 10;
constexpr double ticks_per_ns = 128;
constexpr double match_distance = 60;  // mm
constexpr double alone_distance = 200; // in mm: photons nearer to another are not measured

/// Lower (−1) or upper (+1) end of Wilson's interval of one standard deviation.
double wilson(std::uint64_t some, std::uint64_t all, double side) {
  if (all == 0) return side < 0 ? 0 : 1;
  const auto n = static_cast<double>(all);
  const double p = static_cast<double>(some) / n;
  const double middle = p + 1 / (2 * n);
  const double half = std::sqrt(p * (1 - p) / n + 1 / (4 * n * n));
  return (middle + side * half) / (1 + 1 / n);
}

bool is_calibration(event_type t) { return t >= event_type::led && t <= event_type::clock; }

bool in_calorimeter(const true_photon& p) { return p.hit == true_photon::target::calorimeter; }

double distance(const true_photon& t, double x, double y) { return std::hypot(t.x - x, t.y - y); }

bool is_alone(const true_event& truth, const true_photon& photon) {
  for (const true_photon& other : truth.photons)
    if (&other != &photon && in_calorimeter(other) &&
        distance(other, photon.x, photon.y) < alone_distance)
      return false;
  return true;
}

void count(evaluation::row& r, const event_summary& found) {
  ++r.events;
  r.kept += found.kept;
  r.not_judged += (found.status & not_judged) != 0 ? 1 : 0;
  for (std::uint32_t n = 0; n < found.lines; ++n) {
    r.fired[n] += found.fired >> n & 1;
    r.kept_by[n] += found.kept_by >> n & 1;
  }
}

void compare(const true_event& truth, const event_summary& found,
             std::vector<photon_resolution>& bins) {
  for (const true_photon& t : truth.photons) {
    if (!in_calorimeter(t) || !is_alone(truth, t)) continue;
    const photon_summary* nearest = nullptr;
    double least = match_distance;
    for (std::uint32_t k = 0; k < found.photons; ++k) {
      const photon_summary& p = found.photon[k];
      const double d = distance(t, p.x / tenths_per_mm, p.y / tenths_per_mm);
      if (d < least) {
        least = d;
        nearest = &p;
      }
    }
    for (photon_resolution& bin : bins) {
      if (t.energy < bin.from || t.energy >= bin.to) continue;
      bin.found.add(nearest != nullptr);
      if (nearest == nullptr) continue;
      const double energy = nearest->energy / kev_per_mev;
      bin.energy.add(energy / t.deposit - 1);
      bin.photon.add(energy / t.energy - 1);
      bin.x.add(nearest->x / tenths_per_mm - t.x);
      bin.y.add(nearest->y / tenths_per_mm - t.y);
      bin.time.add(nearest->time / ticks_per_ns - t.time);
    }
  }
}

} // namespace

double proportion::value() const {
  return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
}
// Rounding may move an end past the value, at 0 or 1.
double proportion::lower() const { return std::min(wilson(some, all, -1), value()); }
double proportion::upper() const { return std::max(wilson(some, all, 1), value()); }

double deviation::rms() const { return n == 0 ? 0 : std::sqrt(squares / static_cast<double>(n)); }

void evaluation::add(const true_event& truth, const event_summary& found, const detector& d,
                     std::uint32_t signal_line) {
  count(by_type[static_cast<std::size_t>(truth.type)], found);
  count(sum, found);
  for (std::uint32_t n = 0; n < found.lines; ++n) ++reasons[n][found.reason[n]];
  if (!is_calibration(truth.type)) compare(truth, found, photons);
  if (truth.type != event_type::pi0nunu || signal_line >= max_lines) return;

  const offline_judgement offline = judge_offline(truth, d);
  if (!offline.passes()) return;
  const bool fired = (found.fired >> signal_line & 1) != 0;
  const bool kept = (found.kept_by >> signal_line & 1) != 0;
  signal.add(kept);
  if (offline.fiducial) signal_fiducial.add(kept);
  ++signal_reasons[found.reason[signal_line]];
  const std::int32_t z = found.quantity[static_cast<std::size_t>(quantity::vertex_z)];
  if (!fired || z == undefined_quantity) return;
  vertex.add(z / tenths_per_mm - truth.vertex_z);
  const std::int32_t p = found.quantity[static_cast<std::size_t>(quantity::transverse_momentum)];
  momentum.add(p / kev_per_mev - true_transverse_momentum(truth, d.front()));
}

void evaluation::add_bytes(const event_summary& found, std::uint64_t raw, std::uint64_t packed) {
  bytes_in += raw;
  bytes_out += packed;
  for (std::uint32_t n = 0; n < found.lines; ++n)
    if ((found.kept_by >> n & 1) != 0) link_bytes[n] += packed;
}

proportion evaluation::calibration_kept() const {
  proportion p;
  for (std::size_t t = 0; t < types; ++t) {
    if (!is_calibration(static_cast<event_type>(t))) continue;
    p.some += by_type[t].kept;
    p.all += by_type[t].events;
  }
  return p;
}

} // namespace l3
