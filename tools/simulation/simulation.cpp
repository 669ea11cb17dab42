// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/simulation.hpp"

#include <algorithm>
#include <array>

#include "tools/simulation/ordered_work.hpp"

namespace l3 {

namespace {

// Independent random streams from one seed.
constexpr std::uint64_t front_end_stream = 1;
constexpr std::uint64_t plan_stream = 2;
constexpr std::uint64_t event_stream = 3;

constexpr std::size_t slots_per_thread = 4;

} // namespace

simulation::simulation(const detector& d, const simulation_settings& settings)
    : detector_(d), settings_(settings),
      front_end_(d, splitmix(splitmix(settings.seed) + front_end_stream), settings.effects),
      makers_(settings.threads, event_maker(d, settings.effects)),
      slots_(slots_per_thread * settings.threads) {
  for (auto& s : slots_) s.bytes.resize(front_end_.event_bytes());
}

std::uint32_t simulation::events_of(std::uint32_t spill) const {
  return settings_.events / settings_.spills +
         (spill <= settings_.events % settings_.spills ? 1 : 0);
}

void simulation::make(event_maker& maker, const planned_event& plan, event_key key,
                      made_event& out) const {
  random_source random(splitmix(settings_.seed) + event_stream, key.spill, key.number);
  std::uint64_t before = key.number - 1; // number of events
  for (std::uint32_t s = 1; s < key.spill; ++s) before += events_of(s);
  const front_end::moment when{key, plan.since_spill, before};
  if (settings_.waveforms != nullptr) {
    maker.make(event_type::recorded, plan.on_spill, random, out.event);
    front_end_.carry(*settings_.waveforms, before * front_end_.pieces_per_event(), out.event, when,
                     out.bytes);
  } else {
    do {
      maker.make(plan.type, plan.on_spill, random, out.event);
    } while (settings_.wanted && !settings_.wanted(out.event));
    front_end_.digitize(out.event, when, random, out.bytes);
  }
  out.truth.clear();
  append_truth(out.truth, detector_, out.event, key, plan.since_spill);
}

type_counts simulation::run(l2raw_writer& data, whole_file& truth,
                            const std::function<void(std::uint64_t)>& tell) {
  type_counts counts{};
  std::uint64_t written = 0;
  for (std::uint32_t spill = 1; spill <= settings_.spills; ++spill) {
    const auto plan =
        plan_spill(events_of(spill),
                   random_source(splitmix(settings_.seed) + plan_stream, spill, 0), settings_.only);
    data.begin_of_spill(spill, spill_beam_on);
    work_in_order(
        plan.size(), slots_, settings_.threads,
        [&](unsigned thread, std::size_t i, made_event& slot) {
          make(makers_[thread], plan[i], {spill, static_cast<std::uint32_t>(i + 1)}, slot);
        },
        [&](std::size_t i, const made_event& slot) {
          data.event(static_cast<std::uint32_t>(i + 1), plan[i].since_spill,
                     front_end_.fragments_of(slot.bytes));
          truth.write(std::as_bytes(std::span(slot.truth)));
          ++counts[static_cast<std::size_t>(slot.event.type)];
          tell(++written);
        });
    data.end_of_spill(spill_cycle);
  }
  return counts;
}

namespace {

struct portion {
  event_type type;
  double fraction;
};

// Fractions of all events. Two-cluster events are a fifth; a quarter of these are charged decays
// that pass level 1's own vetoes.
constexpr std::array<portion, 16> mix{{
    {event_type::six_cluster, 0.35},
    {event_type::two_gamma, 0.06},
    {event_type::two_pi0_lost, 0.05},
    {event_type::halo_neutron, 0.03},
    {event_type::pi0nunu, 0.01},
    {event_type::ke3, 0.025},
    {event_type::kmu3, 0.015},
    {event_type::charged_3pi, 0.01},
    {event_type::four_cluster, 0.10},
    {event_type::five_cluster, 0.05},
    {event_type::accidental, 0.20},
    {event_type::minimum_bias, 0.05},
    {event_type::led, 0.0125},
    {event_type::laser, 0.0125},
    {event_type::cosmic, 0.0125},
    {event_type::clock, 0.0125},
}};

constexpr double off_spill_calibration = 0.4; // fraction of calibration triggers
constexpr int structure_bins = 2000;          // of 1 ms each
constexpr double structure_least = 0.3;
constexpr double structure_most = 3;

event_type random_type(random_source& random) {
  double u = random.uniform();
  for (const auto& p : mix) {
    if (u < p.fraction) return p.type;
    u -= p.fraction;
  }
  return mix.back().type;
}

bool is_calibration(event_type t) { return t >= event_type::led && t <= event_type::clock; }

/// n points of a Poisson process with constant rate in 0 … 1, sorted.
std::vector<double> points(std::size_t n, random_source& random) {
  std::vector<double> at(n);
  double sum = 0;
  for (auto& a : at) a = sum += random.exponential();
  sum += random.exponential();
  for (auto& a : at) a /= sum;
  return at;
}

/// Maps the fraction of the beam to the fraction of the time.
void give_structure(std::vector<double>& at, random_source& random) {
  std::array<double, structure_bins> beam{}; // cumulative, at the end of each bin
  double sum = 0;
  const double range = natural_log(structure_most / structure_least);
  for (auto& b : beam) b = sum += structure_most * exp_of_minus(range * random.uniform());
  std::size_t bin = 0;
  for (auto& a : at) {
    const double wanted = a * sum;
    while (bin + 1 < beam.size() && beam[bin] < wanted) ++bin;
    const double before = bin == 0 ? 0 : beam[bin - 1];
    a = (static_cast<double>(bin) + (wanted - before) / (beam[bin] - before)) / structure_bins;
  }
}

std::chrono::nanoseconds part_of(double share, std::chrono::nanoseconds from,
                                 std::chrono::nanoseconds length) {
  return from + std::chrono::nanoseconds(
                    static_cast<std::int64_t>(share * static_cast<double>(length.count())));
}

} // namespace

std::vector<planned_event> plan_spill(std::uint32_t events, random_source random,
                                      std::optional<event_type> only) {
  std::vector<planned_event> plan(events);
  for (auto& e : plan) {
    e.type = only ? *only : random_type(random);
    e.on_spill = !is_calibration(e.type) || !random.chance(off_spill_calibration);
  }
  const auto off =
      std::stable_partition(plan.begin(), plan.end(), [](const auto& e) { return e.on_spill; });
  auto on_times = points(static_cast<std::size_t>(off - plan.begin()), random);
  give_structure(on_times, random);
  for (std::size_t i = 0; i < on_times.size(); ++i)
    plan[i].since_spill = part_of(on_times[i], {}, spill_beam_on);

  // A gap for the ends of spill before the next spill.
  constexpr std::chrono::nanoseconds quiet = std::chrono::milliseconds(240);
  const auto off_times = points(plan.size() - on_times.size(), random);
  for (std::size_t i = 0; i < off_times.size(); ++i)
    plan[on_times.size() + i].since_spill =
        part_of(off_times[i], spill_beam_on, spill_cycle - spill_beam_on - quiet);
  return plan;
}

} // namespace l3
