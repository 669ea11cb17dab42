// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/simulation.hpp"

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

type_counts simulation::run(l2raw_writer& data, truth_file& truth,
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
          truth.write(slot.truth);
          ++counts[static_cast<std::size_t>(slot.event.type)];
          tell(++written);
        });
    data.end_of_spill(spill_cycle);
  }
  return counts;
}

} // namespace l3
