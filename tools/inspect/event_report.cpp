// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/event_report.hpp"

#include <algorithm>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "selection/trigger/quantity_units.hpp"
#include "tools/info/information.hpp"
#include "tools/inspect/found_event.hpp"
#include "transport/accounting/ledger.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

constexpr double ticks_in_a_ms = 125'000; // of 8 ns
constexpr double lengths_in_a_mm = 10;
constexpr double times_in_a_ns = 128;
constexpr double kev_in_a_mev = 1000;

std::vector<std::string> flags_of(const found_event& e) {
  std::vector<std::string> flags;
  const unsigned bits = e.packed ? e.packed->flags : 0U;
  if ((bits & event_incomplete) != 0 || !missing_crates(e).empty())
    flags.emplace_back("incomplete");
  if ((bits & event_damaged) != 0) flags.emplace_back("raw parts");
  if ((bits & event_opaque) != 0) flags.emplace_back("opaque boards");
  return flags;
}

json::array list_of(const std::vector<std::string>& words) {
  return json::array(words.begin(), words.end());
}

/// The names of the lines whose bits are set.
std::vector<std::string> lines_in(std::uint32_t mask, const inspected_event& e) {
  std::vector<std::string> names;
  if (!e.event.summary) return names;
  const auto& lines = e.event.summary->lines;
  for (std::size_t n = 0; n < lines.size(); ++n)
    if ((mask >> n & 1) != 0) names.push_back(name_of_line(lines[n].id, e.selection));
  return names;
}

struct waveform_counts {
  std::size_t kept = 0;
  std::size_t all = 0;
};

waveform_counts count_waveforms(const inspected_event& e) {
  waveform_counts n;
  for (const inspected_crate& c : e.crates)
    for (const board_samples& b : c.boards) {
      n.all += b.channels.size();
      n.kept += static_cast<std::size_t>(
          std::ranges::count_if(b.channels, [](const auto& samples) { return !samples.empty(); }));
    }
  return n;
}

std::string listed(const std::vector<std::string>& words) {
  return words.empty() ? "–" : fmt::format("{}", fmt::join(words, ", "));
}

void add(std::string& text, std::string_view name, const std::string& value) {
  text += fmt::format("  {:<20} {}\n", name, value);
}

std::string kind_name(board_kind kind) {
  return kind == board_kind::sampling_125_mhz ? "125 MHz" : "500 MHz";
}

void add_lines(std::string& text, const named_summary& s) {
  if (s.lines.empty()) return;
  text += fmt::format("  {:<20} {:>9} {:>6} {:>5}  {}\n", "line", "prescale", "fired", "kept",
                      "refused for");
  for (const named_line& line : s.lines)
    text += fmt::format("  {:<20} {:>9} {:>6} {:>5}  {}\n", line.name, line.prescale,
                        line.fired ? "yes" : "no", line.kept ? "yes" : "no",
                        line.why.empty() ? "–" : line.why);
}

void add_quantities(std::string& text, const summary_view& s) {
  for (std::size_t q = 0; q < s.quantities.size(); ++q) {
    const auto what = static_cast<quantity>(q);
    const quantity_unit unit = unit_of(what);
    const std::int32_t value = s.quantities[q];
    add(text, name_of(what),
        value == undefined_quantity ? "not defined"
                                    : fmt::format("{:g} {}", value / unit.steps, unit.name));
  }
}

void add_photons(std::string& text, const summary_view& s) {
  if (s.photons.empty()) return;
  text += fmt::format("  photons ({} found)\n  {:>12} {:>10} {:>10} {:>10} {:>9}\n",
                      s.head.photons_found, "energy/MeV", "x/mm", "y/mm", "time/ns", "crystals");
  for (const photon_summary& p : s.photons)
    text += fmt::format("  {:>12.1f} {:>10.1f} {:>10.1f} {:>10.2f} {:>9}\n",
                        p.energy / kev_in_a_mev, p.x / lengths_in_a_mm, p.y / lengths_in_a_mm,
                        p.time / times_in_a_ns, p.crystals);
}

void add_hits(std::string& text, const named_summary& s) {
  if (s.hits.empty()) return;
  text += fmt::format("  highest hits of counters\n  {:>12} {:>8} {:>12} {:>10}\n", "counter",
                      "module", "energy", "time/ns");
  for (const named_hit& h : s.hits)
    text += fmt::format("  {:>12} {:>8} {:>12.2f} {:>10.2f}\n", h.counter, h.hit.module,
                        h.hit.energy / kev_in_a_mev, h.hit.time / times_in_a_ns);
}

/// The bits sent by the trigger board; nothing if the board is missing or unknown.
std::optional<std::uint32_t> trigger_bits(const inspected_event& e) {
  if (e.selection == nullptr) return std::nullopt;
  const input_address board = e.selection->what.trigger_board();
  for (const inspected_crate& c : e.crates)
    for (const board_samples& b : c.boards)
      if (c.number == board.crate && b.slot == board.slot) return b.trigger;
  return std::nullopt;
}

void add_summary(std::string& text, const inspected_event& e) {
  if (!e.event.summary) {
    add(text, "selection", why_no_summary(e.event));
    if (const auto bits = trigger_bits(e)) add(text, "trigger", listed(names_of_trigger(*bits)));
    return;
  }
  const summary_view& s = *e.event.summary;
  const named_summary named = name_summary(s, e.selection);
  add(text, "settings",
      fmt::format(
          "{:08x}{}", s.head.settings,
          named.same_settings
              ? ""
              : ": they differ from the given selection, so counters may have other names"));
  add(text, "trigger", listed(named.trigger));
  add(text, "status", named.status.empty() ? "judged" : listed(named.status));
  add(text, "vetoes", listed(named.vetoes));
  add(text, "unknown", listed(named.unknown));
  add_lines(text, named);
  add_quantities(text, s);
  add_photons(text, s);
  add_hits(text, named);
}

void add_payload(std::string& text, const inspected_event& e) {
  if (!e.event.payload) return;
  const packed_payload& p = *e.event.payload;
  const auto [kept, all] = count_waveforms(e);
  std::string what(name_of(e.event.packed->payload));
  if (e.event.packed->payload != event_payload::all)
    what += " by line " + listed(lines_in(p.asked, e)) + ": ";
  else if (p.control != 0)
    what += ", for the control sample of line " + listed(lines_in(p.control, e)) + ": ";
  else
    what += ", for line " + listed(lines_in(p.asked, e)) + ": ";
  add(text, "payload", what + fmt::format("{} of {} waveforms", kept, all));
  if (e.event.packed->payload == event_payload::suppressed)
    add(text, "", fmt::format("the others stay within their levels, {:08x}", p.levels));
}

json::value payload_json(const inspected_event& e) {
  if (!e.event.payload) return nullptr;
  const auto [kept, all] = count_waveforms(e);
  return json::object{{"kept", name_of(e.event.packed->payload)},
                      {"asked_by", list_of(lines_in(e.event.payload->asked, e))},
                      {"control_of", list_of(lines_in(e.event.payload->control, e))},
                      {"levels", fmt::format("{:08x}", e.event.payload->levels)},
                      {"waveforms", kept},
                      {"waveforms_read_out", all}};
}

void add_crates(std::string& text, const std::vector<inspected_crate>& crates) {
  text += fmt::format("  {:>5} {:>7} {:>7} {:>10}  {}\n", "crate", "boards", "bytes", "time",
                      "remarks");
  for (const inspected_crate& c : crates) {
    std::vector<std::string> remarks;
    if (!c.problem.empty()) remarks.push_back("malformed: " + c.problem);
    std::size_t opaque = 0;
    std::uint64_t wrong = 0;
    for (const board_samples& b : c.boards) {
      opaque += b.opaque ? 1 : 0;
      wrong += b.wrong_words;
    }
    if (opaque > 0) remarks.push_back(fmt::format("{} opaque boards", opaque));
    if (wrong > 0) remarks.push_back(fmt::format("{} samples without their top bits", wrong));
    text += fmt::format("  {:>5} {:>7} {:>7} {:>10}  {}\n", c.number, c.boards.size(), c.bytes,
                        c.boards.empty() ? "–" : fmt::to_string(c.boards.front().time),
                        fmt::join(remarks, ", "));
  }
}

void add_channels(std::string& text, std::span<const inspected_channel> shown) {
  for (const inspected_channel& c : shown)
    text += fmt::format("  {:<9} {:<22} pedestal {:g}, height {:g} at {:g} ns\n", to_string(c.at),
                        c.name, c.pedestal, c.height(), static_cast<double>(c.peak) * c.step());
}

json::array crates_json(const std::vector<inspected_crate>& crates) {
  json::array list;
  for (const inspected_crate& c : crates) {
    json::array boards;
    for (const board_samples& b : c.boards)
      boards.push_back(json::object{{"slot", b.slot},
                                    {"kind", kind_name(b.kind)},
                                    {"opaque", b.opaque},
                                    {"time", b.time},
                                    {"trigger", b.trigger},
                                    {"wrong_words", b.wrong_words}});
    list.push_back(
        json::object{{"crate", c.number},
                     {"bytes", c.bytes},
                     {"problem", c.problem.empty() ? json::value(nullptr) : json::value(c.problem)},
                     {"boards", std::move(boards)}});
  }
  return list;
}

json::array channels_json(std::span<const inspected_channel> shown) {
  json::array list;
  for (const inspected_channel& c : shown)
    list.push_back(
        json::object{{"channel", to_string(c.at)},
                     {"name", c.name.empty() ? json::value(nullptr) : json::value(c.name)},
                     {"ns_per_sample", c.step()},
                     {"pedestal", c.pedestal},
                     {"height", c.height()},
                     {"peak", c.peak},
                     {"samples", json::array(c.samples.begin(), c.samples.end())}});
  return list;
}

} // namespace

std::string report_text(const inspected_event& e) {
  const found_event& found = e.event;
  std::string text =
      fmt::format("run {}, spill {}, event {}\n", found.run, found.key.spill, found.key.number);
  if (e.event.block) {
    const block_header& b = *e.event.block;
    add(text, "stored",
        fmt::format("session {} of node {}, block {}, {}", session_text(b.session), b.node,
                    b.sequence, utc_text(b.sealed_at)));
    if (e.event.more > 0)
      add(text, "",
          fmt::format("and {} more events of this number{}", e.event.more,
                      e.event.more_of_other_runs ? ": --run chooses" : " in this run"));
    add(text, "packed",
        fmt::format("{} bytes, reference time {} ({:.3f} ms)", e.event.packed->bytes,
                    e.event.packed->reference_time,
                    e.event.packed->reference_time / ticks_in_a_ms));
  }
  std::vector<std::string> flags = flags_of(e.event);
  if (const auto missing = missing_crates(e.event); !missing.empty())
    flags.push_back(fmt::format("lacks crates {}", fmt::join(missing, ", ")));
  add(text, "flags", flags.empty() ? "complete" : listed(flags));
  add_payload(text, e);
  add_summary(text, e);
  add_crates(text, e.crates);
  add_channels(text, e.shown);
  return text;
}

std::string report_json(const inspected_event& e) {
  json::object all{{"run", e.event.run},
                   {"spill", e.event.key.spill},
                   {"event", e.event.key.number},
                   {"flags", list_of(flags_of(e.event))}};
  const auto missing = missing_crates(e.event);
  all["missing_crates"] = json::array(missing.begin(), missing.end());
  if (e.event.block) {
    const block_header& b = *e.event.block;
    all["stored"] = json::object{{"session", session_text(b.session)},
                                 {"node", b.node},
                                 {"block", b.sequence},
                                 {"sealed", utc_text(b.sealed_at)},
                                 {"bytes", e.event.packed->bytes},
                                 {"reference_time", e.event.packed->reference_time},
                                 {"more", e.event.more}};
  }
  all["payload"] = payload_json(e);
  all["summary"] = e.event.summary ? json::value(summary_json(*e.event.summary, e.selection))
                                   : json::value(nullptr);
  all["crates"] = crates_json(e.crates);
  all["channels"] = channels_json(e.shown);
  return json::serialize(all) + "\n";
}

} // namespace l3
