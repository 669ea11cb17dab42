// SPDX-License-Identifier: Apache-2.0
#include "transport/histograms/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <string_view>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "transport/format/l2.hpp"

namespace l3 {

namespace {

constexpr double sigmas = 6;
/// Inputs with fewer entries are not compared.
constexpr std::uint64_t least_entries = 20;

// Smallest differences that matter.
constexpr double least_pedestal = 2;  // counts
constexpr double least_noise = 1.15;  // ratio
constexpr double least_occupancy = 2; // ratio
constexpr double least_time = 4;      // ns
// The rms of the times of accidental pulses, which are uniform in the searched part of a waveform:
// 256 ns at 125 MHz and 512 ns at 500 MHz.
constexpr double time_width = 256 / (2 * std::numbers::sqrt3);      // ns
constexpr double fast_time_width = 512 / (2 * std::numbers::sqrt3); // ns

// Kolmogorov's distance D of two histograms of n and m equal entries exceeds c √(1/n + 1/m) with a
// probability of at most 2 exp(−2c²), one in a million at this c. Binning makes D smaller.
constexpr double distance_factor = 2.7;
constexpr double least_distance = 0.05;

/// The squared error of the mean pedestal.
double pedestal_variance(const channel_sums& c) {
  constexpr double quarters = 4;
  const auto n = static_cast<double>(c.waveforms);
  const double mean = static_cast<double>(c.pedestal) / n;
  const double square = static_cast<double>(c.pedestal_squares) / n;
  return std::max(0.0, square - mean * mean) / (quarters * quarters) / n;
}

bool differs(double one, double other, double least, double error) {
  return std::abs(one - other) > std::max(least, sigmas * error);
}

bool has_other_pedestal(const channel_sums& a, const channel_sums& b) {
  return differs(*pedestal_of(a), *pedestal_of(b), least_pedestal,
                 std::sqrt(pedestal_variance(a) + pedestal_variance(b)));
}

bool has_other_noise(const channel_sums& a, const channel_sums& b) {
  if (a.quiet < least_entries || b.quiet < least_entries) return false;
  const mean_noise_log one = *mean_noise_log_of(a);
  const mean_noise_log other = *mean_noise_log_of(b);
  return differs(one.value, other.value, 2 * std::log2(least_noise),
                 std::sqrt(one.error_square + other.error_square));
}

bool has_other_occupancy(const channel_sums& a, const channel_sums& b) {
  const double one = *occupancy_of(a);
  const double other = *occupancy_of(b);
  const auto n = static_cast<double>(a.waveforms);
  const auto m = static_cast<double>(b.waveforms);
  const double both = (one * n + other * m) / (n + m);
  const double error = std::sqrt(both * (1 - both) * (1 / n + 1 / m));
  const bool by_factor = one > least_occupancy * other || other > least_occupancy * one;
  return by_factor && differs(one, other, 0, error);
}

bool has_other_time(const channel_sums& a, const channel_sums& b, double width) {
  if (a.timed < least_entries || b.timed < least_entries) return false;
  const double error =
      width * std::sqrt(1 / static_cast<double>(a.timed) + 1 / static_cast<double>(b.timed));
  return differs(*mean_time_of(a), *mean_time_of(b), least_time, error);
}

/// Whether an input belongs to a 500 MHz board, which has four inputs and leaves the other places
/// empty.
bool is_fast(const shown_histograms& of, std::size_t input) {
  constexpr std::size_t places = l2::waveforms_per_board;
  const std::size_t last = input / places * places + places - 1;
  return last < of.inputs.size() && of.inputs[last].empty();
}

double share_read(const shown_histograms& of, const channel_sums& c) {
  return of.sampled == 0 ? 0 : static_cast<double>(c.waveforms) / static_cast<double>(of.sampled);
}

void compare(const shown_histograms& now, std::size_t input, const shown_histograms& reference,
             const channel_sums& was, std::vector<channel_change>& to) {
  const channel_sums& is = now.channels[input];
  const auto tell = [&](channel_property what, double before, double after) {
    to.push_back({now.inputs[input], what, before, after});
  };
  const double read_before = share_read(reference, was);
  const double read_now = share_read(now, is);
  // A share measured with n entries has an error of at most 1/(2 √n).
  const auto variance = [](const shown_histograms& h) {
    return 1 / (4 * (static_cast<double>(h.sampled) + 1));
  };
  if (differs(read_now, read_before, 0.1, std::sqrt(variance(now) + variance(reference))))
    tell(channel_property::read_out, read_before, read_now);
  if (is.waveforms < least_entries || was.waveforms < least_entries) return;
  if (has_other_pedestal(is, was))
    tell(channel_property::pedestal, *pedestal_of(was), *pedestal_of(is));
  if (has_other_noise(is, was)) tell(channel_property::noise, *noise_of(was), *noise_of(is));
  if (has_other_occupancy(is, was))
    tell(channel_property::occupancy, *occupancy_of(was), *occupancy_of(is));
  if (has_other_time(is, was, is_fast(now, input) ? fast_time_width : time_width))
    tell(channel_property::time, *mean_time_of(was), *mean_time_of(is));
}

/// These histograms have several correlated entries per event; two of them count as one.
double entries_that_count_as_one(std::string_view histogram) {
  const bool several = histogram == form_of(event_histogram::photon_energy).name ||
                       histogram == form_of(event_histogram::pion_mass).name;
  return several ? 2 : 1;
}

double entries_of(const named_histogram& h) {
  double n = 0;
  for (const std::uint64_t count : h.counts) n += static_cast<double>(count);
  return n;
}

/// Both must have entries and the same bins.
double distance_of(const named_histogram& a, const named_histogram& b) {
  const double n = entries_of(a);
  const double m = entries_of(b);
  double share_a = 0;
  double share_b = 0;
  double distance = 0;
  for (std::size_t k = 0; k < a.counts.size(); ++k) {
    share_a += static_cast<double>(a.counts[k]) / n;
    share_b += static_cast<double>(b.counts[k]) / m;
    distance = std::max(distance, std::abs(share_a - share_b));
  }
  return distance;
}

std::string describe(const named_histogram& h) {
  return fmt::format("{} bins of {:g}{}{} from {:g}", h.bins(), h.width, h.unit.empty() ? "" : " ",
                     h.unit, h.low);
}

std::optional<binning_difference> other_binning(const std::vector<named_histogram>& now,
                                                const std::vector<named_histogram>& reference) {
  for (const named_histogram& h : now) {
    const auto other = std::ranges::find(reference, h.name, &named_histogram::name);
    if (other == reference.end()) continue;
    if (h.bins() == other->bins() && h.low == other->low && h.width == other->width &&
        h.unit == other->unit)
      continue;
    return binning_difference{other->place, fmt::format("{} has {} in the reference, but {} here",
                                                        h.name, describe(*other), describe(h))};
  }
  return std::nullopt;
}

std::vector<std::string> inputs_only_in(const shown_histograms& one,
                                        const shown_histograms& other) {
  const std::set<std::string_view> others(other.inputs.begin(), other.inputs.end());
  std::vector<std::string> found;
  for (const std::string& input : one.inputs)
    if (!input.empty() && !others.contains(input)) found.push_back(input);
  return found;
}

bool have_an_input_in_common(const shown_histograms& a, const shown_histograms& b) {
  const auto named = std::ranges::count_if(a.inputs, [](const auto& i) { return !i.empty(); });
  return static_cast<std::size_t>(named) > inputs_only_in(a, b).size();
}

} // namespace

std::string_view name_of(channel_property p) {
  constexpr std::string_view names[] = {"read out", "pedestal", "noise", "occupancy", "time"};
  return names[static_cast<std::size_t>(p)];
}

std::string_view unit_of(channel_property p) {
  constexpr std::string_view units[] = {"of events", "counts", "counts", "of waveforms", "ns"};
  return units[static_cast<std::size_t>(p)];
}

std::vector<channel_change> changed_channels(const shown_histograms& now,
                                             const shown_histograms& reference) {
  std::map<std::string_view, std::size_t> before;
  for (std::size_t i = 0; i < reference.inputs.size(); ++i) before[reference.inputs[i]] = i;
  std::vector<channel_change> changes;
  if (now.sampled < least_entries || reference.sampled < least_entries) return changes;
  for (std::size_t i = 0; i < now.inputs.size(); ++i) {
    const auto was = before.find(now.inputs[i]);
    if (now.inputs[i].empty() || was == before.end()) continue;
    compare(now, i, reference, reference.channels[was->second], changes);
  }
  return changes;
}

std::vector<std::string> changed_inputs(const std::vector<channel_change>& changes) {
  std::vector<std::string> inputs;
  for (const channel_change& c : changes) // the changes of an input are adjacent
    if (inputs.empty() || inputs.back() != c.input) inputs.push_back(c.input);
  return inputs;
}

std::vector<crate_inputs> by_crate(std::span<const std::string> inputs) {
  std::vector<crate_inputs> crates;
  for (const std::string& input : inputs) {
    const std::string crate = input.substr(0, input.find('/'));
    auto of = std::ranges::find(crates, crate, &crate_inputs::crate);
    if (of == crates.end()) of = crates.insert(of, {crate, 0});
    of->inputs += 1;
  }
  return crates;
}

std::vector<histogram_change> changed_histograms(const shown_histograms& now,
                                                 const shown_histograms& reference) {
  std::vector<histogram_change> changes;
  for (const named_histogram& is : now.histograms) {
    const auto was = std::ranges::find(reference.histograms, is.name, &named_histogram::name);
    if (was == reference.histograms.end()) continue;
    const double n = entries_of(is) / entries_that_count_as_one(is.name);
    const double m = entries_of(*was) / entries_that_count_as_one(is.name);
    if (n == 0 || m == 0) continue;
    const double distance = distance_of(is, *was);
    if (distance > std::max(least_distance, distance_factor * std::sqrt(1 / n + 1 / m)))
      changes.push_back({is.name, is.unit, moments_of(*was).mean, moments_of(is).mean, distance});
  }
  return changes;
}

bool run_changes::none() const {
  return inputs.empty() && only_here.empty() && only_in_reference.empty() && histograms.empty();
}

run_changes changes_between(const shown_histograms& now, const shown_histograms& reference) {
  return {changed_channels(now, reference), inputs_only_in(now, reference),
          inputs_only_in(reference, now), changed_histograms(now, reference)};
}

std::string members_of(const run_changes& changes) {
  const auto list = [](const std::vector<std::string>& inputs) {
    return boost::json::serialize(boost::json::array(inputs.begin(), inputs.end()));
  };
  boost::json::array all;
  for (const channel_change& c : changes.inputs)
    all.push_back(boost::json::object{{"input", c.input},
                                      {"what", name_of(c.what)},
                                      {"unit", unit_of(c.what)},
                                      {"was", c.was},
                                      {"is", c.is}});
  boost::json::array histograms;
  for (const histogram_change& c : changes.histograms)
    histograms.push_back(boost::json::object{{"name", c.name},
                                             {"unit", c.unit},
                                             {"was", c.was},
                                             {"is", c.is},
                                             {"distance", c.distance}});
  return fmt::format(
      R"("changed":{},"only_here":{},"only_in_reference":{},"changed_histograms":{})",
      boost::json::serialize(all), list(changes.only_here), list(changes.only_in_reference),
      boost::json::serialize(histograms));
}

std::optional<binning_difference> other_binning(const shown_histograms& now,
                                                const shown_histograms& other) {
  const auto difference = other_binning(now.histograms, other.histograms);
  return difference ? difference : other_binning(now.counters, other.counters);
}

std::string wrong_reference(const shown_histograms& now, const shown_histograms& reference,
                            const std::string& file) {
  constexpr std::string_view what_to_do = "Make a new reference with this version, from a good "
                                          "run: `koto-l3 histograms URL --save FILE`";
  if (const auto difference = other_binning(now, reference))
    return fmt::format("{}{}{} has a different binning: {}. {}", file,
                       difference->place.empty() ? "" : ":", difference->place, difference->text,
                       what_to_do);
  if (!have_an_input_in_common(now, reference))
    return fmt::format("{} has no input of this readout. {}", file, what_to_do);
  return "";
}

namespace {

double share_of(const channel_sums& c) {
  return static_cast<double>(c.lit) / static_cast<double>(c.waveforms);
}

double lower_median(std::vector<double>& of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>((of.size() - 1) / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

} // namespace

std::vector<input_heat> heat_of(std::span<const channel_sums> channels,
                                std::span<const std::optional<std::uint32_t>> counters,
                                const hot_rule& rule) {
  constexpr double per_cent = 0.01;
  std::vector<input_heat> heat(channels.size(), input_heat::unknown);
  std::map<std::uint32_t, std::vector<double>> shares; // by counter
  for (std::size_t i = 0; i < channels.size(); ++i)
    if (counters[i] && channels[i].waveforms >= rule.least_waveforms)
      shares[*counters[i]].push_back(share_of(channels[i]));
  std::map<std::uint32_t, double> limits;
  for (auto& [counter, all] : shares)
    limits[counter] = std::max(per_cent * rule.above, rule.times_median * lower_median(all));
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (!counters[i] || channels[i].waveforms < rule.least_waveforms) continue;
    const bool hot = share_of(channels[i]) > limits.at(*counters[i]);
    heat[i] = hot ? input_heat::hot : input_heat::normal;
  }
  return heat;
}

} // namespace l3
