// SPDX-License-Identifier: Apache-2.0
#include "transport/accounting/ledger.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <stdexcept>
#include <system_error>

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "transport/system/file_io.hpp"
#include "transport/system/input_file.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

namespace json = boost::json;

// The keys of each section are the names of its members, in this order.
BOOST_DESCRIBE_STRUCT(fragment_account, (),
                      (seen, admitted, incomplete, malformed, late, duplicate))
BOOST_DESCRIBE_STRUCT(crate_account, (),
                      (crate, seen, admitted, incomplete, malformed, late, duplicate, missing,
                       overdue, alone, astray))
BOOST_DESCRIBE_STRUCT(event_account, (), (admitted, forwarded, rejected, shed, in_flight))
BOOST_DESCRIBE_STRUCT(datagram_account, (),
                      (received, data, trailers, end_of_spill, duplicate, late, kernel_drops,
                       malformed))
BOOST_DESCRIBE_STRUCT(byte_account, (), (in, out, payloads))
BOOST_DESCRIBE_STRUCT(spill_account, (), (spill, admitted, incomplete, expected))
BOOST_DESCRIBE_STRUCT(earlier_spills_account, (), (spills, admitted, incomplete))
BOOST_DESCRIBE_STRUCT(spool_account, (), (waiting, found, gone, lanes))

namespace {

constexpr std::uint64_t ledger_version = 1;
/// Longest file: room for one line of 80 bytes per spill of two months.
constexpr std::uint64_t most_bytes = 64 << 20;
constexpr std::size_t most_reasons = 256;
constexpr std::size_t most_text = 4096;                  // of a comment, or a name
constexpr std::size_t most_lanes = std::size_t{1} << 16; // the most sessions of a store
constexpr std::array<std::string_view, 3> programs{"koto-l3d", "replay", "receive"};

/// Whether the ledger is a receiver's, which lists all sessions of its store.
bool is_of_store(std::string_view program) { return program == "receive"; }
/// Longest name of a reason, because it goes to a terminal.
constexpr std::size_t longest_reason = 64;

std::uint64_t session_from(const json::value& v) {
  const json::string& s = v.as_string();
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n, 16);
  if (error != std::errc{} || end != s.data() + s.size())
    throw std::runtime_error("a session is not a hexadecimal number");
  return n;
}

std::string short_text(const json::value& v) {
  const json::string& s = v.as_string();
  if (s.size() > most_text) throw std::runtime_error("a text has more than 4096 bytes");
  return std::string(s);
}

template <class Ledger, class Visitor>
void each_section(Ledger& l, Visitor on) {
  on("fragments", l.fragments);
  on("events", l.events);
  on("datagrams", l.datagrams);
  on("bytes", l.bytes);
}

void check_figure(std::uint64_t n) {
  if (n > most_counted) throw std::runtime_error("a figure is greater than 2^53");
}
void check_figure(const std::optional<std::uint64_t>& n) { check_figure(n.value_or(0)); }
void check_figure(const reason_counts& counts) {
  if (counts.size() > most_reasons) throw std::runtime_error("a list has more than 256 reasons");
  for (const auto& [reason, n] : counts) {
    check_figure(n);
    const bool plain = std::ranges::all_of(reason, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (reason.empty() || reason.size() > longest_reason || !plain)
      throw std::runtime_error("a reason is not a word of small letters");
  }
}
void check_figure(const std::vector<spool_account::lane>& lanes) {
  if (lanes.size() > most_lanes) throw std::runtime_error("it has more than 65536 lanes");
  for (const auto& l : lanes) {
    check_figure(l.delivered);
    check_figure(l.damaged);
  }
}

// Written figures must pass check_figure(), so larger ones are limited to its maximum.
void limit_figure(std::uint64_t& n) { n = std::min(n, most_counted); }
void limit_figure(std::uint32_t&) {}
void limit_figure(std::optional<std::uint64_t>& n) {
  if (n) limit_figure(*n);
}
void limit_figure(reason_counts& counts) {
  for (auto& [reason, n] : counts) limit_figure(n);
}
void limit_figure(std::vector<spool_account::lane>& lanes) {
  if (lanes.size() > most_lanes) lanes.resize(most_lanes);
  for (auto& l : lanes) {
    limit_figure(l.delivered);
    limit_figure(l.damaged);
  }
}
/// Keeps the end of the text, which has a menu's hash.
void limit_text(std::string& text) {
  if (text.size() <= most_text) return;
  text.erase(0, text.size() - most_text);
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; };
  text.erase(text.begin(), std::ranges::find_if_not(text, is_inside));
}
template <class Section>
void limit_figures(Section& of) {
  using members = boost::describe::describe_members<Section, boost::describe::mod_public>;
  boost::mp11::mp_for_each<members>([&](auto member) { limit_figure(of.*member.pointer); });
}

/// Ignores unknown keys.
template <class Section>
void read(const json::value& from, Section& to) {
  using members = boost::describe::describe_members<Section, boost::describe::mod_public>;
  boost::mp11::mp_for_each<members>([&](auto member) {
    auto& field = to.*member.pointer;
    field =
        json::value_to<std::remove_reference_t<decltype(field)>>(from.as_object().at(member.name));
    check_figure(field);
  });
}

/// The ledger within the limits of its readers.
ledger within_limits(ledger l) {
  each_section(l, [](std::string_view, auto& section) { limit_figures(section); });
  for (crate_account& c : l.crates) limit_figures(c);
  if (l.spool) limit_figures(*l.spool);
  for (spill_account& s : l.spills) limit_figures(s);
  limit_figures(l.earlier_spills);
  limit_text(l.menu);
  limit_text(l.comment);
  limit_figure(l.recorded);
  limit_figure(l.missing);
  return l;
}

/// Writes a line for each entry, so that a person can read it.
std::string pretty(const json::object& root) {
  std::string text = "{\n";
  const char* separator = "";
  for (const auto& entry : root) {
    text += separator;
    text += "  " + json::serialize(entry.key()) + ": " + json::serialize(entry.value());
    separator = ",\n";
  }
  return text + "\n}\n";
}

} // namespace

void tag_invoke(json::value_from_tag, json::value& to, const spool_account::lane& l) {
  to = {{"session", session_text(l.session)}, {"delivered", l.delivered}, {"damaged", l.damaged}};
}

spool_account::lane tag_invoke(json::value_to_tag<spool_account::lane>, const json::value& v) {
  return {session_from(v.at("session")), v.at("delivered").to_number<std::uint64_t>(),
          v.at("damaged").to_number<std::uint64_t>()};
}

std::uint64_t sum_of(const reason_counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                         [](std::uint64_t s, const auto& entry) { return s + entry.second; });
}

std::int64_t unaccounted(const event_account& e) {
  return static_cast<std::int64_t>(e.admitted - e.forwarded - e.rejected - sum_of(e.shed) -
                                   e.in_flight);
}

std::int64_t unaccounted(const fragment_account& f) {
  return static_cast<std::int64_t>(f.seen - f.admitted - f.incomplete - sum_of(f.malformed) -
                                   f.late - f.duplicate);
}

bool ledger::balanced() const {
  return unaccounted(events) == 0 && unaccounted(fragments) == 0 &&
         (bytes.payloads.empty() || sum_of(bytes.payloads) == bytes.out);
}

std::string session_text(std::uint64_t session) { return fmt::format("{:016x}", session); }

void add_input(ledger& to, const input_counters& input) {
  to.datagrams.received += input.datagrams;
  to.datagrams.kernel_drops += input.kernel_drops;
  to.bytes.in += input.bytes;
  for (const auto& [name, n] : counts_of(input.refused)) to.datagrams.malformed[name] += n;
}

void set_building(ledger& to, const building_counters& b) {
  auto& d = to.datagrams;
  d.data = b.data_chunks;
  d.trailers = b.trailers;
  d.end_of_spill = b.ends_of_spill;
  d.duplicate = b.duplicate_chunks;
  d.late = b.late_chunks;
  to.fragments = {b.fragments_seen,       b.fragments_admitted,
                  b.fragments_incomplete, counts_of(b.fragments_malformed),
                  b.fragments_late,       b.fragments_duplicate};
  to.events.admitted = b.events_admitted;
}

void set_crates(ledger& to, const building_counters& b, const readout& crates) {
  for (std::size_t c = 0; c < crates.size(); ++c) {
    to.crates.push_back({crates.crates[c].number, b.fragments_seen[c], b.fragments_admitted[c],
                         b.fragments_incomplete[c], counts_of(b.fragments_malformed.of(c)),
                         b.fragments_late[c], b.fragments_duplicate[c], b.fragments_missing[c],
                         b.fragments_overdue[c], b.fragments_alone[c], b.astray[c]});
  }
}

void set_outcomes(ledger& to, const outcome_counters& outcomes) {
  to.events.rejected = outcomes.events_rejected;
  to.events.shed = counts_of(outcomes.events_shed);
  to.bytes.payloads = counts_of(outcomes.packed_bytes);
  to.bytes.out = sum_of(to.bytes.payloads);
}

std::string to_json(const ledger& as_counted) {
  const ledger l = within_limits(as_counted);
  json::object o{{"ledger", ledger_version}, {"program", l.program}, {"run", l.run}};
  if (is_of_store(l.program)) {
    json::array& sessions = o["sessions"].emplace_array();
    for (const auto s : l.sessions) sessions.emplace_back(session_text(s));
  } else if (!l.sessions.empty()) {
    o["session"] = session_text(l.sessions.front());
  }
  o["ended"] = l.ended;
  o["clean"] = l.clean;
  if (!l.menu.empty()) o["menu"] = l.menu;
  if (!l.comment.empty()) o["comment"] = l.comment;
  if (l.recorded) o["recorded"] = *l.recorded;
  if (l.missing) o["missing"] = *l.missing;
  each_section(
      l, [&](std::string_view key, const auto& section) { o[key] = json::value_from(section); });
  if (!l.crates.empty()) o["crates"] = json::value_from(l.crates);
  if (l.spool) {
    const json::value account = json::value_from(*l.spool);
    json::object& spool = o["spool"].emplace_object();
    spool["session"] = session_text(l.sessions.back());
    for (const auto& [key, value] : account.as_object()) spool[key] = value;
  }
  o["spills"] = json::value_from(l.spills);
  o["earlier_spills"] = json::value_from(l.earlier_spills);
  o["balanced"] = l.balanced();
  return pretty(o);
}

ledger ledger_from_json(std::string_view text) {
  try {
    const json::value parsed = json::parse({text.data(), text.size()});
    const json::object& o = parsed.as_object();
    if (!o.contains("ledger")) throw std::runtime_error("it has no key \"ledger\"");
    if (const auto version = o.at("ledger").to_number<std::uint64_t>(); version != ledger_version)
      throw std::runtime_error(
          fmt::format("it has version {}; this program reads version {}", version, ledger_version));
    ledger l;
    l.program = std::string(o.at("program").as_string());
    if (std::ranges::find(programs, l.program) == programs.end())
      throw std::runtime_error("no program that writes ledgers wrote it");
    l.run = o.at("run").to_number<std::uint32_t>();
    const bool of_store = is_of_store(l.program);
    if (const auto* s = o.if_contains("session"); s != nullptr && !of_store)
      l.sessions.push_back(session_from(*s));
    if (const auto* list = o.if_contains("sessions"); list != nullptr && of_store)
      for (const auto& s : list->as_array()) l.sessions.push_back(session_from(s));
    l.clean = o.at("clean").as_bool();
    l.ended = o.at("ended").as_bool();
    if (l.clean && !l.ended)
      throw std::runtime_error("it says that it is clean, but also that its program has not ended");
    if (const auto* menu = o.if_contains("menu")) l.menu = short_text(*menu);
    if (const auto* comment = o.if_contains("comment")) l.comment = short_text(*comment);
    const auto optional_figure = [&o](const char* key, std::optional<std::uint64_t>& to) {
      if (const auto* figure = o.if_contains(key)) to = figure->to_number<std::uint64_t>();
      check_figure(to);
    };
    optional_figure("recorded", l.recorded);
    optional_figure("missing", l.missing);
    each_section(l, [&](std::string_view key, auto& section) { read(o.at(key), section); });
    if (const auto* spool = o.if_contains("spool"); spool != nullptr && !of_store) {
      if (l.sessions.empty()) throw std::runtime_error("a spool without a session");
      l.sessions.push_back(session_from(spool->at("session")));
      read(*spool, l.spool.emplace());
    }
    if (const auto* crates = o.if_contains("crates"); crates != nullptr && !of_store) {
      if (crates->as_array().size() > most_crates)
        throw std::runtime_error("it has more than 64 crates");
      for (const auto& crate : crates->as_array()) read(crate, l.crates.emplace_back());
    }
    for (const auto& spill : o.at("spills").as_array()) read(spill, l.spills.emplace_back());
    read(o.at("earlier_spills"), l.earlier_spills);
    if (const auto* balanced = o.if_contains("balanced");
        balanced != nullptr && balanced->as_bool() != l.balanced())
      throw std::runtime_error(l.balanced() ? "it says that its sums do not balance, but they do"
                                            : "it says that its sums balance, but they do not");
    return l;
  } catch (const boost::system::system_error& e) { // its what() has source paths of the library
    throw std::runtime_error("not a ledger: " + e.code().message());
  } catch (const std::exception& e) {
    throw std::runtime_error("not a ledger: " + reason_of(e));
  }
}

bool is_ledger_of(std::string_view program, std::string_view begin) {
  return begin.starts_with('{') &&
         begin.find(fmt::format(R"("program": "{}")", program)) != begin.npos;
}

void write_ledger(const std::filesystem::path& path, const ledger& l) {
  auto temporary = path;
  temporary += ".new";
  const std::string text = to_json(l);
  const auto error = write_anew(path, temporary, std::as_bytes(std::span(text)));
  if (!error) return;
  const std::string_view why = is_for_a_file(path) ? "" : ", which is not a regular file";
  throw std::system_error(error, fmt::format("cannot write {}{}", path.string(), why));
}

ledger read_ledger(const std::filesystem::path& path) {
  const input_text in = read_input(path, most_bytes);
  if (!in.refusal.empty()) throw std::runtime_error(path.string() + " " + in.refusal);
  try {
    return ledger_from_json(in.text);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(path.string() + ": " + e.what());
  }
}

} // namespace l3
