// SPDX-License-Identifier: Apache-2.0
// What people write about the selection: settings, detector, calibration; and what a stream holds
// of it. Any text is taken, or
// refused with a text; and what is taken makes tables, or is refused with a text.
#include <span>
#include <stdexcept>

#include "selection/detector/calibration.hpp"
#include "selection/detector/detector.hpp"
#include "selection/trigger/make_tables.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "selection/trigger/recorded_settings.hpp"
#include "tests/fuzz/targets/fuzz.hpp"

namespace l3::test {
namespace {

template <class F>
void taken_or_refused(const F& f) {
  try {
    f();
  } catch (const std::runtime_error& e) {
    require(*e.what() != '\0', "a refusal says why");
  }
}

} // namespace
} // namespace l3::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3;
  static const detector built_in = default_detector();
  static const selection_settings settings = default_selection();
  static const calibration nominal = nominal_calibration(built_in);
  test::fuzz_input in(data, bytes);
  const char what = static_cast<char>(in.byte());
  const auto text = in.text();
  // The first letter says of what the text is: d, c, r, or settings.
  test::taken_or_refused([&] {
    if (what == 'd') {
      const auto d = parse_detector(text, "fuzz.toml", built_in.crates());
      check_fits(d, nominal_calibration(d));
    } else if (what == 'c') {
      const auto c = calibration_of_run(text, "fuzz.csv", built_in, 100).inputs;
      test::require(c.size() == nominal.size(), "every input is calibrated");
      (void)make_tables(built_in, c, settings, 1);
    } else if (what == 'r') {
      const auto read = decode_settings(std::as_bytes(std::span(text)));
      if (read) test::require(decode_settings(encode(*read)) == read, "settings come back");
    } else {
      (void)make_tables(built_in, nominal, parse_selection(text, "fuzz.toml"), 1);
    }
  });
  return 0;
}
