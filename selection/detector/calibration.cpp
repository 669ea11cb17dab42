// SPDX-License-Identifier: Apache-2.0
#include "selection/detector/calibration.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "config/toml/complaints.hpp"
#include "config/toml/value.hpp"
#include "selection/detector/input_constants.hpp"
#include "selection/detector/pulse_form.hpp"

namespace l3 {
namespace {

constexpr double noise_height = 5; // counts: below it is nothing
constexpr double noise_factor = 4; // × rms: nor is what does not stand out of the noise by so much
constexpr double least_gain = 1e-4; // the highest pulse would be 1.6 MeV
constexpr double most_gain = 10;    // MeV per count: a full range of 160 GeV
constexpr double most_noise = 100;  // counts, rms
constexpr double most_time = 200;   // ns: farther off the pulse leaves the waveform
constexpr std::string_view header = "input,gain,time,threshold,dead";
constexpr std::string_view with_levels = ",pedestal,noise";
constexpr std::size_t fields = 7;
constexpr std::size_t without_levels = 5;

std::string_view without_space(std::string_view s) {
  constexpr std::string_view space = " \t\r";
  const auto first = s.find_first_not_of(space);
  return first == std::string_view::npos ? std::string_view{}
                                         : s.substr(first, s.find_last_not_of(space) - first + 1);
}

/// Takes the text before the next separator, and the separator, off `rest`.
std::string_view cut(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const auto part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return part;
}

class calibration_reader {
public:
  calibration_reader(const detector& d, const std::string& name)
      : detector_(d), place_{name}, result_(nominal_calibration(d)) {}

  calibration read(std::string_view text) {
    do {
      ++place_.line;
      const auto row = without_space(cut(text, '\n'));
      if (!row.empty() && row.front() != '#') take_row(row);
    } while (!text.empty() && !wrong_.full());
    if (!headed_) refuse_header();
    wrong_.raise();
    return std::move(result_);
  }

private:
  template <class... Parts>
  [[noreturn]] static void refuse(fmt::format_string<Parts...> text, Parts&&... parts) {
    throw std::runtime_error(fmt::format(text, std::forward<Parts>(parts)...));
  }

  [[noreturn]] void refuse_header() const {
    throw bad_file(place_, "the table must begin with its header; write {}, or {}{}", header,
                   header, with_levels);
  }

  void take_row(std::string_view row) {
    if (headed_) {
      wrong_.hear(place_, [&] { take_input(row); });
    } else if (row == header || row == std::string(header) + std::string(with_levels)) {
      headed_ = true;
      fields_ = row == header ? without_levels : fields;
    } else {
      refuse_header();
    }
  }

  void take_input(std::string_view row) {
    std::array<std::string_view, fields> field;
    std::string_view rest = row;
    for (auto& f : field) f = without_space(cut(rest, ','));
    const auto commas = static_cast<std::size_t>(std::count(row.begin(), row.end(), ','));
    if (commas != fields_ - 1)
      refuse("a line has {} fields, this one {}; leave a field empty to keep its nominal value",
             fields_, commas + 1);

    const auto at = address_of(field[0]);
    const auto input = detector_.number_of(at);
    if (!seen_.insert(input).second)
      refuse("input {} stands in the table twice; leave one line", field[0]);
    auto& c = result_[input];
    if (const auto gain = number("gain", field[1], 0, most_gain)) {
      if (*gain < least_gain)
        refuse("gain must be 0.0001 or more; mark an input without signal as dead");
      c.gain = *gain;
    }
    c.time = number("time", field[2], -most_time, most_time).value_or(c.time);
    // Over the pedestal: no pulse is higher.
    const double highest = highest_sample(detector_.kind_of(at)) - detector_.signals().pedestal_max;
    if (const auto height = number("threshold", field[3], 0, highest)) {
      if (*height != std::floor(*height)) refuse("threshold must be a whole number of counts");
      c.least_height = static_cast<std::uint32_t>(*height);
    }
    if (const auto dead = number("dead", field[4], 0, 1)) {
      if (*dead != 0 && *dead != 1) refuse("dead must be 0 or 1");
      c.dead = *dead == 1;
    }
    c.pedestal =
        number("pedestal", field[5], 0, highest_sample(detector_.kind_of(at))).value_or(c.pedestal);
    c.noise = number("noise", field[6], 0, most_noise).value_or(c.noise);
  }

  /// The address of an input that carries a crystal or a veto.
  input_address address_of(std::string_view text) const {
    input_address at;
    std::string_view rest = text;
    bool good = true;
    for (auto* part : {&at.crate, &at.slot, &at.channel}) {
      const auto digits = cut(rest, '/');
      const auto end = digits.data() + digits.size();
      const auto r = std::from_chars(digits.data(), end, *part);
      good = good && r.ec == std::errc{} && r.ptr == end;
    }
    if (!good || std::count(text.begin(), text.end(), '/') != 2)
      refuse("{} is no input; write crate/slot/channel, such as 0/3/7", quote(text));
    if (!detector_.exists(at))
      refuse("the readout has no input {}; correct it or leave it out", text);
    if (detector_.at(detector_.number_of(at)).what == element::kind::none)
      refuse("input {} carries nothing; correct it or leave it out", text);
    return at;
  }

  /// Empty if the field is.
  static std::optional<double> number(std::string_view what, std::string_view text, double least,
                                      double most) {
    if (text.empty()) return std::nullopt;
    double v = 0;
    const auto end = text.data() + text.size();
    const auto r = std::from_chars(text.data(), end, v);
    if (r.ec != std::errc{} || r.ptr != end)
      refuse("{} {} is not a number; write one such as 0.085", what, quote(text));
    if (!(v >= least && v <= most))
      refuse("{} {} is out of range {:g}..{:g}", what, text, least, most);
    return v;
  }

  const detector& detector_;
  source_place place_; // of the row
  bool headed_ = false;
  std::size_t fields_ = fields;
  calibration result_;
  std::set<std::uint32_t> seen_;
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
      c.time += v.t0;
      c.dead = v.dead[e.module * v.ends + e.end];
    }
  }
  return all;
}

calibration parse_calibration(std::string_view text, const std::string& name, const detector& d) {
  return calibration_reader(d, name).read(text);
}

calibration read_calibration(const std::filesystem::path& file, const detector& d) {
  return parse_calibration(read_text(file), file.string(), d);
}

} // namespace l3
