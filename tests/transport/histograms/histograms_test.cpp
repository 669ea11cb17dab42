// SPDX-License-Identifier: Apache-2.0
// Histograms as JSON and back, and the inputs that changed between two of them.
#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "tests/tools/temporary_folder.hpp"
#include "transport/histograms/comparison.hpp"
#include "transport/histograms/histogram_json.hpp"

namespace l3 {
namespace {

readout two_crates() {
  readout r;
  r.crates = {{3, 2, board_kind::sampling_125_mhz}, {9, 1, board_kind::sampling_500_mhz}};
  return r;
}

histogram_names names() { return {input_addresses(two_crates()), {"barrel", "beam"}}; }

constexpr std::uint64_t waveforms = 1000;

/// Each quiet waveform gets so much more, or less, of a logarithm of its variance.
void add_noise_log(channel_sums& c, std::int64_t more) {
  const auto n = static_cast<std::int64_t>(c.quiet);
  const auto before = static_cast<std::int64_t>(c.noise_log);
  c.noise_log_squares += static_cast<std::uint64_t>(2 * more * before + more * more * n);
  c.noise_log += static_cast<std::uint64_t>(more * n);
}

/// A usual input: pedestal 500 counts ± 1, noise of 2 counts, one waveform in 50 with a pulse.
channel_sums usual_channel() {
  channel_sums c;
  c.waveforms = waveforms;
  c.lit = waveforms / 50;
  c.timed = c.lit;
  c.quiet = waveforms - c.lit;
  c.pedestal = waveforms * 2000;
  c.pedestal_squares = waveforms * (2000 * 2000 + 16);
  c.noise_log_squares = c.quiet * 212 * 212; // as white noise scatters
  add_noise_log(c, 1943);
  c.time = static_cast<std::int64_t>(c.timed) * 3 * 128;
  return c;
}

histogram_set usual_set() {
  histogram_set s;
  s.run = 7;
  s.node = 2;
  s.settings = 0x12ab;
  s.one_in = 4;
  s.left_out = 5;
  s.sums = histogram_sums(names().inputs.size());
  for (channel_sums& c : s.sums.channels) c = usual_channel();
  s.sums.counts[count_of_events] = 4 * waveforms;
  s.sums.counts[count_of_sampled] = waveforms;
  for (std::uint32_t k = 2; k < event_counts; ++k) s.sums.counts[k] = k;
  return s;
}

TEST(input_addresses, are_those_of_the_readout) {
  const auto all = names().inputs;
  ASSERT_EQ(all.size(), 48U);
  EXPECT_EQ(all[0], "3/3/0");
  EXPECT_EQ(all[31], "3/4/15");
  EXPECT_EQ(all[35], "9/3/3");
  EXPECT_EQ(all[36], "") << "a board at 500 MHz has four";
}

std::string why_not(const std::string& text) {
  try {
    static_cast<void>(read_histograms(text));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "it was read";
}

TEST(histogram_json, says_what_is_wrong) {
  const std::string good = to_json(show(usual_set(), names()));
  const auto with = [&](const char* key, boost::json::value v) {
    auto o = boost::json::parse(good).as_object();
    o[key] = std::move(v);
    return why_not(boost::json::serialize(o));
  };
  EXPECT_EQ(why_not(good), "it was read");
  EXPECT_NE(why_not(good.substr(0, good.size() / 2)).find("not JSON"), std::string::npos);
  EXPECT_TRUE(why_not("{\n \"run\": 1,\n \"node\": x}").starts_with("3:10: not JSON"));
  EXPECT_EQ(why_not("[]"), "\"the document\" is not an object");
  EXPECT_EQ(why_not("{}"), "\"histograms\" is missing");
  EXPECT_EQ(with("histograms", 1), "\"histograms\" is not 2: another version of koto-l3 wrote it");
  EXPECT_EQ(with("run", -1), "\"run\" is not a number that fits");
  EXPECT_EQ(with("inputs", boost::json::array{"3/3/0"}),
            "\"waveforms\" has 48 values for 1 inputs");
  EXPECT_EQ(with("inputs", boost::json::array{1}), "\"inputs\" has an entry that is not a text");
  EXPECT_EQ(with("of_events", boost::json::array{1}), "\"of_events\" is not an object");
  EXPECT_EQ(with("of_events", "none"), "\"of_events\" is not a list");
  const boost::json::object empty{
      {"name", "x"}, {"unit", ""}, {"low", 0}, {"width", 0}, {"counts", {1, 2, 3}}};
  EXPECT_EQ(with("of_counters", boost::json::array{empty}), "the histogram x has no bins");
}

/// The changes of one input, number 4.
std::vector<channel_change> changes_of(void (*change)(channel_sums&)) {
  histogram_set now = usual_set();
  change(now.sums.channels[4]);
  const auto found = changed_channels(show(now, names()), show(usual_set(), names()));
  for (const channel_change& c : found) EXPECT_EQ(c.input, "3/3/4");
  return found;
}

TEST(changed_channels, tell_what_is_another_and_no_less) {
  constexpr auto n = static_cast<std::int64_t>(waveforms);
  const double noise = *noise_of(usual_channel());
  struct {
    void (*change)(channel_sums&);
    std::optional<channel_property> what; ///< nothing: it is too little to tell
    double was = 0, is = 0;
  } const all[] = {
      {[](channel_sums& c) {
         c.pedestal += 9 * n;
         c.pedestal_squares = waveforms * (2009 * 2009 + 16);
       },
       channel_property::pedestal, 500, 502.25},
      {[](channel_sums& c) { // 1.75 counts
         c.pedestal += 7 * n;
         c.pedestal_squares = waveforms * (2007 * 2007 + 16);
       },
       {}},
      {[](channel_sums& c) { // within the error of a pedestal that wanders
         c.pedestal += 9 * n;
         c.pedestal_squares = waveforms * (2009 * 2009 + 160000);
       },
       {}},
      {[](channel_sums& c) { add_noise_log(c, 512); }, channel_property::noise, noise, 2 * noise},
      {[](channel_sums& c) { add_noise_log(c, -512); }, channel_property::noise, noise, noise / 2},
      {[](channel_sums& c) { c.noise_log = c.noise_log_squares = 0; }, channel_property::noise,
       noise, 0},
      {[](channel_sums& c) { add_noise_log(c, 100); }, {}}, // 14 % more
      {[](channel_sums& c) { // within the error of a logarithm that scatters
         add_noise_log(c, 512);
         c.noise_log_squares += c.quiet * 3000 * 3000;
       },
       {}},
      {[](channel_sums& c) { c.lit = 100; }, channel_property::occupancy, 0.02, 0.1},
      {[](channel_sums& c) { c.lit = 38; }, {}}, // less than twice
      {[](channel_sums& c) { c.lit = 8; }, {}},  // too few
      {[](channel_sums& c) { c.time += static_cast<std::int64_t>(c.timed) * 200 * 128; },
       channel_property::time, 3, 203},
      {[](channel_sums& c) { c.time += static_cast<std::int64_t>(c.timed) * 100 * 128; }, {}},
      {[](channel_sums& c) { c = {}; }, channel_property::read_out, 1, 0},
  };
  for (std::size_t row = 0; row < std::size(all); ++row) {
    const auto& [change, what, was, is] = all[row];
    const auto found = changes_of(change);
    ASSERT_EQ(found.size(), what ? 1U : 0U) << row;
    if (!what) continue;
    EXPECT_EQ(found[0].what, *what) << row;
    EXPECT_NEAR(found[0].was, was, 1e-9) << row;
    EXPECT_NEAR(found[0].is, is, 1e-9) << row;
  }
}

/// Accidental pulses lie evenly in the part of a waveform that is searched. The reference has the
/// crates in another order.
TEST(changed_channels, are_none_for_the_times_of_accidental_pulses) {
  const auto made = [](unsigned seed, const histogram_names& named) {
    std::mt19937 random(seed);
    histogram_set s = usual_set();
    for (std::size_t i = 0; i < s.sums.channels.size(); ++i) {
      channel_sums& c = s.sums.channels[i];
      const bool slow = named.inputs[i].starts_with("3/");
      const int end = 128 * (slow ? 128 : 256); // half of 256 ns at 125 MHz, of 512 at 500 MHz
      std::uniform_int_distribution<int> time(-end, end);
      c.time = 0;
      for (std::uint64_t n = 0; n < c.timed; ++n) c.time += time(random);
    }
    return show(s, named);
  };
  auto turned = names();
  std::ranges::rotate(turned.inputs, turned.inputs.begin() + 32);
  for (unsigned seed = 1; seed < 1000; seed += 2)
    EXPECT_TRUE(changed_channels(made(seed, names()), made(seed + 1, turned)).empty()) << seed;
}

TEST(changed_channels, are_found_by_address) {
  histogram_set now = usual_set();
  add_noise_log(now.sums.channels[4], 512);
  auto other_names = names();
  std::swap(other_names.inputs[4], other_names.inputs[7]);
  other_names.inputs[8] = "4/3/8"; // which the reference does not have
  now.sums.channels[8] = {};
  const auto found = changed_channels(show(now, other_names), show(usual_set(), names()));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].input, "3/3/7");
}

/// Events whose energy is spread as e^(−E/mean), in MeV.
shown_histograms made_energies(std::uint64_t events, double mean, unsigned seed) {
  constexpr double mega = 1000;
  std::mt19937 random(seed);
  std::exponential_distribution<double> energy(1 / mean);
  histogram_set s = usual_set();
  constexpr auto which = event_histogram::calorimeter_energy;
  const auto from = s.sums.counts.begin() + first_count(which);
  std::fill(from, from + axis_of(which).counts(), 0);
  for (std::uint64_t n = 0; n < events; ++n)
    from[axis_of(which).place_of(static_cast<std::int32_t>(mega * energy(random)))] += 1;
  return show(s, names());
}

/// However many events tell it, a small change is none.
TEST(changed_histograms, are_none_for_what_does_not_matter) {
  const shown_histograms one = made_energies(100'000, 1300, 1);
  EXPECT_TRUE(changed_histograms(made_energies(100'000, 1200, 2), one).empty());
  EXPECT_FALSE(changed_histograms(made_energies(100'000, 900, 2), one).empty());
}

TEST(changed_histograms, count_several_entries_of_an_event_as_one) {
  for (const std::string_view name : {"photon_energy", "pion_mass", "calorimeter_energy"}) {
    const auto with = [&](std::uint64_t low, std::uint64_t high) {
      shown_histograms h = show(usual_set(), names());
      auto& of = *std::ranges::find(h.histograms, name, &named_histogram::name);
      std::ranges::fill(of.counts, 0);
      of.counts[10] = low;
      of.counts[20] = high;
      return h;
    };
    const bool one_an_event = name == "calorimeter_energy"; // of 200 events, the others of 100
    EXPECT_EQ(changed_histograms(with(65, 135), with(135, 65)).empty(), !one_an_event) << name;
    EXPECT_FALSE(changed_histograms(with(120, 280), with(280, 120)).empty()) << name;
  }
}

TEST(a_reference, of_another_binning_is_refused_with_what_to_do) {
  const shown_histograms now = show(usual_set(), names());
  shown_histograms reference = now;
  EXPECT_EQ(wrong_reference(now, reference, "good.json"), "");
  auto& vertex = *std::ranges::find(reference.histograms, "vertex_z", &named_histogram::name);
  vertex.width = 50;
  EXPECT_EQ(wrong_reference(now, reference, "good.json"),
            "good.json has a different binning: vertex_z has 82 bins of 50 mm from -2000 in the "
            "reference, but 82 bins of 100 mm from -2000 here. Make a new reference with this "
            "version, from a "
            "good run: `koto-l3 histograms URL --save FILE`");
  reference = now;
  reference.counters[1].counts.pop_back();
  EXPECT_NE(wrong_reference(now, reference, "good.json").find("beam has 63 bins"),
            std::string::npos);
  reference.counters.pop_back(); // a counter that was not there yet is not compared
  EXPECT_EQ(wrong_reference(now, reference, "good.json"), "");
}

TEST(histograms, that_count_something_else_are_not_added) {
  const shown_histograms one = show(usual_set(), names());
  const auto why = [&](auto change) {
    shown_histograms sum = one;
    shown_histograms other = one;
    change(other);
    const std::string text = add(sum, other);
    EXPECT_EQ(to_json(sum), to_json(one)) << "nothing was added";
    return text;
  };
  EXPECT_EQ(why([](auto& h) { h.run = 8; }), "they belong to runs 7 and 8");
  EXPECT_EQ(why([](auto& h) { h.one_in = 5; }),
            "they sample the inputs of one event in 4 and one in 5");
  EXPECT_EQ(why([](auto& h) { h.inputs[0] = "3/3/1"; }), "their inputs differ");
  EXPECT_EQ(why([](auto& h) { h.counters.pop_back(); }), "their lists of histograms differ");
  EXPECT_NE(why([](auto& h) { h.settings = "00000001"; }).find("settings, 000012ab"),
            std::string::npos);
  EXPECT_NE(why([](auto& h) { h.histograms[0].width = 3; }).find("has 60 bins"), std::string::npos);
}

} // namespace
} // namespace l3
