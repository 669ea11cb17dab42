// SPDX-License-Identifier: Apache-2.0
// Each effect of the simulator has the size that it is given: an effect that does nothing, or that
// is a factor off, fails here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tools/simulation/event_maker.hpp"
#include "tools/simulation/front_end.hpp"

namespace l3 {
namespace {

using fx = simulated_effects;

const detector& koto() {
  static const detector d = default_detector();
  return d;
}

simulated_effects with(double fx::*effect, double size) {
  simulated_effects e;
  e.*effect = size;
  return e;
}

/// The same, and no noise else.
simulated_effects quiet(double fx::*effect, double size) {
  simulated_effects e;
  e.noise_factor = 0;
  e.*effect = size;
  return e;
}

/// Digitizes events that have a pulse of 1000 counts in time in every eleventh crystal, or none.
class stand {
public:
  explicit stand(const simulated_effects& effects, bool pulses = true, double height = 1000)
      : electronics_(koto(), 1, effects), bytes_(electronics_.event_bytes()) {
    for (std::size_t i = 0; i < koto().crystals().size(); i += 11) {
      inputs_.push_back(koto().number_of(koto().crystals()[i].at));
      if (pulses) event_.signals.push_back({inputs_.back(), height, 0});
    }
  }

  void digitize(std::uint32_t number) {
    random_source random(number);
    electronics_.digitize(event_, {{1, number}, {}, number - 1}, random, bytes_);
  }

  [[nodiscard]] std::size_t size() const { return inputs_.size(); }

  /// Over the pedestal.
  [[nodiscard]] std::vector<double> samples(std::size_t n) const {
    const auto at = crystal_of(n).at;
    const auto bytes = electronics_.fragments_of(bytes_)[at.crate].bytes;
    std::vector<double> all;
    for (std::size_t s = 0; s < 64; ++s) {
      const std::size_t word = 2 + (at.slot - 3U) * 1036 + 6 + s * 16 + at.channel;
      const auto value = std::to_integer<unsigned>(bytes[2 * word]) << 8 |
                         std::to_integer<unsigned>(bytes[2 * word + 1]);
      const auto pedestal = electronics_.constants_of(inputs_[n]).pedestal;
      all.push_back(static_cast<double>(value & 0x3fff) - static_cast<double>(pedestal));
    }
    return all;
  }

  [[nodiscard]] double pedestal(std::size_t n) const {
    return electronics_.constants_of(inputs_[n]).pedestal;
  }
  [[nodiscard]] double height(std::size_t n) const {
    const auto all = samples(n);
    return *std::ranges::max_element(all);
  }
  /// ns, of the pulse's middle, since where it is to be expected.
  [[nodiscard]] double time(std::size_t n) const {
    const auto all = samples(n);
    double sum = 0;
    double weighted = 0;
    for (std::size_t s = 0; s < all.size(); ++s) {
      sum += all[s];
      weighted += all[s] * 8 * static_cast<double>(s);
    }
    return weighted / sum - electronics_.constants_of(inputs_[n]).time_offset;
  }

private:
  [[nodiscard]] const crystal& crystal_of(std::size_t n) const {
    return koto().crystals()[koto().at(inputs_[n]).index];
  }

  front_end electronics_;
  std::vector<std::byte> bytes_;
  std::vector<std::uint32_t> inputs_;
  true_event event_;
};

double mean(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

double spread(const std::vector<double>& all) {
  double squares = 0;
  for (const double v : all) squares += (v - mean(all)) * (v - mean(all));
  return std::sqrt(squares / static_cast<double>(all.size()));
}

template <class Of>
std::vector<double> of_each(const stand& s, Of&& of) {
  std::vector<double> all;
  for (std::size_t n = 0; n < s.size(); ++n) all.push_back(of(n));
  return all;
}

/// rms of all samples, and how alike neighbours in time are.
std::pair<double, double> noise_of(const simulated_effects& effects) {
  stand s(effects, false);
  double squares = 0;
  double products = 0;
  double n = 0;
  for (std::uint32_t event = 1; event <= 3; ++event) {
    s.digitize(event);
    for (std::size_t i = 0; i < s.size(); ++i) {
      const auto all = s.samples(i);
      for (std::size_t k = 1; k < all.size(); ++k, ++n) {
        squares += all[k] * all[k];
        products += all[k] * all[k - 1];
      }
    }
  }
  return {std::sqrt(squares / n), products / squares};
}

TEST(effect_sizes, of_noise_and_baselines) {
  const auto white = noise_of(quiet(&fx::noise_white, 50));
  EXPECT_NEAR(white.first, 50, 2);
  EXPECT_NEAR(white.second, 0, 0.05);
  const auto filtered = noise_of(quiet(&fx::noise_filtered, 50));
  EXPECT_NEAR(filtered.first, 50, 2);
  EXPECT_NEAR(filtered.second, 2.0 / 3, 0.05) << "the filter correlates neighbours in time";
  EXPECT_NEAR(noise_of(quiet(&fx::noise_crate, 50)).first, 50, 10);
  // A sine has 1/√2 of its amplitude; a straight line from −½ to ½ has 1/√12.
  EXPECT_NEAR(noise_of(quiet(&fx::wander, 100)).first, 71, 8);
  EXPECT_NEAR(noise_of(quiet(&fx::slope, 100)).first, 29, 3);
  EXPECT_LT(noise_of(with(&fx::noise_factor, 0)).first, 1);
  const double usual = noise_of({}).first;
  EXPECT_NEAR(noise_of(with(&fx::noise_factor, 4)).first, 4 * usual, 0.2 * usual);
}

TEST(effect_sizes, of_common_noise_are_the_same_on_a_board) {
  stand s(quiet(&fx::noise_board, 50), false);
  EXPECT_NEAR(noise_of(quiet(&fx::noise_board, 50)).first, 50, 10);
  s.digitize(1);
  EXPECT_EQ(s.samples(0), s.samples(1)) << "crystals 0 to 15 are on one";
  EXPECT_NE(s.samples(0), s.samples(2));
}

TEST(effect_sizes, of_jitters) {
  const auto times = [](const simulated_effects& effects, std::size_t n) {
    stand s(effects);
    std::set<double> shifts; // clocks, over 40 events
    s.digitize(1);
    for (std::uint32_t event = 1; event <= 40; ++event) {
      s.digitize(event);
      const auto samples = s.samples(n);
      shifts.insert(static_cast<double>(std::ranges::max_element(samples) - samples.begin()));
    }
    return shifts;
  };
  EXPECT_EQ(times(quiet(&fx::event_jitter, 0), 5).size(), 1U);
  const auto jitter = times(quiet(&fx::event_jitter, 2), 5);
  EXPECT_EQ(jitter.size(), 5U) << "two clocks early to two clocks late";
  EXPECT_EQ(*jitter.rbegin() - *jitter.begin(), 4);
  EXPECT_EQ(times(quiet(&fx::crate_jitter, 1), 5).size(), 3U);

  // Of an event all crates are alike, or each is for itself.
  const auto spread_of_crates = [](const simulated_effects& effects) {
    stand s(effects);
    std::vector<double> spreads;
    for (std::uint32_t event = 1; event <= 20; ++event) {
      s.digitize(event);
      spreads.push_back(spread(of_each(s, [&](std::size_t n) { return s.time(n); })));
    }
    return mean(spreads);
  };
  EXPECT_LT(spread_of_crates(quiet(&fx::event_jitter, 2)), 1);
  EXPECT_NEAR(spread_of_crates(quiet(&fx::crate_jitter, 2)), 8 * std::sqrt(2.0), 2);
}

TEST(effect_sizes, of_what_is_not_known_of_inputs) {
  const auto spread_of = [](const simulated_effects& effects, const auto& what,
                            bool pulses = true) {
    stand s(effects, pulses);
    s.digitize(1);
    const auto all = of_each(s, [&](std::size_t n) { return what(s, n); });
    return std::pair(spread(all), spread(all) / mean(all));
  };
  const auto time = [](const stand& s, std::size_t n) { return s.time(n); };
  EXPECT_LT(spread_of(quiet(&fx::time_spread, 0), time).first, 1);
  EXPECT_NEAR(spread_of(quiet(&fx::time_spread, 10), time).first, 10, 2);
  const auto height = [](const stand& s, std::size_t n) { return s.height(n); };
  EXPECT_LT(spread_of(quiet(&fx::gain_spread, 0), height).first, 30);
  EXPECT_NEAR(spread_of(quiet(&fx::gain_spread, 0.2), height).first, 200, 30);
  const auto width = [](const stand& s, std::size_t n) { return mean(s.samples(n)); };
  EXPECT_LT(spread_of(quiet(&fx::pulse_spread, 0), width).second, 0.01);
  EXPECT_NEAR(spread_of(quiet(&fx::pulse_spread, 0.1), width).second, 0.1, 0.02);
  const auto noise = [](const stand& s, std::size_t n) { return spread(s.samples(n)); };
  EXPECT_GT(spread_of(with(&fx::noise_spread, 0.6), noise, false).second,
            1.3 * spread_of({}, noise, false).second);
}

TEST(effect_sizes, of_what_is_not_known_of_counters) {
  // Many seeds together, because one detector has few counters.
  std::vector<double> later;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto late = draw_input_faults(koto(), with(&fx::counter_time_spread, 5), seed);
    for (const crystal& c : koto().crystals()) ASSERT_EQ(late[koto().number_of(c.at)].time, 0);
    for (const veto& v : koto().vetoes()) {
      later.push_back(late[koto().number_of(v.inputs.front())].time);
      for (const input_address at : v.inputs)
        ASSERT_EQ(late[koto().number_of(at)].time, later.back()) << v.name;
    }
  }
  EXPECT_NEAR(mean(later), 0, 0.6);
  EXPECT_NEAR(spread(later), 5, 0.4);

  // Inputs keep what is drawn for each of them.
  fx both = with(&fx::time_spread, 3);
  both.counter_time_spread = 5;
  const auto alone = draw_input_faults(koto(), with(&fx::time_spread, 3), 1);
  const auto together = draw_input_faults(koto(), both, 1);
  const auto counters = draw_input_faults(koto(), with(&fx::counter_time_spread, 5), 1);
  for (std::size_t n = 0; n < alone.size(); ++n)
    ASSERT_NEAR(together[n].time, alone[n].time + counters[n].time, 1e-9);
}

TEST(effect_sizes, of_saturation) {
  // The amplifier comes before the digitizer: also what is far beyond the digitizer's range ends
  // where the amplifier's does.
  for (const double most : {4000.0, 14000.0})
    for (const double height : {30000.0, 1e6}) {
      stand s(quiet(&fx::saturation, most), true, height);
      s.digitize(1);
      for (std::size_t n = 0; n < s.size(); ++n) EXPECT_NEAR(s.height(n), most, 0.02 * most);
    }
  stand below(quiet(&fx::saturation, 4000), true, 3000);
  below.digitize(1);
  EXPECT_NEAR(mean(of_each(below, [&](std::size_t n) { return below.height(n); })), 3000, 50)
      << "four fifths of its range are linear";
}

TEST(effect_sizes, of_the_digitizers_range) {
  // The samples of a pulse of twice what there is room for end flat; those below are as they were.
  for (const double part : {1.0, 0.977, 0.5}) {
    const double top = std::floor(part * 16383 + 0.5);
    stand whole(quiet(&fx::full_scale, 1), true, 6000);
    stand low(quiet(&fx::full_scale, part), true, 6000);
    stand cut(quiet(&fx::full_scale, part), true, 2 * top);
    whole.digitize(1);
    low.digitize(1);
    cut.digitize(1);
    for (std::size_t n = 0; n < cut.size(); ++n) {
      EXPECT_EQ(low.samples(n), whole.samples(n));
      EXPECT_EQ(cut.height(n) + cut.pedestal(n), top);
      EXPECT_GE(std::ranges::count(cut.samples(n), cut.height(n)), 7);
    }
  }
}

/// Means over events without a decay, of accidental pulses: pulses in the beam's counters, in all
/// other inputs, and the energy of the former in thresholds.
struct activity {
  double beam = 0;
  double others = 0;
  double energy = 0;
};
activity activity_with(const simulated_effects& effects) {
  constexpr int events = 200;
  event_maker maker(koto(), effects);
  random_source random(3);
  true_event e;
  activity a;
  for (int i = 0; i < events; ++i) {
    maker.make(event_type::accidental, true, random, e);
    for (const signal& s : e.signals) {
      const element& what = koto().at(s.input);
      if (what.what != element::kind::veto || koto().vetoes()[what.index].accidental_rate < 1e6) {
        a.others += 1;
        continue;
      }
      const veto& v = koto().vetoes()[what.index];
      a.beam += 1;
      a.energy += s.height / v.counts_per_unit / v.threshold;
    }
  }
  a.energy /= a.beam;
  a.beam /= events;
  a.others /= events;
  return a;
}

TEST(effect_sizes, of_activity) {
  const activity usual = activity_with({});
  ASSERT_GT(usual.beam, 50);
  const activity more = activity_with(with(&fx::accidentals, 5));
  EXPECT_NEAR(more.beam / usual.beam, 5, 0.2);
  EXPECT_NEAR(more.others / usual.others, 5, 0.2);
  const activity beam = activity_with(with(&fx::beam_pile_up, 3));
  EXPECT_NEAR(beam.beam / usual.beam, 3, 0.15);
  EXPECT_NEAR(beam.others / usual.others, 1, 0.05);
  const activity tail = activity_with(with(&fx::beam_tail, 0.05));
  EXPECT_NEAR(tail.energy / usual.energy, 1 + 0.05 * 29, 0.25);
  EXPECT_NEAR(tail.beam / usual.beam, 1, 0.05);
}

/// Hits for an event, and for each GeV of its photons in the calorimeter.
std::pair<double, double> hits_with(const simulated_effects& effects, event_type type) {
  event_maker maker(koto(), effects);
  random_source random(4);
  true_event e;
  double hits = 0;
  double energy = 0;
  constexpr int events = 300;
  for (int i = 0; i < events; ++i) {
    maker.make(type, false, random, e); // no beam: no accidental pulses
    hits += static_cast<double>(e.hits.size());
    for (const auto& p : e.photons) energy += p.deposit / 1000;
  }
  return {hits / events, hits / energy};
}

TEST(effect_sizes, of_inefficiency_and_backsplash) {
  const auto usual = hits_with({}, event_type::ke3);
  ASSERT_GT(usual.first, 2);
  const auto fewer = hits_with(with(&fx::veto_inefficiency, 0.3), event_type::ke3);
  EXPECT_NEAR(fewer.first / usual.first, 0.7, 0.05);
  EXPECT_EQ(hits_with({}, event_type::six_cluster).first, 0) << "all photons are in the crystals";
  const auto splashed = hits_with(with(&fx::backsplash, 2), event_type::six_cluster);
  EXPECT_NEAR(splashed.second, 2, 0.15);
}

TEST(effect_sizes, of_faults_of_inputs) {
  const auto samples = [](const simulated_effects& effects, bool pulses, std::uint32_t event = 1) {
    stand s(effects, pulses);
    s.digitize(event);
    return s.samples(9);
  };
  const auto rms = [&](const simulated_effects& effects, bool pulses, std::uint32_t event = 1) {
    const auto all = samples(effects, pulses, event);
    return std::hypot(spread(all), mean(all));
  };
  EXPECT_LT(rms({}, false), 8);
  const auto place_of_peak = [&](const simulated_effects& effects) {
    const auto all = samples(effects, true);
    return std::ranges::max_element(all) - all.begin();
  };
  const auto in_time = place_of_peak({});
  EXPECT_EQ(place_of_peak(with(&fx::event_shift, 16)), in_time + 2);
  EXPECT_EQ(place_of_peak(with(&fx::event_shift, -16)), in_time - 2);
  fx dead = with(&fx::dead, 1);
  EXPECT_LT(rms(dead, true), 8);
  dead.undershoot = 0.1;
  EXPECT_LT(rms(dead, true), 8) << "no pulse, no undershoot";
  EXPECT_LT(samples(with(&fx::undershoot, 0.1), true).back(), -50);
  dead.faulty_from = 5;
  EXPECT_GT(rms(dead, true, 4), 100);
  EXPECT_LT(rms(dead, true, 5), 8);
  EXPECT_GT(rms(with(&fx::hot, 1), false), 100);
  const auto stuck = samples(with(&fx::stuck, 1), true);
  EXPECT_EQ(std::ranges::count(stuck, stuck[0]), 64);
  const auto level = samples(quiet(&fx::recovering, 1), false);
  EXPECT_NEAR(level.front(), -50, 1);
  EXPECT_NEAR(level.back(), -50 * std::exp(-0.504), 1);
}

} // namespace
} // namespace l3
