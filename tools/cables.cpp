// SPDX-License-Identifier: Apache-2.0
// `koto-l3 cables`: prints and checks the cable map of a detector.
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "config/readout_list.hpp"
#include "selection/detector/cable_map.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tools/command_error.hpp"
#include "tools/command_line.hpp"
#include "tools/print.hpp"

namespace l3 {
namespace {

/// Throws command_error.
[[nodiscard]] readout readout_of(const std::vector<std::string>& entries) {
  if (entries.empty()) return readout::koto();
  readout all;
  for (const std::string& entry : entries) {
    const auto crates = read_crates(entry);
    if (const auto* const wrong = std::get_if<std::string>(&crates))
      throw command_error(fmt::format("--crates: \"{}\" {}", entry, *wrong), exit_usage);
    for (const crate_readout& c : std::get<0>(crates)) all.crates.push_back(c);
  }
  return all;
}

struct options {
  selection_files files;
  std::vector<std::string> crates;
  bool json = false;
};

detector detector_of(const options& o) {
  check_built_in_or_readable(o.files.detector);
  try {
    return load_detector(o.files, readout_of(o.crates));
  } catch (const command_error&) {
    throw;
  } catch (const std::runtime_error& e) {
    throw command_error(e, exit_bad_configuration);
  }
}

boost::json::object to_json(const detector& d) {
  boost::json::array counters;
  for (const veto& v : d.vetoes())
    counters.push_back(boost::json::object{
        {"name", v.name}, {"modules", v.modules}, {"ends", v.ends}, {"inputs", v.inputs.size()}});
  std::uint32_t used = 0;
  for (std::uint32_t n = 0; n < d.input_count(); ++n)
    used += d.at(n).what != element::kind::none ? 1 : 0;
  return {{"crystals", d.crystals().size()},
          {"counters", std::move(counters)},
          {"inputs", used},
          {"table", to_table(d)}};
}

int cables(const options& o) {
  const detector d = detector_of(o);
  if (o.json)
    print_json("{}\n", boost::json::serialize(to_json(d)));
  else
    print_plain("{}", text_lines{to_table(d)});
  return 0;
}

} // namespace

void add_cables(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c = program.add_subcommand("cables", "show which detector channel each input reads");
  c.footer("The table has a line for each connected input: input, detector, module, end, and "
           "for crystals x, y and size in mm. If the description of the detector names such a "
           "table (cables = \"FILE\"), the table is checked: missing or repeated inputs, modules "
           "and ends, and unknown names are reported with line and column.");
  c.add_option("--detector", o->files.detector, "description of the detector")
      .capture_default_str();
  c.add_option("--crates", o->crates,
               "the readout, as in readout.crates: \"0-10: 16 x 125 MHz\" …; by default KOTO's");
  c.add_flag("--json", o->json, "report as JSON");
  c.callback([o, &run] { run = [o] { return cables(*o); }; });
}

} // namespace l3
