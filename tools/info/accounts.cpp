// SPDX-License-Identifier: Apache-2.0
// What was written down beside the data: ledgers, and the sidecars of a store's files.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/command_error.hpp"
#include "tools/info/information.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/store/block_file.hpp"
#include "transport/system/input_file.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

/// Nothing: it is no JSON object.
std::optional<json::object> object_in(const fs::path& file) {
  const input_text in = read_input(file, most_bytes);
  if (!in.refusal.empty())
    throw command_error(file.string() + " " + in.refusal, exit_missing_resource);
  json::error_code error;
  json::value v = json::parse(in.text, error);
  if (error || !v.is_object()) return std::nullopt;
  return std::move(v.as_object());
}

struct reprocess_file {
  std::string_view key; ///< the first one, which no other file begins with
  std::string_view kind;
  std::string_view title;
  std::uint32_t newest = 1; ///< version; a record of a task has none
};

constexpr std::array reprocess_files{
    reprocess_file{"plan", "reprocess_plan", "the plan of a reprocessing (`reprocess`)", 2},
    reprocess_file{"task", "reprocess_task", "the record of a reprocessed file (`reprocess`)"},
    reprocess_file{"manifest", "reprocess_manifest",
                   "the manifest of a reprocessing (`reprocess --check`)"},
};

/// Of a record of a task the figures, without those of its lines.
json::object row_of(const json::object& task) {
  const auto of = [](const json::object& o, std::string_view key) {
    const json::value* const found = o.if_contains(key);
    return found != nullptr ? *found : json::value();
  };
  const auto in = [&](std::string_view part, std::string_view key) {
    const json::value whole = of(task, part);
    return whole.is_object() ? of(whole.as_object(), key) : json::value();
  };
  return {{"task", of(task, "task")},
          {"file", in("input", "file")},
          {"events", in("input", "events")},
          {"kept", of(task, "kept")},
          {"rejected", of(task, "rejected")},
          {"limited", of(task, "limited")},
          {"unreadable", in("unreadable", "events")},
          {"bytes_in", in("input", "bytes")},
          {"bytes_out", in("output", "bytes")}};
}

/// What `reprocess` writes beside its output; false: it is something else.
bool describe_reprocessing(const fs::path& file, const json::object& object, information& to) {
  const auto is = std::ranges::find_if(reprocess_files, [&](const reprocess_file& f) {
    return !object.empty() && object.begin()->key() == f.key;
  });
  if (is == reprocess_files.end()) return false;
  const bool has_version = is->key != "task"; // there the key is the number of the task
  if (has_version) {
    const json::value& version = object.begin()->value();
    json::error_code error;
    to.version = version.to_number<std::uint32_t>(error);
    if (error || to.version == 0 || to.version > is->newest)
      throw command_error(fmt::format("{} is {}, of version {}; this koto-l3 reads {}",
                                      file.string(), is->title, json::serialize(version),
                                      is->newest == 1 ? "version 1" : "versions 1 and 2"));
  }
  to.kind = is->kind;
  to.title = is->title;
  to.facts = object;
  if (has_version) to.facts.stable_erase(is->key);
  if (json::value* const files = to.facts.if_contains("files");
      files != nullptr && files->is_array())
    for (json::value& f : files->as_array())
      if (f.is_object()) f = row_of(f.as_object());
  return true;
}

/// Of a daemon: it locks the folder.
bool is_lock(const fs::path& file) {
  const std::string name = file.filename();
  return name.starts_with("node") && name.ends_with(".lock");
}

} // namespace

void describe_account(const fs::path& file, information& to) {
  const auto object = object_in(file);
  if (object && describe_reprocessing(file, *object, to)) return;
  if (!is_sidecar_name(file.filename().string()) && !(object && object->contains("sidecar"))) {
    const ledger l = read_ledger(file); // says what is wrong
    to.facts = json::parse(to_json(l)).as_object();
    to.facts.erase("ledger");
    return;
  }
  to.kind = "sidecar";
  to.title = "the sidecar of a complete file of a store";
  if (object && object->contains("sidecar"))
    to.facts = *object;
  else
    to.damage.emplace_back("it is no JSON object with a key `sidecar`");
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
  if (rows.empty() && !is_locked) return false; // other programs write such files, too
  to.kind = "ledgers";
  to.title = "a folder of ledgers";
  to.damage = std::move(damage);
  to.facts["ledgers"] = std::move(rows);
  return true;
}

} // namespace l3
