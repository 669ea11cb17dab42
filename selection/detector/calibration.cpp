// SPDX-License-Identifier: Apache-2.0
#include "selection/detector/calibration.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/toml/complaints.hpp"
#include "config/toml/value.hpp"
#include "selection/detector/cable_map.hpp"
#include "selection/detector/pulse_form.hpp"
#include "selection/detector/random.hpp"
#include "selection/detector/table_rows.hpp"

namespace l3 {

namespace {

/// The quantile u of a triangular distribution between the ends, with its peak near
/// `peak`.
double triangular(double least, double peak, double most, double u) {
  const double range = most - least;
  if (u * range < peak - least) return least + std::sqrt(u * range * (peak - least));
  return most - std::sqrt((1 - u) * range * (most - peak));
}

} // namespace

std::vector<input_constants> draw_input_constants(const detector& d) {
  const auto& figures = d.signals();
  random_source random(figures.seed);
  std::vector<input_constants> all(d.input_count());
  for (auto& c : all) {
    c.noise =
        triangular(figures.noise_min, figures.noise_typical, figures.noise_max, random.uniform());
    c.pedestal = random.uniform(figures.pedestal_min, figures.pedestal_max);
    c.time = figures.time_offset * random.gaussian();
  }
  return all;
}

namespace {

constexpr double noise_height = 5;  // counts: a lower value is noise
constexpr double noise_factor = 4;  // × rms: so is a value below this multiple of the noise
constexpr double least_gain = 1e-4; // the highest pulse would be 1.6 MeV
constexpr double most_gain = 10;    // MeV per count: a full range of 160 GeV
constexpr double most_noise = 100;  // counts, rms
constexpr double most_time = 200;   // ns: with a larger offset the pulse leaves the waveform
constexpr std::string_view header = "input,gain,time,threshold,dead";
constexpr std::string_view with_levels = ",pedestal,noise";
constexpr std::string_view with_runs = "runs,"; // in front of either header
constexpr std::size_t without_levels = 5;       // fields, without the runs
constexpr std::size_t fields = 7;
constexpr std::size_t most_runs_told = 8;

/// From a first to a last run, both included.
struct run_range {
  std::uint32_t first = 0;
  std::uint32_t last = last_run;

  static constexpr std::uint32_t last_run = 0xffffffff;
  [[nodiscard]] bool has(std::uint32_t run) const { return first <= run && run <= last; }
  [[nodiscard]] bool meets(const run_range& o) const { return first <= o.last && o.first <= last; }
};

std::string to_string(const run_range& r) {
  if (r.first == r.last) return fmt::format("{}", r.first);
  return r.last == run_range::last_run ? fmt::format("{}-", r.first)
                                       : fmt::format("{}-{}", r.first, r.last);
}

/// "100", "100-199", "100-"; empty: all runs.
run_range runs_in(std::string_view text) {
  if (text.empty()) return {};
  run_range r;
  const char* const end = text.data() + text.size();
  auto at = std::from_chars(text.data(), end, r.first);
  bool good = at.ec == std::errc{};
  if (good && at.ptr == end) {
    r.last = r.first;
  } else if (good && *at.ptr == '-' && at.ptr + 1 != end) {
    at = std::from_chars(at.ptr + 1, end, r.last);
    good = at.ec == std::errc{} && at.ptr == end;
  } else {
    good = good && *at.ptr == '-';
  }
  if (!good)
    refuse_field("{} is not a range of runs; write one such as 100-199, 100- or 100", quote(text));
  if (r.last < r.first)
    refuse_field("the runs {} end before they begin; write the lower number first", text);
  return r;
}

class calibration_reader {
public:
  calibration_reader(std::string_view text, const std::string& name, const detector& d,
                     std::optional<std::uint32_t> run)
      : detector_(d), run_(run), rows_(text, name), result_(nominal_calibration(d)) {}

  run_calibration read() {
    if (!rows_.next() || !take_header(rows_.row()))
      throw bad_file(rows_.row().empty() ? rows_.file() : rows_.place(),
                     "the table must begin with its header; write {0}, or {0}{1}, either with "
                     "\"{2}\" in front for values that hold for some runs only",
                     header, with_levels, with_runs);
    while (rows_.next() && !wrong_.full()) {
      try {
        take_row();
      } catch (const std::runtime_error& e) {
        wrong_.add(rows_.place(), "{}", e.what());
      }
    }
    if (by_run_ && run_ && !wrong_.any()) check_gaps(*run_);
    wrong_.raise();
    return {std::move(result_), std::move(in_force_)};
  }

private:
  struct known_input {
    std::vector<std::pair<run_range, std::uint32_t>> rows; ///< with their lines
    source_place place;                                    ///< of the first row
    bool holds = false;                                    ///< one of them is for this run
  };

  bool take_header(std::string_view row) {
    by_run_ = row.starts_with(with_runs);
    if (by_run_) row.remove_prefix(with_runs.size());
    if (!row.starts_with(header)) return false;
    in_force_ = std::string(row) + "\n";
    row.remove_prefix(header.size());
    fields_ = row.empty() ? without_levels : fields;
    return row.empty() || row == with_levels;
  }

  void take_row() {
    const std::size_t first = by_run_ ? 1 : 0;
    if (rows_.size() != fields_ + first)
      refuse_field(
          "a line has {} fields, this one {}; leave a field empty to keep its nominal value",
          fields_ + first, rows_.size());
    const run_range runs = by_run_ ? runs_in(rows_.field(0)) : run_range();
    const auto at = address_of(rows_.field(first));
    note(at, runs);
    channel_calibration c = result_[detector_.number_of(at)];
    if (const auto gain = rows_.number(first + 1, "gain", 0, most_gain)) {
      if (*gain < least_gain)
        refuse_field("gain must be 0.0001 or more; mark an input without signal as dead");
      c.gain = *gain;
    }
    c.time = rows_.number(first + 2, "time", -most_time, most_time).value_or(c.time);
    // Above the pedestal: no pulse is higher.
    const double highest = highest_sample(detector_.kind_of(at)) - detector_.signals().pedestal_max;
    if (const auto height = rows_.number(first + 3, "threshold", 0, highest)) {
      if (*height != std::floor(*height))
        refuse_field("threshold must be a whole number of counts");
      c.least_height = static_cast<std::uint32_t>(*height);
    }
    if (const auto dead = rows_.number(first + 4, "dead", 0, 1)) {
      if (*dead != 0 && *dead != 1) refuse_field("dead must be 0 or 1");
      c.dead = *dead == 1;
    }
    if (fields_ == fields) {
      const double most = highest_sample(detector_.kind_of(at));
      c.pedestal = rows_.number(first + 5, "pedestal", 0, most).value_or(c.pedestal);
      c.noise = rows_.number(first + 6, "noise", 0, most_noise).value_or(c.noise);
    }
    if (!holds(at, runs)) return;
    result_[detector_.number_of(at)] = c;
    const auto row = rows_.row();
    in_force_ += std::string(by_run_ ? row.substr(row.find(',') + 1) : row) + "\n";
  }

  /// An input has one line per run.
  void note(input_address at, const run_range& runs) {
    auto& known = inputs_[at];
    if (known.rows.empty()) known.place = rows_.place();
    for (const auto& [others, line] : known.rows)
      if (others.meets(runs))
        refuse_field("input {} already has line {}{}; remove one", to_string(at), line,
                     by_run_ ? fmt::format(", for the runs {}", to_string(others)) : "");
    known.rows.emplace_back(runs, rows_.line());
    known.holds = known.holds || holds(at, runs);
    if (by_run_ && runs_.size() < most_runs_told) runs_.insert(to_string(runs));
  }

  [[nodiscard]] bool holds(input_address at, const run_range& runs) const {
    return run_ ? runs.has(*run_) : inputs_.at(at).rows.size() == 1;
  }

  /// Inputs with lines for other runs need one for this run, too.
  void check_gaps(std::uint32_t run) {
    const bool any = std::ranges::any_of(inputs_, [](const auto& i) { return i.second.holds; });
    if (!inputs_.empty() && !any)
      return wrong_.add(rows_.file(),
                        "the table is for the runs {}, but this is run {}; add lines for it, or "
                        "name another table",
                        fmt::join(runs_, ", "), run);
    for (const auto& [at, known] : inputs_) {
      if (known.holds) continue;
      std::vector<std::string> others;
      for (const auto& row : known.rows) others.push_back(to_string(row.first));
      wrong_.add(known.place, "input {} has lines for the runs {} but not for run {}; add one",
                 to_string(at), fmt::join(others, ", "), run);
    }
  }

  /// The address of an input that reads a crystal or a veto.
  input_address address_of(std::string_view text) const {
    const auto at = parse_input(text);
    if (!at)
      refuse_field("{} is not an input; write crate/slot/channel, such as 0/3/7", quote(text));
    if (!detector_.exists(*at))
      refuse_field("the readout has no input {}; correct or remove it", text);
    if (detector_.at(detector_.number_of(*at)).what == element::kind::none)
      refuse_field("input {} is not connected; correct or remove it", text);
    return *at;
  }

  const detector& detector_;
  std::optional<std::uint32_t> run_;
  table_rows rows_;
  bool by_run_ = false;
  std::size_t fields_ = fields; ///< per line, without the runs
  calibration result_;
  std::string in_force_;
  std::map<input_address, known_input> inputs_;
  std::set<std::string> runs_; ///< in any line
  complaints wrong_;
};

} // namespace

calibration nominal_calibration(const detector& d) {
  const auto constants = draw_input_constants(d);
  calibration all(d.input_count());
  for (std::uint32_t n = 0; n < d.input_count(); ++n) {
    const auto& e = d.at(n);
    auto& c = all[n];
    c.time = constants[n].time;
    c.pedestal = constants[n].pedestal;
    c.noise = constants[n].noise;
    c.least_height = static_cast<std::uint32_t>(
        std::ceil(std::max(noise_height, noise_factor * constants[n].noise)));
    if (e.what == element::kind::crystal) {
      c.gain = 1 / d.crystals()[e.index].counts_per_mev;
      c.dead = d.crystals()[e.index].dead;
    } else if (e.what == element::kind::veto) {
      const auto& v = d.vetoes()[e.index];
      c.gain = 1 / v.counts_per_unit;
      c.time += v.t0 + v.delay;
      c.dead = v.dead[e.module * v.ends + e.end];
    }
  }
  return all;
}

run_calibration calibration_of_run(std::string_view text, const std::string& name,
                                   const detector& d, std::optional<std::uint32_t> run) {
  return calibration_reader(text, name, d, run).read();
}

} // namespace l3
