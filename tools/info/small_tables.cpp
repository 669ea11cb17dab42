// SPDX-License-Identifier: Apache-2.0
#include "tools/info/information.hpp"

#include <algorithm>
#include <ctime>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/command_error.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/run_record.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::uint64_t most_bytes = 1U << 20;

std::string content_of(const fs::path& file) {
  input_text in = read_input(file, most_bytes);
  if (!in.refusal.empty())
    throw command_error(file.string() + " " + in.refusal, exit_missing_resource);
  return std::move(in.text);
}

template <class Entry>
void take_entry(const char* bytes, table_of<Entry>& to) {
  const auto e = load<Entry>(reinterpret_cast<const std::byte*>(bytes));
  const Entry ours;
  if (e.magic == ours.magic && e.version == ours.version && e.crc == header_crc(e))
    to.entries.push_back(e);
  else if (std::any_of(bytes, bytes + sizeof e, [](char c) { return c != 0; }))
    ++to.damaged;
}

template <class Entry>
table_of<Entry> entries_of(const std::string& text) {
  table_of<Entry> table;
  table.bytes = text.size();
  for (std::size_t at = 0; at + sizeof(Entry) <= text.size(); at += sizeof(Entry))
    take_entry(text.data() + at, table);
  return table;
}

void tell_damage(std::uint64_t damaged, information& to) {
  if (damaged > 0)
    to.damage.push_back(fmt::format("{} entries have a wrong checksum and are ignored", damaged));
}

} // namespace

std::string utc_text(std::uint64_t ns_since_1970) {
  constexpr std::uint64_t second = 1'000'000'000;
  const auto seconds = static_cast<std::time_t>(ns_since_1970 / second);
  std::tm parts{};
  char text[32];
  if (::gmtime_r(&seconds, &parts) == nullptr) return "an unknown time";
  return {text, std::strftime(text, sizeof text, "%F %T UTC", &parts)};
}

table_of<spool_release> read_releases(const fs::path& file) {
  return entries_of<spool_release>(content_of(file));
}

void describe_releases(const fs::path& file, information& to) {
  const std::string text = content_of(file);
  const auto released = entries_of<spool_release>(text);
  json::array lanes;
  for (const spool_release& e : released.entries)
    lanes.push_back(json::object{
        {"session", session_text(e.session)}, {"released", e.sequence}, {"on_disk", e.waiting}});
  to.facts = {{"bytes", text.size()}, {"lanes", std::move(lanes)}};
  tell_damage(released.damaged, to);
}

void describe_run_record(const fs::path& file, information& to) {
  const std::string text = content_of(file);
  to.facts["bytes"] = text.size();
  if (text.size() < sizeof(run_record)) {
    to.damage.push_back(
        fmt::format("it has {} bytes instead of {}", text.size(), sizeof(run_record)));
    return;
  }
  const auto r = load<run_record>(reinterpret_cast<const std::byte*>(text.data()));
  to.facts["run"] = r.run;
  to.facts["session"] = session_text(r.session);
  to.facts["started"] = utc_text(r.started);
  to.facts["noted"] = utc_text(r.noted);
  to.facts["ended_properly"] = r.ended == 1;
  to.facts["events"] = json::object{{"admitted", r.admitted},
                                    {"forwarded", r.forwarded},
                                    {"rejected", r.rejected},
                                    {"shed", r.shed},
                                    {"on_disk", r.on_disk}};
}

} // namespace l3
