// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/evaluation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tools/evaluate/offline_cuts.hpp"
#include "tools/evaluate/stress.hpp"

namespace {

using namespace l3;

const detector& koto() {
  static const detector d = default_detector();
  return d;
}

std::uint16_t counter(std::string_view name) {
  for (std::size_t v = 0; v < koto().vetoes().size(); ++v)
    if (koto().vetoes()[v].name == name) return static_cast<std::uint16_t>(v);
  throw std::logic_error("no such counter");
}

true_photon photon(double energy, double x, double y) {
  true_photon p;
  p.energy = energy;
  p.deposit = energy - 10;
  p.x = x;
  p.y = y;
  p.hit = true_photon::target::calorimeter;
  return p;
}

/// Two photons of a pion with 191 MeV/c across the beam, 2000 mm before the face.
true_event signal() {
  true_event e;
  e.type = event_type::pi0nunu;
  e.vertex_z = koto().front() - 2000;
  e.photons = {photon(800, 600, 0), photon(400, -200, 100)};
  return e;
}

/// `time` after what comes from the event is due in the counter.
true_hit hit(std::string_view name, std::uint16_t module, double energy, double time) {
  true_hit h;
  h.veto = counter(name);
  h.module = module;
  h.energy = energy;
  h.time = time + koto().vetoes()[h.veto].t0;
  return h;
}

offline_judgement judge(const true_event& e) { return judge_offline(e, koto()); }

TEST(proportion, has_an_interval_for_none_and_for_all) {
  const proportion none{0, 100};
  EXPECT_EQ(none.value(), 0);
  EXPECT_NEAR(none.lower(), 0, 1e-12);
  EXPECT_NEAR(none.upper(), 1.0 / 101, 1e-12); // z²/(n + z²) with z = 1
  const proportion all{100, 100};
  EXPECT_EQ(all.value(), 1);
  EXPECT_NEAR(all.lower(), 100.0 / 101, 1e-12);
  EXPECT_NEAR(all.upper(), 1, 1e-12);
  const proportion nothing{};
  EXPECT_EQ(nothing.value(), 0);
  EXPECT_EQ(nothing.lower(), 0);
  EXPECT_EQ(nothing.upper(), 1);
}

// The ends p of Wilson's interval are where the observed share is one standard deviation of p away.
TEST(proportion, ends_where_the_observed_is_one_deviation_away) {
  for (const auto& [some, all] : {std::pair{1U, 3U}, {15U, 100U}, {990U, 1000U}}) {
    const proportion p{some, all};
    for (const double end : {p.lower(), p.upper()})
      EXPECT_NEAR(std::abs(p.value() - end), std::sqrt(end * (1 - end) / all), 1e-12)
          << some << " of " << all;
    EXPECT_LT(p.lower(), p.value());
    EXPECT_GT(p.upper(), p.value());
  }
}

TEST(deviation, is_around_zero) {
  deviation d;
  EXPECT_EQ(d.rms(), 0);
  for (const double x : {3.0, -1.0, 1.0, 5.0}) d.add(x);
  EXPECT_DOUBLE_EQ(d.mean(), 2);
  EXPECT_DOUBLE_EQ(d.rms(), 3);
}

TEST(offline_cuts, look_at_energies_vertex_and_momentum) {
  const auto photons_after = [](const auto& change) {
    true_event e = signal();
    change(e);
    return judge(e).photons;
  };
  EXPECT_TRUE(photons_after([](true_event&) {}));
  EXPECT_FALSE(photons_after([](true_event& e) { e.photons[1].energy = 99; }));
  EXPECT_FALSE(photons_after([](true_event& e) { e.photons[0].energy = 2001; }));
  EXPECT_FALSE(photons_after([](true_event& e) { // 650 together
    e.photons[0].energy = 450;
    e.photons[1].energy = 200;
  }));
  EXPECT_FALSE(photons_after([](true_event& e) { e.vertex_z = 3199; }));
  EXPECT_FALSE(photons_after([](true_event& e) { e.vertex_z = 5001; }));
  EXPECT_FALSE(photons_after([](true_event& e) { e.photons[0].x = 300; })); // too little
  EXPECT_FALSE(photons_after([](true_event& e) { e.photons[1].x = 200; })); // too much
  EXPECT_FALSE(photons_after([](true_event& e) { e.photons.pop_back(); }));
  EXPECT_FALSE(photons_after([](true_event& e) { e.photons.push_back(photon(30, 0, 700)); }));
  // The vetoes look after a third photon that misses the calorimeter.
  EXPECT_TRUE(photons_after([](true_event& e) {
    e.photons.push_back(photon(30, 0, 700));
    e.photons.back().hit = true_photon::target::veto;
  }));
}

TEST(offline_cuts, know_where_the_line_looks) {
  const auto fiducial_with = [](double x0, double y0, double x1, double y1) {
    true_event e = signal();
    e.photons = {photon(800, x0, y0), photon(400, x1, y1)};
    return judge(e).fiducial;
  };
  EXPECT_TRUE(fiducial_with(600, 0, -200, 100));
  EXPECT_FALSE(fiducial_with(600, 0, -150, 150)); // in the square around the hole
  EXPECT_TRUE(fiducial_with(600, 0, -151, 0));
  EXPECT_FALSE(fiducial_with(850, 0, -200, 100));
  EXPECT_FALSE(fiducial_with(600, 0, 300, 0)); // 300 mm apart
}

TEST(offline_cuts, veto_what_is_above_threshold_within_the_window_with_neighbours) {
  const auto& barrel = koto().vetoes()[counter("CBAR")];
  const auto passes_with = [](const std::vector<true_hit>& hits) {
    true_event e = signal();
    e.hits = hits;
    EXPECT_EQ(judge(e).passes(), judge(e).vetoes);
    return judge(e).vetoes;
  };
  EXPECT_TRUE(passes_with({}));
  EXPECT_FALSE(passes_with({hit("CBAR", 3, barrel.threshold, barrel.window_from)}));
  EXPECT_FALSE(passes_with({hit("CBAR", 3, barrel.threshold, barrel.window_to)}));
  EXPECT_TRUE(passes_with({hit("CBAR", 3, barrel.threshold * 0.99, 0)}));
  EXPECT_TRUE(passes_with({hit("CBAR", 3, 50, barrel.window_from - 0.1)}));
  EXPECT_TRUE(passes_with({hit("CBAR", 3, 50, barrel.window_to + 0.1)}));

  EXPECT_TRUE(passes_with({hit("BHPV", 4, 9, 0), hit("BHPV", 5, 9, 1)}));
  EXPECT_FALSE(passes_with({hit("BHPV", 4, 9, 0), hit("BHPV", 6, 9, -5), hit("BHPV", 5, 9, 5)}));
  EXPECT_TRUE(passes_with({hit("BHPV", 4, 9, 0), hit("BHPV", 6, 9, -5), hit("BHPV", 5, 9, 5.1)}));
  EXPECT_TRUE(passes_with({hit("BHPV", 4, 9, 0), hit("BHPV", 5, 9, 0), hit("BHPV", 7, 9, 0)}));
  EXPECT_TRUE(passes_with({hit("BHPV", 4, 9, 0), hit("BHPV", 5, 9, 0), hit("BHPV", 5, 9, 1)}));
  EXPECT_TRUE(passes_with({hit("BHPV", 4, 9, 0), hit("BHPV", 5, 2, 0), hit("BHPV", 6, 9, 0)}));
}

/// The selection's summary of the photons, to the last digit of its units.
event_summary seen(const std::vector<true_photon>& photons) {
  event_summary s;
  for (auto& q : s.quantity) q = undefined_quantity;
  for (const auto& p : photons) {
    auto& found = s.photon[s.photons++];
    found.energy = static_cast<std::int32_t>(std::lround(p.deposit * 1000));
    found.x = static_cast<std::int16_t>(std::lround(p.x * 10));
    found.y = static_cast<std::int16_t>(std::lround(p.y * 10));
    found.time = static_cast<std::int32_t>(std::lround(p.time * 128));
  }
  s.photons_found = s.photons;
  return s;
}

const photon_resolution& bin_from(const evaluation& e, double from) {
  for (const auto& bin : e.photons)
    if (bin.from == from) return bin;
  throw std::logic_error("no such bin");
}

TEST(evaluation, measures_photons_in_the_bin_of_their_true_energy) {
  true_event e = signal(); // 800 and 400 MeV
  e.photons[0].time = 0.5;
  event_summary s = seen(e.photons);
  s.photon[0].energy += 7900; // 1 % of 790 MeV
  s.photon[0].x += 30;
  s.photon[0].time -= 128;
  s.photon[1].y -= 40;
  evaluation all;
  all.add(e, s, koto(), max_lines);
  const auto& high = bin_from(all, 600);
  EXPECT_EQ(high.found.some, 1U);
  EXPECT_EQ(high.found.all, 1U);
  EXPECT_NEAR(high.energy.mean(), 0.01, 1e-9);
  EXPECT_NEAR(high.photon.mean(), 797.9 / 800 - 1, 1e-9);
  EXPECT_NEAR(high.x.mean(), 3, 1e-9);
  EXPECT_NEAR(high.y.mean(), 0, 1e-9);
  EXPECT_NEAR(high.time.mean(), -1, 1e-9);
  const auto& low = bin_from(all, 400); // 400 belongs to the upper of its two bins
  EXPECT_EQ(low.found.all, 1U);
  EXPECT_NEAR(low.y.mean(), -4, 1e-9);
  EXPECT_EQ(bin_from(all, 200).found.all, 0U);
}

TEST(evaluation, leaves_out_photons_that_were_not_found_or_are_not_alone_and_calibration) {
  true_event e = signal();
  event_summary s = seen(e.photons);
  s.photon[0].x += 610; // 61 mm off: another one
  evaluation lost;
  lost.add(e, s, koto(), max_lines);
  EXPECT_EQ(bin_from(lost, 600).found.some, 0U);
  EXPECT_EQ(bin_from(lost, 600).found.all, 1U);
  EXPECT_EQ(bin_from(lost, 600).energy.n, 0U);

  true_event led = e;
  led.type = event_type::led;
  e.photons[1] = photon(400, 450, 0); // 150 mm beside the other
  evaluation none;
  none.add(e, seen(e.photons), koto(), max_lines);
  none.add(led, seen(led.photons), koto(), max_lines);
  for (const auto& bin : none.photons) EXPECT_EQ(bin.found.all, 0U);
}

TEST(evaluation, counts_lines_by_type_and_the_signal_by_its_line) {
  constexpr std::uint32_t line = 1;
  true_event e = signal();
  event_summary kept = seen(e.photons);
  kept.lines = 2;
  kept.kept = 1;
  kept.fired = 3;
  kept.kept_by = 2;
  kept.reason[0] = line_prescale;
  kept.quantity[static_cast<std::size_t>(quantity::vertex_z)] =
      static_cast<std::int32_t>(std::lround(e.vertex_z * 10)) + 250;
  kept.quantity[static_cast<std::size_t>(quantity::transverse_momentum)] = 150'000;
  event_summary lost = seen(e.photons);
  lost.lines = 2;
  lost.reason[0] = lost.reason[1] = line_veto;

  evaluation all;
  all.add(e, kept, koto(), line);
  all.add(e, lost, koto(), line);
  true_event outside = e;
  outside.vertex_z = 3000; // not signal that offline would take
  all.add(outside, lost, koto(), line);
  true_event clock;
  clock.type = event_type::clock;
  event_summary unjudged = kept;
  unjudged.status = too_many_hits;
  all.add(clock, unjudged, koto(), line);

  const auto& row = all.by_type[static_cast<std::size_t>(event_type::pi0nunu)];
  EXPECT_EQ(row.events, 3U);
  EXPECT_EQ(row.kept, 1U);
  EXPECT_EQ(row.fired[0], 1U);
  EXPECT_EQ(row.kept_by[0], 0U);
  EXPECT_EQ(row.kept_by[1], 1U);
  EXPECT_EQ(row.not_judged, 0U);
  EXPECT_EQ(all.sum.events, 4U);
  EXPECT_EQ(all.sum.not_judged, 1U);
  EXPECT_EQ(all.reasons[0][line_veto], 2U);
  EXPECT_EQ(all.reasons[0][line_prescale], 2U);
  EXPECT_EQ(all.kept().some, 2U);
  EXPECT_EQ(all.calibration_kept().some, 1U);
  EXPECT_EQ(all.calibration_kept().all, 1U);
  EXPECT_EQ(all.signal.some, 1U);
  EXPECT_EQ(all.signal.all, 2U);
  EXPECT_EQ(all.signal_fiducial.all, 2U);
  EXPECT_EQ(all.signal_reasons[line_fired], 1U);
  EXPECT_EQ(all.signal_reasons[line_veto], 1U);
  EXPECT_EQ(all.vertex.n, 1U);
  EXPECT_NEAR(all.vertex.mean(), 25, 1e-9);
  EXPECT_EQ(all.momentum.n, 1U);
}

TEST(stress_rows, have_names_and_effects_that_there_are) {
  std::set<std::string_view> names;
  for (const stress_row& row : stress_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    const simulated_effects sizes = row.sizes();
    for (const auto& effect : row.effects) {
      bool known = false;
      for (const auto& option : effect_options)
        known = known || (option.name == effect.first && sizes.*option.size == effect.second);
      EXPECT_TRUE(known) << row.name << ' ' << effect.first;
    }
  }
  EXPECT_TRUE(stress_rows().front().effects.empty());
}

} // namespace
