// SPDX-License-Identifier: Apache-2.0
#include "tools/info/information.hpp"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/command_error.hpp"
#include "tools/pack/byte_stream.hpp"
#include "transport/file/batch_file.hpp"
#include "transport/format/plain_text.hpp"
#include "transport/format/spool.hpp"
#include "transport/store/block_file.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {

namespace {

constexpr auto formats = std::to_array<known_format>({
    {stored_format::level2, "level2", "a file of level-2 data (.l2raw)", "KL3R", 4, 1, "replay"},
    {stored_format::store_file, "store_file", "a file of a store or a spool", "KL3S", 4, 2},
    {stored_format::strong_waveforms, "strong_waveforms", "waveforms of the strong codec (`pack`)",
     "KL3W", 4, 1, "unpack --codec strong"},
    {stored_format::releases, "releases", "a spool's notes on its lanes", "KL3R", 4},
    {stored_format::kept_batch, "kept_batch", "a kept batch (.l3batch)", "KL3D", 4, 2, "rerun"},
    {stored_format::run_record, "run_record", "the record of a run (LEDGER.live)", "KL3L", 6},
    {stored_format::ledger, "ledger", "a ledger", "{", 0},
});

const known_format* of(stored_format f) {
  return &*std::ranges::find(formats, f, &known_format::format);
}

} // namespace

std::optional<recognised> recognise(std::string_view first_bytes, std::string_view name) {
  constexpr std::size_t type_at = 5; // of a record; reserved in a release entry
  const auto found = std::ranges::find_if(
      formats, [&](const known_format& f) { return first_bytes.starts_with(f.magic); });
  if (found == formats.end()) {
    if (is_sidecar_name(std::string(name)) && !first_bytes.empty())
      return recognised{of(stored_format::ledger), 1}; // damaged
    // A spool's release file may have only free entries.
    if (name != spool_releases_name || first_bytes.find_first_not_of('\0') != first_bytes.npos)
      return std::nullopt;
    return recognised{of(stored_format::releases), 1};
  }
  const known_format* format = &*found;
  if (format->format == stored_format::level2 && first_bytes.size() > type_at &&
      first_bytes[type_at] == 0)
    format = of(stored_format::releases);
  const auto version = first_bytes.size() > format->version_at && format->version_at > 0
                           ? static_cast<unsigned char>(first_bytes[format->version_at])
                           : 1U;
  return recognised{format, version};
}

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t first_bytes = 64;

std::string beginning_of(const fs::path& file) {
  const input_file in = open_input(file);
  if (!in.refusal.empty())
    throw command_error(file.string() + " " + in.refusal, exit_missing_resource);
  std::string bytes(std::min<std::uint64_t>(first_bytes, in.bytes), '\0');
  if (const auto error = read_all(in.file.get(), 0, std::as_writable_bytes(std::span(bytes))))
    throw command_error(file.string() + " " + cannot_be_read(error), exit_missing_resource);
  return bytes;
}

std::string with_reader(std::string_view title, std::string_view command) {
  return fmt::format("{}, which `koto-l3 {}` reads", title, command);
}

/// Describes a text file that koto-l3 writes beside its data; empty for any other file.
std::string text_file(std::string_view bytes) {
  if (bytes.starts_with(R"({"spill":)"))
    return with_reader("the truth of simulated events", "evaluate FILE.l2raw");
  if (bytes.starts_with(R"({"histograms":)"))
    return with_reader("a file of histograms", "histograms");
  return {};
}

std::string kind_of_folder(const fs::path& folder) {
  const store_kind kind = kind_of(folder);
  if (kind == store_kind::spool) return with_reader("the spool of a daemon", "extract");
  return block_files_in(folder, kind).empty() ? "a folder without a store"
                                              : with_reader("a store", "select");
}

[[noreturn]] void refuse_unknown(const fs::path& file, const std::string& bytes) {
  if (bytes.empty()) throw command_error(file.string() + " is empty");
  std::string shown;
  for (const char c : bytes.substr(0, 4))
    shown += fmt::format(" {:02X}", static_cast<unsigned char>(c));
  throw command_error(file.string() +
                      " is not one of the files that koto-l3 stores: it begins with" + shown);
}

void describe_kept_batch(const fs::path& file, information& to) {
  const batch_file b = read_batch_file(file);
  to.facts["bytes"] = file_bytes(b);
  json::error_code error;
  const json::value about = json::parse(b.about, error);
  if (!error && about.is_object())
    to.facts["about"] = about;
  else
    to.damage.emplace_back("its reason is not a JSON object");
  to.facts["events"] = b.events.size();
  to.facts["fragments"] = b.fragments.size();
  to.facts["boards"] = b.boards.size();
  to.facts["results"] = b.results.size();
  json::array spills;
  for (const event_entry& e : b.events) {
    if (spills.empty() || spills.back().at("spill") != e.spill)
      spills.push_back(json::object{{"spill", e.spill}, {"events", 0}});
    json::object& last = spills.back().as_object();
    last["events"] = last["events"].as_int64() + 1;
  }
  to.facts["spills"] = std::move(spills);
  to.facts["configuration_bytes"] = b.configuration.size();
  to.facts["own_selection"] = !b.lines.empty();
  to.facts["own_detector"] = !b.detector.empty();
  to.facts["own_calibration"] = !b.calibration.empty();
}

void describe_strong_waveforms(const fs::path& file, const reading_progress& tell,
                               information& to) {
  byte_input in(file.string());
  byte_output nowhere("/dev/null", in);
  const std::uint64_t bytes = in.size().value_or(0);
  to.facts["bytes"] = bytes;
  try {
    unpack_strong(in, nowhere, std::nullopt, [&](std::uint64_t done) { tell(done, bytes); });
  } catch (const command_error&) { // interrupted
    throw;
  } catch (const std::runtime_error& e) {
    to.damage.emplace_back(e.what());
  }
  to.facts["bytes_of_samples"] = nowhere.written();
}

void describe(stored_format format, const fs::path& file, const reading_progress& tell,
              information& to) {
  switch (format) {
  case stored_format::level2: return describe_level2(file, tell, to);
  case stored_format::store_file: return describe_block_file(file, tell, to);
  case stored_format::strong_waveforms: return describe_strong_waveforms(file, tell, to);
  case stored_format::releases: return describe_releases(file, to);
  case stored_format::kept_batch: return describe_kept_batch(file, to);
  case stored_format::run_record: return describe_run_record(file, to);
  case stored_format::ledger: return describe_account(file, to);
  }
}

std::string scalar(const json::value& v) {
  if (v.is_null()) return "–";
  if (v.is_bool()) return v.as_bool() ? "yes" : "no";
  if (v.is_double()) return fmt::format("{:.6g}", v.as_double());
  if (v.is_string()) return peer_text(std::string_view(v.as_string()));
  return json::serialize(v);
}

std::string words_of(std::string_view key) {
  std::string words(key);
  std::ranges::replace(words, '_', ' ');
  return peer_text(words);
}

/// "admitted 20, forwarded 20": without zeros, unless all are zero.
std::string line_of(const json::object& o) {
  std::string line;
  for (const auto& [key, value] : o) {
    if (value == 0 || value == json::object{}) continue;
    line += line.empty() ? "" : ", ";
    line += words_of(key) + " " +
            (value.is_object() ? "(" + line_of(value.as_object()) + ")" : scalar(value));
  }
  return line.empty() ? "0" : line;
}

bool is_table(const json::value& v) {
  return v.is_array() && !v.as_array().empty() && v.as_array()[0].is_object();
}

void add_table(std::string_view key, const json::array& rows, std::string& to) {
  constexpr std::size_t most = 20;
  std::vector<std::vector<std::string>> cells(1);
  for (const auto& [column, value] : rows[0].as_object()) cells[0].push_back(words_of(column));
  for (std::size_t r = 0; r < std::min(most, rows.size()); ++r) {
    auto& line = cells.emplace_back();
    for (const auto& [column, value] : rows[r].as_object())
      line.push_back(value.is_object() ? line_of(value.as_object()) : scalar(value));
  }
  std::vector<std::size_t> widths(cells[0].size(), 0);
  for (const auto& line : cells)
    for (std::size_t c = 0; c < std::min(line.size(), widths.size()); ++c)
      widths[c] = std::max(widths[c], line[c].size());
  to += fmt::format("  {} ({})\n", words_of(key), rows.size());
  for (const auto& line : cells) {
    to += "   ";
    for (std::size_t c = 0; c < std::min(line.size(), widths.size()); ++c)
      to += fmt::format(" {:>{}}", line[c], widths[c]);
    to += "\n";
  }
  if (rows.size() > most)
    to += fmt::format("    and {} more: --json has all\n", rows.size() - most);
}

void add_fact(std::string_view key, const json::value& value, std::string& to) {
  if (is_table(value)) return add_table(key, value.as_array(), to);
  std::string text;
  if (value.is_array())
    for (const auto& v : value.as_array()) text += (text.empty() ? "" : ", ") + scalar(v);
  else
    text = value.is_object() ? line_of(value.as_object()) : scalar(value);
  to += fmt::format("  {:<26} {}\n", words_of(key), text.empty() ? "–" : text);
}

} // namespace

std::string known_kind(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return kind_of_folder(path);
  if (!fs::is_regular_file(path, error)) return {};
  const std::string bytes = beginning_of(path);
  if (std::string is = text_file(bytes); !is.empty()) return is;
  const std::string name = path.filename().string();
  const auto known = recognise(bytes, name);
  if (!known) return {};
  const known_format& format = *known->format;
  const auto is_text = [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; };
  // Any file of samples may begin with "{", and level-2 data of a later version look like releases.
  const bool by_chance =
      (format.format == stored_format::ledger && !std::ranges::all_of(bytes, is_text)) ||
      (format.format == stored_format::releases && name != spool_releases_name);
  return by_chance ? "" : with_reader(format.title, format.command);
}

void refuse_other_kind(const fs::path& path, stored_format wanted, std::string_view needed) {
  const std::string is = known_kind(path);
  if (!is.empty() && is != with_reader(of(wanted)->title, of(wanted)->command))
    throw command_error(fmt::format("{} is {}: {}", path.string(), is, needed));
}

void check_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  if (!fs::exists(folder, error))
    throw command_error("no store: there is no folder " + folder.string(), exit_missing_resource);
  const std::string is = known_kind(folder);
  throw command_error(fmt::format("no store: {} is {}, but a store is a folder", folder.string(),
                                  is.empty() ? "a file" : is),
                      exit_missing_resource);
}

recognised recognise_file(const fs::path& path) {
  const std::string bytes = beginning_of(path);
  if (const std::string is = text_file(bytes); !is.empty())
    throw command_error(fmt::format("{} is {}", path.string(), is));
  const auto known = recognise(bytes, path.filename().string());
  if (!known) refuse_unknown(path, bytes);
  const std::uint32_t newest = known->format->newest;
  if (known->version < 1 || known->version > newest)
    throw command_error(fmt::format("{} is {} of version {}; this koto-l3 reads version{}: use the "
                                    "koto-l3 that wrote it",
                                    path.string(), known->format->title, known->version,
                                    newest == 1 ? " 1" : fmt::format("s 1 to {}", newest)));
  return *known;
}

information read_information(const fs::path& path, const reading_progress& tell) {
  information i;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const store_kind kind = kind_of(path);
    const bool has_blocks = !block_files_in(path, kind).empty();
    if (!has_blocks && describe_ledgers(path, i)) return i;
    if (!has_blocks && kind == store_kind::store) check_store(path);
    describe_folder(path, tell, i);
    return i;
  }
  const recognised known = recognise_file(path);
  i.kind = known.format->word;
  i.title = known.format->title;
  i.version = known.version;
  describe(known.format->format, path, tell, i);
  return i;
}

std::string text_of(const fs::path& path, const information& i) {
  std::string text =
      fmt::format("{}: {}, version {}\n", plain_line(path.string()), i.title, i.version);
  for (const auto& [key, value] : i.facts) add_fact(key, value, text);
  for (const std::string& d : i.damage) text += "  DAMAGED: " + plain_line(d) + "\n";
  return text;
}

std::string json_of(const fs::path& path, const information& i) {
  json::object all{{"path", path.string()}, {"kind", i.kind}, {"version", i.version}};
  for (const auto& [key, value] : i.facts) all[key] = value;
  all["damage"] = json::array(i.damage.begin(), i.damage.end());
  return json::serialize(all) + "\n";
}

} // namespace l3
