// SPDX-License-Identifier: Apache-2.0
// Descriptions beside the data: ledgers, and the sidecars of a store's files.
#include <algorithm>
#include <vector>

#include <boost/json.hpp>

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

/// Returns nothing if the file is no JSON object.
std::optional<json::object> object_in(const fs::path& file) {
  const input_text in = read_input(file, most_bytes);
  if (!in.refusal.empty())
    throw command_error(file.string() + " " + in.refusal, exit_missing_resource);
  json::error_code error;
  json::value v = json::parse(in.text, error);
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
