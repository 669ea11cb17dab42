// SPDX-License-Identifier: Apache-2.0
#include "tools/reprocess/reprocess_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "config/readout_list.hpp"
#include "selection/trigger/load_selection.hpp"
#include "selection/trigger/recorded_settings.hpp"
#include "tools/command_error.hpp"
#include "tools/evaluate/stored_readout.hpp"
#include "tools/verify/store_folder.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

constexpr std::uint64_t plan_version = 1;
constexpr std::uint64_t with_a_codec = 2; ///< version of a plan that names one

std::vector<reprocess_task> files_of(const std::string& store) {
  std::vector<reprocess_task> files;
  const store_kind kind = kind_of(store);
  for (const block_file_name& f : block_files_in(store, kind))
    files.push_back({0, store, kind, f.number, f.complete});
  return files;
}

/// By these a file is known.
std::pair<std::string, std::uint64_t> file_of(const reprocess_task& t) { return {t.store, t.file}; }

/// Each store is listed once, and not once for each task.
void find_names(reprocess_plan& plan) {
  std::map<std::pair<std::string, std::uint64_t>, std::optional<file_owner>> names;
  for (const std::string& store : plan.stores) {
    try {
      for (const reprocess_task& t : files_of(store)) names[file_of(t)] = t.complete;
    } catch (const fs::filesystem_error&) { // its tasks say so
    }
  }
  for (reprocess_task& t : plan.tasks)
    if (const auto listed = names.find(file_of(t)); listed != names.end())
      t.complete = listed->second;
}

std::string text_at(const json::value& v, const char* key) {
  return std::string(v.at(key).as_string());
}

reprocess_plan plan_of(const reprocess_folder& folder, const json::value& v) {
  const auto version = v.at("plan").to_number<std::uint64_t>();
  if (version != plan_version && version != with_a_codec)
    throw std::runtime_error("it is of another version");
  reprocess_plan plan;
  if (version == with_a_codec) {
    plan.codec = read_codec(text_at(v, "codec"));
    if (!plan.codec) throw std::runtime_error("its codec is none that this version knows");
  }
  plan.settings = static_cast<std::uint32_t>(std::stoul(text_at(v, "settings"), nullptr, 16));
  for (const json::value& entry : v.at("crates").as_array()) {
    const auto crates = read_crates(std::string(entry.as_string()));
    if (const auto* const wrong = std::get_if<std::string>(&crates))
      throw std::runtime_error("crates: " + *wrong);
    for (const crate_readout& c : std::get<0>(crates)) plan.crates.crates.push_back(c);
  }
  const auto kept = [&](const char* key, const fs::path& copy, const char* without) {
    return v.at(key).as_bool() ? copy.string() : std::string(without);
  };
  plan.files = {kept("menu", folder.menu(), built_in),
                kept("detector", folder.detector(), built_in),
                kept("calibration", folder.calibration(), "")};
  for (const json::value& store : v.at("stores").as_array())
    plan.stores.emplace_back(store.as_string());
  for (const json::value& t : v.at("tasks").as_array()) {
    reprocess_task task;
    task.number = t.at("task").to_number<std::uint64_t>();
    task.store = text_at(t, "store");
    task.kind = t.at("spool").as_bool() ? store_kind::spool : store_kind::store;
    task.file = t.at("file").to_number<std::uint64_t>();
    if (task.number != plan.tasks.size() + 1) throw std::runtime_error("its tasks do not count");
    plan.tasks.push_back(std::move(task));
  }
  find_names(plan);
  return plan;
}

/// Of the first block. Nothing: it has none, or cannot be read, which its task says.
std::optional<recorded_settings> first_settings(const reprocess_task& file, interrupt& signals) {
  try {
    store_file in(file.path(), file.kind, [&] { return signals.check(), false; });
    const auto block = in.next();
    std::vector<std::byte> bytes;
    if (!block || block->header.settings_bytes == 0 || !in.read_settings(*block, bytes)) return {};
    return decode_settings(bytes);
  } catch (const command_error&) {
    throw;
  } catch (const std::runtime_error&) {
    return {};
  }
}

} // namespace

std::optional<readout> stored_readout(const std::vector<std::string>& stores, interrupt& signals) {
  std::optional<readout> stored;
  for (const std::string& store : stores)
    for (const reprocess_task& file : files_of(store))
      if (const auto settings = first_settings(file, signals))
        agree(stored, settings->crates, file.path().string());
  return stored;
}

void reprocess_plan::add_stores(const reprocess_folder& out,
                                const std::vector<std::string>& folders) {
  for (const std::string& given : folders) {
    check_folder(given);
    check_store(given);
    const std::string store = fs::canonical(given).string();
    if (fs::equivalent(store, out.store()))
      throw command_error(given + " is the output: name another folder by --out", exit_usage);
    if (std::ranges::find(stores, store) == stores.end()) stores.push_back(store);
  }
  for (reprocess_task& t : new_files()) {
    t.number = tasks.size() + 1;
    tasks.push_back(std::move(t));
  }
}

std::vector<reprocess_task> reprocess_plan::new_files() const {
  std::vector<reprocess_task> fresh;
  std::set<std::pair<std::string, std::uint64_t>> known;
  for (const reprocess_task& t : tasks) known.insert(file_of(t));
  for (const std::string& store : stores) {
    if (!fs::is_directory(store)) continue; // its tasks say so
    for (reprocess_task& t : files_of(store))
      if (!known.contains(file_of(t))) fresh.push_back(std::move(t));
  }
  return fresh;
}

std::string_view name_of(codec_id codec) { return codec == codec_id::strong ? "strong" : "koto"; }

std::optional<codec_id> read_codec(std::string_view name) {
  if (name == name_of(codec_id::koto)) return codec_id::koto;
  if (name == name_of(codec_id::strong)) return codec_id::strong;
  return std::nullopt;
}

bool has_plan(const reprocess_folder& folder) { return fs::exists(folder.plan()); }

reprocess_plan read_plan(const reprocess_folder& folder) {
  const auto value = read_json(folder.plan());
  if (!value)
    throw command_error("there is no plan in " + folder.store().string() +
                            ": name the stores, --menu and --out first",
                        exit_missing_resource);
  try {
    return plan_of(folder, *value);
  } catch (const std::exception& e) {
    throw command_error(folder.plan().string() + " is no plan: " + reason_of(e));
  }
}

void write_plan(const reprocess_folder& folder, const reprocess_plan& plan) {
  json::array crates;
  for (const std::string& entry : show_crates(plan.crates)) crates.emplace_back(entry);
  json::array tasks;
  for (const reprocess_task& t : plan.tasks)
    tasks.push_back(json::object{{"task", t.number},
                                 {"store", t.store},
                                 {"spool", t.kind == store_kind::spool},
                                 {"file", t.file}});
  json::object all{{"plan", plan.codec ? with_a_codec : plan_version},
                   {"settings", fmt::format("{:08x}", plan.settings)},
                   {"menu", plan.files.lines != built_in},
                   {"detector", plan.files.detector != built_in},
                   {"calibration", !plan.files.calibration.empty()},
                   {"crates", std::move(crates)},
                   {"stores", json::array(plan.stores.begin(), plan.stores.end())},
                   {"tasks", std::move(tasks)}};
  if (plan.codec) all["codec"] = name_of(*plan.codec);
  write_whole(folder, folder.plan(), in_lines(all) + "\n");
}

selection_files keep_files(const reprocess_folder& folder, const selection_files& given) {
  if (fs::exists(folder.store()) && !fs::is_empty(folder.store()) && !fs::exists(folder.own()))
    throw command_error(folder.store().string() +
                            " is not empty, and was not made by reprocess: name another folder",
                        exit_missing_resource);
  fs::create_directories(folder.own());
  const selection_texts texts = texts_of(given);
  const auto keep = [&](const std::string& text, const fs::path& to, const std::string& name) {
    if (name.empty() || name == built_in) return name;
    write_whole(folder, to, text);
    return to.string();
  };
  return {keep(texts.lines, folder.menu(), given.lines),
          keep(texts.detector, folder.detector(), given.detector),
          keep(texts.calibration, folder.calibration(), given.calibration)};
}

} // namespace l3
