// SPDX-License-Identifier: Apache-2.0
// What the simulator writes is what it drew. tests/system/peers/l2raw.py, made from the page, reads
// its files.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/error_of.hpp"
#include "tests/tools/temporary_folder.hpp"
#include "tools/simulation/simulation.hpp"

namespace {

using namespace l3;

const detector& koto() {
  static const detector d = default_detector();
  return d;
}

type_counts simulate(const std::filesystem::path& file, const simulation_settings& settings) {
  l2raw_writer data(file, 7, koto().crates());
  whole_file truth(file.string() + ".truth.jsonl");
  simulation s(koto(), settings);
  const auto counts = s.run(data, truth, [](std::uint64_t) {});
  data.close();
  truth.finish();
  return counts;
}

/// Calls f(event, spill number, view of its record).
template <class F>
void for_each_event(const std::filesystem::path& file, const F& f) {
  l2raw_reader reader(file);
  event_view view;
  std::size_t i = 0;
  for (auto r = reader.next(); r; r = reader.next()) {
    if (r->header.type != record_type::event) continue;
    ASSERT_FALSE(parse_event(r->body, reader.crates(), view));
    f(i++, r->header.spill, view);
  }
  ASSERT_FALSE(reader.damage());
}

std::uint16_t word(std::span<const std::byte> bytes, std::size_t index) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[2 * index]) << 8 |
                                    std::to_integer<unsigned>(bytes[2 * index + 1]));
}

/// Sample s of a channel of a full board in a fragment.
std::uint16_t sample(const crate_fragment& f, std::size_t board, std::size_t channel,
                     std::size_t s) {
  const std::size_t channels = f.crate < 15 ? 16 : 4;
  return word(f.bytes, 2 + board * 1036 + 6 + s * channels + channel) & 0x3fff;
}

TEST(simulation, same_seed_same_bytes_whatever_the_threads) {
  const temporary_folder folder;
  simulate(folder / "a", {6, 2, 5, 1, nullptr});
  simulate(folder / "b", {6, 2, 5, 3, nullptr});
  simulate(folder / "c", {6, 2, 6, 1, nullptr});
  EXPECT_TRUE(contents(folder / "a") == contents(folder / "b"));
  EXPECT_EQ(contents(folder / "a.truth.jsonl"), contents(folder / "b.truth.jsonl"));
  EXPECT_FALSE(contents(folder / "a") == contents(folder / "c"));
}

TEST(simulated_effects, leave_the_particles_as_they_are) {
  simulated_effects loud;
  loud.noise_board = 5;
  loud.slope = 20;
  loud.recovering = 0.2;
  const temporary_folder folder;
  simulation_settings settings{5, 1, 5, 1, nullptr};
  simulate(folder / "a", settings);
  settings.effects = loud;
  simulate(folder / "b", settings);
  EXPECT_EQ(contents(folder / "a.truth.jsonl"), contents(folder / "b.truth.jsonl"));
  EXPECT_FALSE(contents(folder / "a") == contents(folder / "b"));
}

TEST(simulated_effects, that_begin_in_the_run_do_not_end_with_a_spill) {
  const temporary_folder folder;
  simulation_settings settings{6, 3, 5, 1, nullptr}; // two events in each of three spills
  simulate(folder / "a", settings);
  settings.effects.hot = 1;
  settings.effects.faulty_from = 4;
  simulate(folder / "b", settings);
  const std::string whole = contents(folder / "a");
  const std::string faulty = contents(folder / "b");
  ASSERT_EQ(whole.size(), faulty.size());
  for (std::size_t event = 0; event < 6; ++event) {
    const auto middle = (2 * event + 1) * whole.size() / 12; // of the event
    const bool differs = whole.substr(middle, 5000) != faulty.substr(middle, 5000);
    EXPECT_EQ(differs, event >= 3) << event;
  }
}

/// One counter, whose signals come 40 ns late, and which sees much activity.
detector late_counter() {
  detector d(readout::koto());
  signal_figures figures;
  figures.pulse_time = 204;
  d.set_signals(figures);
  veto v;
  v.name = "late";
  v.modules = 16;
  v.threshold = 0.1;
  v.window_from = -10;
  v.window_to = 10;
  v.counts_per_unit = 30;
  v.accidental_rate = 1e7;
  v.t0 = 8;
  v.delay = 40;
  v.inputs = d.run_of_inputs({14, 3, 0}, 16);
  v.dead.assign(16, false);
  d.add_veto(v);
  return d;
}

TEST(simulation, a_counters_cables_delay_its_signals_and_not_its_truth) {
  const detector d = late_counter();
  std::vector<l3::signal> signals;
  shower_maker(d).into_veto({0, 3, 5.0, 9.5, 0, false}, signals);
  ASSERT_EQ(signals.size(), 1U);
  EXPECT_EQ(signals[0].time, 9.5 + 40);

  // Accidental pulses come at any time. Those that truth has are in time with the event.
  event_maker maker(d);
  true_event e;
  random_source random(8);
  std::size_t found = 0;
  for (int i = 0; i < 1000; ++i) {
    maker.make(event_type::accidental, true, random, e);
    for (const true_hit& h : e.hits) {
      ++found;
      EXPECT_GT(h.time - 8, -10);
      EXPECT_LT(h.time - 8, 10);
      EXPECT_TRUE(std::ranges::any_of(e.signals, [&](const l3::signal& s) {
        return std::abs(s.time - h.time - 40) < 1e-9 && d.at(s.input).module == h.module;
      }));
    }
  }
  EXPECT_GT(found, 10U);
}

RC_GTEST_PROP(simulation, decays_keep_energy_and_momentum, (std::uint64_t seed)) {
  random_source random(seed);
  const double p = random.uniform(0, 5000);
  const auto d = random_direction(random);
  const four_momentum kaon{std::sqrt(p * p + kaon_mass * kaon_mass), p * d.x, p * d.y, p * d.z};
  four_momentum sum{};
  for (const auto& q : decay(kaon, kaon_mass, {pion_mass, pion_mass, pion_mass}, random)) {
    sum.energy += q.energy;
    sum.x += q.x;
    sum.y += q.y;
    sum.z += q.z;
    const double mass2 = q.energy * q.energy - q.x * q.x - q.y * q.y - q.z * q.z;
    RC_ASSERT(std::abs(mass2 - pion_mass * pion_mass) < 1);
  }
  RC_ASSERT(std::abs(sum.energy - kaon.energy) < 1e-6);
  RC_ASSERT(std::abs(sum.x - kaon.x) + std::abs(sum.y - kaon.y) + std::abs(sum.z - kaon.z) < 1e-6);
}

TEST(simulation, spills_have_their_structure) {
  constexpr std::uint32_t events = 20000;
  const auto plan = plan_spill(events, random_source(1));
  ASSERT_EQ(plan.size(), events);
  EXPECT_TRUE(std::is_sorted(plan.begin(), plan.end(), [](const auto& a, const auto& b) {
    return a.since_spill < b.since_spill;
  }));
  std::vector<double> per_millisecond(2000);
  type_counts counts{};
  long off_spill = 0;
  for (const auto& e : plan) {
    ++counts[static_cast<std::size_t>(e.type)];
    EXPECT_EQ(e.on_spill, e.since_spill < spill_beam_on);
    EXPECT_LT(e.since_spill, spill_cycle);
    if (e.on_spill) {
      per_millisecond[static_cast<std::size_t>(e.since_spill.count() / 1'000'000)] += 1;
    } else {
      ++off_spill;
      EXPECT_GE(e.type, event_type::led);
    }
  }
  const auto share = [&](event_type t) {
    return static_cast<double>(counts[static_cast<std::size_t>(t)]) / events;
  };
  EXPECT_NEAR(share(event_type::six_cluster), 0.35, 0.02);
  EXPECT_NEAR(share(event_type::accidental), 0.20, 0.02);
  EXPECT_NEAR(share(event_type::four_cluster) + share(event_type::five_cluster), 0.15, 0.02);
  EXPECT_NEAR(static_cast<double>(off_spill) / events, 0.02, 0.01);
  // A Poisson process alone has a variance as large as its mean.
  double mean = 0;
  double square = 0;
  for (const double n : per_millisecond) {
    mean += n / 2000;
    square += n * n / 2000;
  }
  EXPECT_GT((square - mean * mean) / mean, 3);
}

/// Recorded waveforms in the order in which the inputs take them.
void expect_recordings_in_place(const std::filesystem::path& file, std::uint32_t samples) {
  const temporary_folder folder;
  const recordings r(file, samples);
  simulate(folder / "a", {3, 2, 1, 2, &r});
  const auto bytes = contents(file);
  std::vector<std::uint16_t> values(bytes.size() / 2);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  std::size_t next = 0;
  for_each_event(folder / "a", [&](std::size_t, std::uint32_t, const event_view& e) {
    for (const auto& f : e.fragments) {
      const std::size_t channels = f.crate < 15 ? 16 : 4;
      for (std::size_t b = 0; b < f.bytes.size() / 2072; ++b)
        for (std::size_t c = 0; c < channels; ++c)
          for (std::size_t s = 0; s < 1024 / channels; ++s) {
            ASSERT_EQ(sample(f, b, c, s), values[next]) << f.crate << ' ' << b << ' ' << c;
            next = (next + 1) % values.size();
          }
    }
  });
}

TEST(simulation, recordings_take_the_inputs_in_turn) {
  const temporary_folder folder;
  for (const auto& file : recorded_waveforms())
    if (file.stem().string().find("muenster") != std::string::npos) // one of each length
      expect_recordings_in_place(file, samples_of(file));
  for (const std::uint32_t samples : {64U, 256U}) {
    std::vector<std::uint16_t> values(std::size_t{samples} * 37);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::uint16_t>(i * 7 % 16384);
    write_file(folder / "r.u16", values);
    expect_recordings_in_place(folder / "r.u16", samples);
  }
}

TEST(simulation, recordings_that_do_not_fit_are_refused) {
  const temporary_folder folder;
  const auto refusal = [&](const std::vector<std::uint16_t>& values) {
    write_file(folder / "r.u16", values);
    const std::string text = error_of([&] { return recordings(folder / "r.u16", 64); });
    return text.substr(std::min(text.size(), text.find(": ")));
  };
  std::vector<std::uint16_t> values(128, 16383);
  EXPECT_EQ(refusal(values), "");
  values[65] = 16384;
  EXPECT_EQ(refusal(values),
            ": waveform 1, sample 1 is 16384: a board packet has 14 bits, up to 16383");
  values.resize(100);
  EXPECT_EQ(refusal(values), ": 200 bytes are not a whole number of waveforms of 64 samples");
  EXPECT_EQ(refusal({}), ": 0 bytes are not a whole number of waveforms of 64 samples");
}

} // namespace
