// SPDX-License-Identifier: Apache-2.0
// Descriptions beside the data: ledgers, and the sidecars of a store's files.
#include <algorithm>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/command_error.hpp"
#include "tools/info/information.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/run_record.hpp"
#include "transport/store/block_file.hpp"
#include "transport/system/input_file.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

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

namespace {

/// Returns nothing if the file is no JSON object.
std::optional<json::object> object_in(const fs::path& file) {
  json::error_code error;
  json::value v = json::parse(content_of(file), error);
  if (error || !v.is_object()) return std::nullopt;
  return std::move(v.as_object());
}

/// Whether the file is a daemon's lock of the folder.
bool is_lock(const fs::path& file) {
  const std::string name = file.filename();
  return name.starts_with("node") && name.ends_with(".lock");
}

} // namespace

void describe_account(const fs::path& file, information& to) {
  const auto object = object_in(file);
  if (!is_sidecar_name(file.filename().string()) && !(object && object->contains("sidecar"))) {
    const ledger l = read_ledger(file); // throws with what is wrong
    to.facts = json::parse(to_json(l)).as_object();
    to.facts.erase("ledger");
    return;
  }
  to.kind = "sidecar";
  to.title = "the sidecar of a complete file of a store";
  if (object && object->contains("sidecar"))
    to.facts = *object;
  else
    to.damage.emplace_back("it is not a JSON object with a key `sidecar`");
  to.facts.stable_erase("sidecar");
}

bool describe_ledgers(const fs::path& folder, information& to) {
  std::vector<fs::path> files;
  bool is_locked = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    is_locked = is_locked || is_lock(entry.path());
    if (entry.path().extension() == ".json" && entry.is_regular_file())
      files.push_back(entry.path());
  }
  if (files.empty()) return false;
  std::ranges::sort(files);
  json::array rows;
  std::vector<std::string> damage;
  for (const fs::path& file : files) {
    ledger l;
    try {
      l = read_ledger(file);
    } catch (const std::runtime_error& e) {
      damage.emplace_back(reason_of(e));
      continue;
    }
    rows.push_back(json::object{
        {"ledger", file.filename().string()},
        {"program", l.program},
        {"run", l.run},
        {"clean", l.clean},
        {"balanced", l.balanced()},
        {"admitted", l.events.admitted},
        {"forwarded", l.events.forwarded},
        {"rejected", l.events.rejected},
        {"shed", sum_of(l.events.shed)},
        {"in_flight", l.events.in_flight},
        {"incomplete", l.fragments.incomplete},
    });
  }
  if (rows.empty() && !is_locked) return false; // other programs may have written them
  to.kind = "ledgers";
  to.title = "a folder of ledgers";
  to.damage = std::move(damage);
  to.facts["ledgers"] = std::move(rows);
  return true;
}

} // namespace l3
