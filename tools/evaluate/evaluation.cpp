// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tools/command_line.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/summary.hpp"

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

double distance(const true_photon& t, double x, double y) {
  return std::sqrt((t.x - x) * (t.x - x) + (t.y - y) * (t.y - y)); // hypot needs glibc 2.35
}

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
constexpr double least_distance = 300;

bool within(double value, double from, double to) { return value >= from && value <= to; }

bool is_fiducial(const true_photon& a, const true_photon& b) {
  for (const true_photon* p : {&a, &b}) {
    if (std::max(std::abs(p->x), std::abs(p->y)) <= hole) return false;
    if (p->x * p->x + p->y * p->y >= radius * radius) return false;
  }
  const double dx = a.x - b.x;
  const double dy = a.y - b.y;
  return dx * dx + dy * dy > least_distance * least_distance;
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

truth_beside::truth_beside(std::string truth, std::string data, const detector& d)
    : name_(std::move(truth)), data_(std::move(data)),
      reader_(opened([&] { return truth_reader(name_, d); })) {}

const true_event& truth_beside::of(const decided_event& next) {
  const event_entry& entry = next.event;
  if (!reader_.next(event_, key_) || key_ != event_key{entry.spill, entry.number})
    throw command_error(
        fmt::format("{} is not the truth of {}: spill {} event {} is missing where it should be",
                    name_, data_, entry.spill, entry.number));
  const bool knows_trigger = (next.summary.unknown & trigger_unknown) == 0;
  if (event_.since_spill != next.since_spill ||
      (knows_trigger && next.summary.trigger != (event_.trigger_bits & l2::payload_mask)))
    throw command_error(
        fmt::format("{} is not the truth of {}: spill {} event {} has another time in the spill or "
                    "other trigger bits there",
                    name_, data_, entry.spill, entry.number));
  return event_;
}

void truth_beside::finish() {
  if (reader_.next(event_, key_)) throw command_error(name_ + " continues after " + data_);
}

namespace {

std::uint32_t index_of_line(const std::vector<std::string>& lines, const std::string& name) {
  const auto found = std::find(lines.begin(), lines.end(), name);
  return found == lines.end() ? max_lines : static_cast<std::uint32_t>(found - lines.begin());
}

} // namespace

evaluated_file evaluate_file(const selection_options& run, const std::string& truth_file,
                             const std::string& signal_line, file_batches& in, interrupt& signals) {
  const loaded_selection selection = load_selection(run, in.crates(), in.run());
  const auto compute = make_selecting_engine(run, in.capacity(run.batch), selection);
  evaluated_file one{run.files.lines, selection.line_names(), {}, {}};
  const std::uint32_t signal = index_of_line(one.lines, signal_line);
  if (signal == max_lines && signal_line != usual_signal_line)
    throw command_error(run.files.lines + " has no line " + signal_line, exit_usage);
  truth_beside truth(truth_file, run.in, selection.what);
  in.rewind();
  for_each_decided(
      in, *compute,
      [&](const decided_event& e) {
        one.result.add(truth.of(e), e.summary, selection.what, signal);
        one.result.add_bytes(e.summary, e.bytes_in, e.packed.size());
        one.kept.push_back(e.summary.kept != 0);
      },
      "evaluate", signals);
  truth.finish();
  return one;
}

} // namespace l3
