// SPDX-License-Identifier: Apache-2.0
// What people write: the daemon's configuration; the selection's settings, detector, calibration;
// and what a stream holds of these. Any text is taken, or refused with a text. Mistakes of the
// configuration have their places, and settings that are printed read the same. A selection that
// is taken makes tables, or is refused with a text.
#include <algorithm>
#include <span>

#include "config/load.hpp"
#include "selection/detector/calibration.hpp"
#include "selection/detector/detector.hpp"
#include "selection/trigger/make_tables.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "selection/trigger/recorded_settings.hpp"
#include "tests/fuzz/targets/fuzz.hpp"

namespace l3::test {
namespace {

void take_configuration(std::string_view text) {
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  const auto read = read_config(text, "fuzz.toml");
  for (const auto& e : read.errors) {
    require(!e.text.empty(), "a mistake is told");
    require(e.at.line <= lines, "a mistake is where the text is");
  }
  if (!read.ok()) return;
  const auto printed = print_config(read.settings, read.origins);
  const auto again = read_config(printed, "printed.toml");
  require(again.ok(), "what is printed can be read");
  require(print_config(again.settings, {}) == print_config(read.settings, {}),
          "what is printed says the same");
}

void take_selection(char what, std::string_view text) {
  static const detector built_in = default_detector();
  static const selection_settings settings = default_selection();
  static const calibration nominal = nominal_calibration(built_in);
  if (what == 'd') {
    const auto d = parse_detector(text, "fuzz.toml", built_in.crates());
    check_fits(d, nominal_calibration(d));
  } else if (what == 'c') {
    const auto c = calibration_of_run(text, "fuzz.csv", built_in, 100).inputs;
    require(c.size() == nominal.size(), "every input is calibrated");
    (void)make_tables(built_in, c, settings, 1);
  } else if (what == 'r') {
    const auto read = decode_settings(std::as_bytes(std::span(text)));
    if (read) require(decode_settings(encode(*read)) == read, "settings come back");
  } else {
    (void)make_tables(built_in, nominal, parse_selection(text, "fuzz.toml"), 1);
  }
}

} // namespace

/// The first letter says of what the text is: l, d, c, r, or the selection's settings.
void fuzz(fuzz_input& in) {
  const char what = static_cast<char>(in.byte());
  const auto text = in.text();
  if (what == 'l') {
    take_configuration(text);
  } else {
    taken_or_refused([&] { take_selection(what, text); });
  }
}

} // namespace l3::test
