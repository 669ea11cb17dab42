// SPDX-License-Identifier: Apache-2.0
// `koto-l3 inspect`: shows one event as it was sent or stored, with its waveforms.
#include <charconv>
#include <memory>

#include "config/load.hpp"
#include "tools/command_line.hpp"
#include "tools/inspect/event_report.hpp"
#include "tools/interrupt.hpp"
#include "tools/pending_file.hpp"
#include "tools/print.hpp"
#include "tools/progress.hpp"

namespace l3 {
namespace {

struct options {
  std::string path;
  std::string event;
  std::optional<std::uint32_t> run;
  std::vector<std::string> channels;
  std::size_t highest = 4;
  std::string config;
  selection_files files{built_in, built_in, ""};
  bool json = false;
  std::string html;
};

event_key parse_key(const std::string& text) {
  const auto bad = [&] {
    return std::invalid_argument(text + " is not SPILL/EVENT, such as 3/17");
  };
  event_key key;
  const char* const end = text.data() + text.size();
  const auto spill = std::from_chars(text.data(), end, key.spill);
  if (spill.ec != std::errc{} || spill.ptr == end || *spill.ptr != '/') throw bad();
  const auto number = std::from_chars(spill.ptr + 1, end, key.number);
  if (number.ec != std::errc{} || number.ptr != end) throw bad();
  if (key.spill > l2::spill_mask || key.number == 0)
    throw std::invalid_argument(text + ": spills are 0 to 511, events begin at 1");
  return key;
}

/// A configuration provides the readout and, without an option for it, the selection.
std::optional<readout> read_configuration(options& o) {
  if (o.config.empty()) return std::nullopt;
  check_readable(o.config);
  const loaded_config loaded = load_config(o.config);
  if (!loaded.ok()) throw command_error(bad_file(loaded.errors), exit_bad_configuration);
  const selection_files& files = loaded.settings.selection;
  if (o.files.lines == built_in && !files.lines.empty()) o.files.lines = files.lines;
  if (o.files.detector == built_in && !files.detector.empty()) o.files.detector = files.detector;
  if (o.files.calibration.empty()) o.files.calibration = files.calibration;
  return loaded.settings.building.crates;
}

/// Without options, of the selection in the event's session, or else the built-in one. Returns
/// nothing if that does not fit the event; then there are no names.
std::optional<loaded_selection> names_for(const options& o, const found_event& event) {
  const bool given =
      o.files.lines != built_in || o.files.detector != built_in || !o.files.calibration.empty();
  check_built_in_or_readable(o.files.lines);
  check_built_in_or_readable(o.files.detector);
  if (!o.files.calibration.empty()) check_readable(o.files.calibration);
  try {
    if (!given && event.settings) return load_selection(*event.settings, o.path, event.run);
    return load_selection(o.files, event.crates, event.run);
  } catch (const std::runtime_error& e) {
    if (given) throw command_error(e, exit_bad_configuration);
    return std::nullopt;
  }
}

bool is_page(std::string_view begin) { return begin.starts_with("<!DOCTYPE html>"); }

int inspect(options o) {
  if (!o.html.empty()) check_replaced("--html", o.html, is_page);
  const event_key key = from_option("--event", o.event, parse_key);
  const std::optional<readout> crates = read_configuration(o);
  interrupt signals;
  progress line("inspect", 0, "bytes");
  const found_event event =
      find_event(o.path, {key, o.run}, crates, [&](std::uint64_t done, std::uint64_t all) {
        signals.check();
        line.update(done, all);
      });
  line.clear();
  if (!event.all_read)
    print_error("{}: a part of it cannot be read; `koto-l3 info` shows which\n", o.path);
  const auto selection = names_for(o, event);
  const auto boards = crates_of(event);
  if (!o.html.empty()) {
    if (!selection)
      throw command_error(
          "--html: no detector fits the event's readout: give --detector or --config");
    const std::string page = event_page(picture_of(event, boards, selection->what), *selection);
    whole_file to(o.html);
    to.write(std::as_bytes(std::span(page)));
    to.finish();
    return 0;
  }
  const auto all = channels_of(boards, selection ? &selection->what : nullptr);
  const auto shown =
      o.channels.empty() ? highest_channels(all, o.highest) : chosen_channels(all, o.channels);
  const inspected_event e{event, boards, shown, selection ? &*selection : nullptr};
  if (o.json)
    print_json("{}", report_json(e));
  else
    print_plain("{}", text_lines{report_text(e)});
  return 0;
}

} // namespace

void add_inspect(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c = program.add_subcommand("inspect", "show an event with its summary and waveforms");
  c.footer("The text is in MeV, mm and ns; JSON has the integers of docs/formats.md, section 7 "
           "(keV, 0.1 mm, 1/128 ns).");
  c.add_option("path", o->path, "a .l2raw file, a store, a spool, or a file of these").required();
  c.add_option("--event", o->event, "SPILL/EVENT, such as 3/17").required();
  c.add_option("--run", o->run, "run of the event, if the store holds several runs");
  c.add_option("--channel", o->channels,
               "CRATE, CRATE/SLOT, CRATE/SLOT/CHANNEL or a name such as \"crystal 17\" or CBAR; "
               "separate several by commas")
      .delimiter(',');
  c.add_option("--highest", o->highest,
               "without --channel: number of pulses to show, the highest first")
      .check(in_range(0U, 10'000U))
      .capture_default_str();
  c.add_option("--config", o->config, "the daemon's configuration, for its readout and selection");
  c.add_option("--selection", o->files.lines, "the selection, for the names of lines")
      .capture_default_str();
  c.add_option("--detector", o->files.detector,
               "description of the detector, for the names of channels")
      .capture_default_str();
  c.add_option("--calibration", o->files.calibration, "the calibration that the daemon used");
  const auto json = c.add_flag("--json", o->json, "report as JSON, with all samples");
  c.add_option("--html", o->html,
               "write a page that draws the event instead: one file, which needs no network")
      .excludes(json);
  c.callback([o, &run] { run = [o] { return inspect(*o); }; });
}

} // namespace l3
