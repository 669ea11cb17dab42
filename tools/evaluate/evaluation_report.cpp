// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/evaluation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "selection/trigger/load_selection.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "tools/print.hpp"

namespace l3 {

namespace json = boost::json;

json::object to_json(const proportion& p) {
  return {{"some", p.some},
          {"all", p.all},
          {"value", p.value()},
          {"lower", p.lower()},
          {"upper", p.upper()}};
}

namespace {

constexpr double percent = 100;

std::size_t column_of(const std::string& line) { return std::max<std::size_t>(7, line.size()); }

/// "99.21 (+0.30 −0.47) %, 1234 of 1244".
std::string text_of(const proportion& p) {
  if (p.all == 0) return "none";
  return fmt::format("{:.2f} (+{:.2f} -{:.2f}) %, {} of {}", percent * p.value(),
                     percent * std::max(p.upper() - p.value(), 0.0),
                     percent * std::max(p.value() - p.lower(), 0.0), p.some, p.all);
}

void add_types(std::string& text, const evaluation& e, const std::vector<std::string>& lines) {
  text += "kept by each line, per cent of the events of a true type\n\n";
  append(text, "{:14} {:>9} {:>9}", "true type", "events", "kept");
  for (const std::string& name : lines) append(text, " {:>{}}", name, column_of(name));
  text += '\n';
  const auto row = [&](std::string_view name, const evaluation::row& r) {
    if (r.events == 0) return;
    const auto share = [&](std::uint64_t n) {
      return percent * static_cast<double>(n) / static_cast<double>(r.events);
    };
    append(text, "{:14} {:9} {:9.2f}", name, r.events, share(r.kept));
    for (std::size_t n = 0; n < lines.size(); ++n)
      append(text, " {:{}.2f}", share(r.kept_by[n]), column_of(lines[n]));
    text += '\n';
  };
  for (std::size_t t = 0; t < evaluation::types; ++t)
    row(name_of(static_cast<event_type>(t)), e.by_type[t]);
  row("all", e.sum);
  const auto megabytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  append(text, "{:24} {:9.2f}", "bytes on the link, MB", megabytes(e.bytes_out));
  for (std::size_t n = 0; n < lines.size(); ++n)
    append(text, " {:{}.2f}", megabytes(e.link_bytes[n]), column_of(lines[n]));
  text += '\n';
}

void add_photons(std::string& text, const evaluation& e) {
  text += "\nphotons 200 mm or more from any other, by their true energy; rms around the truth\n\n";
  append(text, "{:12} {:>8} {:>8} {:>16} {:>16} {:>13} {:>13} {:>13}\n", "energy/MeV", "photons",
         "found/%", "energy bias/%", "energy rms/%", "x rms/mm", "y rms/mm", "time rms/ns");
  for (const photon_resolution& p : e.photons) {
    if (p.found.all == 0) continue;
    append(text, "{:12} {:8} {:8.2f} {:16.2f} {:7.2f} ({:5.2f} *) {:13.2f} {:13.2f} {:13.2f}\n",
           fmt::format("{:.0f}-{:.0f}", p.from, p.to), p.found.all, percent * p.found.value(),
           percent * p.energy.mean(), percent * p.energy.rms(), percent * p.photon.rms(), p.x.rms(),
           p.y.rms(), p.time.rms());
  }
  text +=
      "  energy relative to the photon's deposit in the crystals; * relative to its true energy,\n"
      "  which includes the calorimeter's resolution\n";
}

void add_signal(std::string& text, const evaluation& e, const std::string& line) {
  append(text, "\nsignal that passes the offline cuts on truth, kept by {}: {}\n", line,
         text_of(e.signal));
  append(text, "  of these, photons where the analysis looks (150 mm, 850 mm, 300 mm apart): {}\n",
         text_of(e.signal_fiducial));
  std::string reasons;
  for (std::size_t r = 0; r < e.signal_reasons.size(); ++r)
    if (r != line_fired && e.signal_reasons[r] != 0)
      append(reasons, "{}{} {}", reasons.empty() ? "" : ", ",
             name_of_reason(static_cast<std::uint8_t>(r)), e.signal_reasons[r]);
  if (!reasons.empty()) append(text, "  the others failed: {}\n", reasons);
  append(text,
         "  vertex: bias {:.0f} mm, rms {:.0f} mm; transverse momentum: bias {:.1f} MeV/c, "
         "rms {:.1f} MeV/c\n",
         e.vertex.mean(), e.vertex.rms(), e.momentum.mean(), e.momentum.rms());
}

json::object to_json(const deviation& d) {
  return {{"n", d.n}, {"mean", d.mean()}, {"rms", d.rms()}};
}

json::object to_json(const evaluation::row& r, const std::vector<std::string>& lines) {
  json::object fired;
  json::object kept;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    fired[lines[n]] = r.fired[n];
    kept[lines[n]] = r.kept_by[n];
  }
  return {{"events", r.events},
          {"kept", r.kept},
          {"not_judged", r.not_judged},
          {"fired", fired},
          {"kept_by", kept}};
}

} // namespace

std::string evaluation_text(const evaluation& e, const std::vector<std::string>& lines,
                            const std::string& signal_line) {
  std::string text;
  add_types(text, e, lines);
  append(text, "\nkept: {}\n", text_of(e.kept()));
  append(text, "calibration kept: {}\n", text_of(e.calibration_kept()));
  if (e.bytes_out != 0)
    append(text, "bytes of events over bytes that are kept, packed: {:.1f}\n", e.reduction());
  if (e.sum.not_judged != 0)
    append(text, "overfull events, which were not judged: {}\n", e.sum.not_judged);
  add_signal(text, e, signal_line);
  add_photons(text, e);
  return text;
}

json::object evaluation_json(const evaluation& e, const std::vector<std::string>& lines,
                             const std::string& signal_line) {
  json::object types;
  for (std::size_t t = 0; t < evaluation::types; ++t)
    if (e.by_type[t].events != 0)
      types[name_of(static_cast<event_type>(t))] = to_json(e.by_type[t], lines);
  json::object reasons;
  for (std::size_t n = 0; n < lines.size(); ++n) reasons[lines[n]] = reasons_to_json(e.reasons[n]);
  json::object link_bytes;
  for (std::size_t n = 0; n < lines.size(); ++n) link_bytes[lines[n]] = e.link_bytes[n];
  json::array photons;
  for (const photon_resolution& p : e.photons)
    photons.push_back(json::object{{"from", p.from},
                                   {"to", p.to},
                                   {"found", to_json(p.found)},
                                   {"energy", to_json(p.energy)},
                                   {"energy_of_photon", to_json(p.photon)},
                                   {"x", to_json(p.x)},
                                   {"y", to_json(p.y)},
                                   {"time", to_json(p.time)}});
  return {{"types", types},
          {"all", to_json(e.sum, lines)},
          {"kept", to_json(e.kept())},
          {"calibration_kept", to_json(e.calibration_kept())},
          {"reduction", e.reduction()},
          {"bytes_on_the_link", e.bytes_out},
          {"bytes_on_the_link_by", link_bytes},
          {"signal_line", signal_line},
          {"signal", to_json(e.signal)},
          {"signal_fiducial", to_json(e.signal_fiducial)},
          {"vertex", to_json(e.vertex)},
          {"transverse_momentum", to_json(e.momentum)},
          {"refused", reasons},
          {"photons", photons}};
}

} // namespace l3
