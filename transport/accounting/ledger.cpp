// SPDX-License-Identifier: Apache-2.0
#include "transport/accounting/ledger.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <system_error>

#include <boost/json.hpp>
#include <fcntl.h>
#include <unistd.h>

namespace l3 {

namespace json = boost::json;

namespace {

constexpr std::uint64_t ledger_version = 1;

std::string hexadecimal(std::uint64_t v) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(v));
  return text;
}

std::uint64_t session_from(const json::value& v) {
  const json::string& s = v.as_string();
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n, 16);
  if (error != std::errc{} || end != s.data() + s.size()) {
    throw std::runtime_error("a session is not a hexadecimal number");
  }
  return n;
}

json::object object_of(const reason_counts& counts) {
  json::object o;
  for (const auto& [name, n] : counts) o[name] = n;
  return o;
}

reason_counts counts_from(const json::value& v) {
  reason_counts counts;
  for (const auto& entry : v.as_object()) {
    counts.emplace(std::string(entry.key()), entry.value().to_number<std::uint64_t>());
  }
  return counts;
}

std::uint64_t number(const json::object& o, std::string_view key) {
  return o.at(key).to_number<std::uint64_t>();
}

/// A line for each entry, so that a person can read it.
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

std::uint64_t sum_of(const reason_counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                         [](std::uint64_t s, const auto& entry) { return s + entry.second; });
}

bool ledger::balanced() const {
  const auto& e = events;
  const auto& f = fragments;
  return e.admitted == e.forwarded + e.rejected + sum_of(e.shed) + e.in_flight &&
         f.seen == f.admitted + f.incomplete + sum_of(f.malformed) + f.late + f.duplicate;
}

void add_input(ledger& to, const input_counters& input) {
  to.datagrams.received += input.datagrams;
  to.datagrams.kernel_drops += input.kernel_drops;
  to.bytes.in += input.bytes;
  for (const auto& [name, n] : counts_of(input.refused)) to.datagrams.malformed[name] += n;
}

void set_building(ledger& to, const building_counters& building) {
  auto& d = to.datagrams;
  d.data = building.data_chunks;
  d.trailers = building.trailers;
  d.end_of_spill = building.ends_of_spill;
  d.duplicate = building.duplicate_chunks;
  d.late = building.late_chunks;
  auto& f = to.fragments;
  f.seen = building.fragments_seen;
  f.admitted = building.fragments_admitted;
  f.incomplete = building.fragments_incomplete;
  f.malformed = counts_of(building.fragments_malformed);
  f.late = building.fragments_late;
  f.duplicate = building.fragments_duplicate;
  to.events.admitted = building.events_admitted;
}

void set_outcomes(ledger& to, const outcome_counters& outcomes) {
  to.events.rejected = outcomes.events_rejected;
  to.events.shed = counts_of(outcomes.events_shed);
  to.bytes.out = outcomes.packed_bytes;
}

std::string to_json(const ledger& l) {
  json::object o;
  o["ledger"] = ledger_version;
  o["program"] = l.program;
  o["run"] = l.run;
  if (l.program == "receive") {
    json::array sessions;
    for (const auto s : l.sessions) sessions.emplace_back(hexadecimal(s));
    o["sessions"] = std::move(sessions);
  } else if (!l.sessions.empty()) {
    o["session"] = hexadecimal(l.sessions.front());
  }
  o["clean"] = l.clean;
  const auto& f = l.fragments;
  o["fragments"] = json::object{{"seen", f.seen},
                                {"admitted", f.admitted},
                                {"incomplete", f.incomplete},
                                {"malformed", object_of(f.malformed)},
                                {"late", f.late},
                                {"duplicate", f.duplicate}};
  const auto& e = l.events;
  o["events"] = json::object{{"admitted", e.admitted},
                             {"forwarded", e.forwarded},
                             {"rejected", e.rejected},
                             {"shed", object_of(e.shed)},
                             {"in_flight", e.in_flight}};
  const auto& d = l.datagrams;
  o["datagrams"] =
      json::object{{"received", d.received},         {"data", d.data},
                   {"trailers", d.trailers},         {"end_of_spill", d.end_of_spill},
                   {"duplicate", d.duplicate},       {"late", d.late},
                   {"kernel_drops", d.kernel_drops}, {"malformed", object_of(d.malformed)}};
  o["bytes"] = json::object{{"in", l.bytes.in}, {"out", l.bytes.out}};
  if (l.spool) {
    json::array lanes;
    for (const auto& lane : l.spool->lanes) {
      lanes.push_back(json::object{{"session", hexadecimal(lane.session)},
                                   {"delivered", lane.delivered},
                                   {"damaged", lane.damaged}});
    }
    o["spool"] = json::object{{"session", hexadecimal(l.sessions.back())},
                              {"waiting", l.spool->waiting},
                              {"found", l.spool->found},
                              {"lanes", std::move(lanes)}};
  }
  json::array spills;
  for (const auto& s : l.spills) {
    json::object spill{{"spill", s.spill}, {"admitted", s.admitted}, {"incomplete", s.incomplete}};
    spill["expected"] = s.expected ? json::value(*s.expected) : json::value(nullptr);
    spills.push_back(std::move(spill));
  }
  o["spills"] = std::move(spills);
  o["balanced"] = l.balanced();
  return pretty(o);
}

ledger ledger_from_json(std::string_view text) {
  try {
    const json::value parsed = json::parse({text.data(), text.size()});
    const json::object& o = parsed.as_object();
    if (number(o, "ledger") != ledger_version) throw std::runtime_error("unknown version");
    ledger l;
    l.program = std::string(o.at("program").as_string());
    l.run = o.at("run").to_number<std::uint32_t>();
    if (const auto* s = o.if_contains("session")) l.sessions.push_back(session_from(*s));
    if (const auto* list = o.if_contains("sessions")) {
      for (const auto& s : list->as_array()) l.sessions.push_back(session_from(s));
    }
    l.clean = o.at("clean").as_bool();
    const auto& f = o.at("fragments").as_object();
    l.fragments = {number(f, "seen"),       number(f, "admitted"),
                   number(f, "incomplete"), counts_from(f.at("malformed")),
                   number(f, "late"),       number(f, "duplicate")};
    const auto& e = o.at("events").as_object();
    l.events = {number(e, "admitted"), number(e, "forwarded"), number(e, "rejected"),
                counts_from(e.at("shed")), number(e, "in_flight")};
    const auto& d = o.at("datagrams").as_object();
    l.datagrams = {number(d, "received"),     number(d, "data"),
                   number(d, "trailers"),     number(d, "end_of_spill"),
                   number(d, "duplicate"),    number(d, "late"),
                   number(d, "kernel_drops"), counts_from(d.at("malformed"))};
    const auto& b = o.at("bytes").as_object();
    l.bytes = {number(b, "in"), number(b, "out")};
    if (const auto* spool = o.if_contains("spool")) {
      const auto& s = spool->as_object();
      l.sessions.push_back(session_from(s.at("session")));
      l.spool = {number(s, "waiting"), number(s, "found"), {}};
      for (const auto& entry : s.at("lanes").as_array()) {
        const auto& lane = entry.as_object();
        l.spool->lanes.push_back(
            {session_from(lane.at("session")), number(lane, "delivered"), number(lane, "damaged")});
      }
    }
    for (const auto& entry : o.at("spills").as_array()) {
      const auto& s = entry.as_object();
      spill_account spill{s.at("spill").to_number<std::uint32_t>(), number(s, "admitted"),
                          number(s, "incomplete"), std::nullopt};
      if (!s.at("expected").is_null()) spill.expected = number(s, "expected");
      l.spills.push_back(spill);
    }
    return l;
  } catch (const boost::system::system_error& e) { // whose what() names the library's sources
    throw std::runtime_error("not a ledger: " + e.code().message());
  } catch (const std::exception& e) {
    throw std::runtime_error(std::string("not a ledger: ") + e.what());
  }
}

void write_ledger(const std::filesystem::path& path, const ledger& l) {
  const auto fail = [&](const char* what) {
    throw std::system_error(errno, std::generic_category(),
                            std::string(what) + " " + path.string());
  };
  auto temporary = path;
  temporary += ".new";
  const std::string text = to_json(l);
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail("cannot write");
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                     ::fdatasync(file) == 0;
  const int cause = whole ? 0 : (errno != 0 ? errno : ENOSPC);
  ::close(file);
  if (!whole) {
    ::unlink(temporary.c_str());
    errno = cause;
    fail("cannot write");
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) fail("cannot replace");
}

ledger read_ledger(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  try {
    return ledger_from_json(text);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(path.string() + ": " + e.what());
  }
}

} // namespace l3
