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
#include <fmt/chrono.h>
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
constexpr std::array<std::string_view, 3> programs{"koto-l3d", "replay", "receive"};

/// Whether the ledger is a receiver's, which lists all sessions of its store.
bool is_of_store(std::string_view program) { return program == "receive"; }

std::uint64_t session_from(const json::value& v) {
  const json::string& s = v.as_string();
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n, 16);
  if (error != std::errc{} || end != s.data() + s.size())
    throw std::runtime_error("a session is not a hexadecimal number");
  return n;
}

template <class Ledger, class Visitor>
void each_section(Ledger& l, Visitor on) {
  on("fragments", l.fragments);
  on("events", l.events);
  on("datagrams", l.datagrams);
  on("bytes", l.bytes);
}

/// Ignores unknown keys.
template <class Section>
void read(const json::value& from, Section& to) {
  using members = boost::describe::describe_members<Section, boost::describe::mod_public>;
  boost::mp11::mp_for_each<members>([&](auto member) {
    auto& field = to.*member.pointer;
    field =
        json::value_to<std::remove_reference_t<decltype(field)>>(from.as_object().at(member.name));
  });
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

std::string to_json(const ledger& l) {
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
    if (const auto* menu = o.if_contains("menu")) l.menu = std::string(menu->as_string());
    if (const auto* comment = o.if_contains("comment"))
      l.comment = std::string(comment->as_string());
    const auto optional_figure = [&o](const char* key, std::optional<std::uint64_t>& to) {
      if (const auto* figure = o.if_contains(key)) to = figure->to_number<std::uint64_t>();
    };
    optional_figure("recorded", l.recorded);
    optional_figure("missing", l.missing);
    each_section(l, [&](std::string_view key, auto& section) { read(o.at(key), section); });
    if (const auto* spool = o.if_contains("spool"); spool != nullptr && !of_store) {
      if (l.sessions.empty()) throw std::runtime_error("a spool without a session");
      l.sessions.push_back(session_from(spool->at("session")));
      read(*spool, l.spool.emplace());
    }
    if (const auto* crates = o.if_contains("crates"); crates != nullptr && !of_store)
      for (const auto& crate : crates->as_array()) read(crate, l.crates.emplace_back());
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

std::string utc_text(std::uint64_t ns_since_1970) {
  const auto seconds = static_cast<std::time_t>(ns_since_1970 / 1'000'000'000);
  return fmt::format("{:%F %T} UTC", fmt::gmtime(seconds));
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
