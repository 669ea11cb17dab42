// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/hot_inputs_file.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "config/toml/complaints.hpp"
#include "config/toml/value.hpp"
#include "selection/detector/dead_inputs.hpp"
#include "selection/detector/table_rows.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/missing_name.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {
namespace {

std::string remedy(const std::string& file, const std::string& why) {
  return fmt::format("no input is masked: {}; mend {} or remove it", why, file);
}

bool is_of_some_runs(const std::string& text, const std::string& file) {
  table_rows rows(text, file);
  return rows.next() && rows.row().starts_with("runs,");
}

} // namespace

hot_inputs_file read_hot_inputs(const std::string& file, const detector& d) {
  hot_inputs_file read;
  if (is_missing_name(file)) return read;
  try {
    read.text = read_text(file);
    const run_calibration table = calibration_of_run(read.text, file, d, std::nullopt);
    read.inputs = dead_by(table.inputs, d);
    if (is_of_some_runs(read.text, file))
      read.refusal = remedy(file, "its lines are of some runs only");
  } catch (const bad_file& e) {
    read.refusal = remedy(file, to_string(e.all().front()));
  } catch (const std::exception& e) {
    read.refusal = remedy(file, reason_of(e));
  }
  if (read.inputs.size() > most_masked_inputs)
    read.refusal = remedy(file, fmt::format("it lists {} inputs, more than {}", read.inputs.size(),
                                            most_masked_inputs));
  if (!read.refusal.empty()) read.inputs.clear();
  return read;
}

added_inputs add_hot_inputs(const std::string& file, std::span<const input_address> hot,
                            const detector& d) {
  const hot_inputs_file before = read_hot_inputs(file, d);
  if (!before.refusal.empty()) return {{}, before.refusal};
  added_inputs added;
  std::ranges::set_difference(hot, before.inputs, std::back_inserter(added.inputs));
  if (added.inputs.empty()) return {};
  const std::size_t all = before.inputs.size() + added.inputs.size();
  if (all > most_masked_inputs)
    return {{},
            fmt::format("{} inputs would be masked, more than {}: none of those that were hot "
                        "now is; look for what they share, a crate, a threshold, the beam",
                        all, most_masked_inputs)};
  const std::string text = with_dead(before.text, added.inputs);
  if (const std::error_code error = write_anew(file, file + ".new", std::as_bytes(std::span(text))))
    return {{}, fmt::format("{} cannot be written: {}", file, error.message())};
  return added;
}

} // namespace l3
