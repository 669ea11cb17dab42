// SPDX-License-Identifier: Apache-2.0
#include "tools/rerun/rerun.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "config/load.hpp"
#include "selection/engine/engine.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tools/command_error.hpp"
#include "tools/pending_file.hpp"
#include "tools/print.hpp"
#include "transport/file/batch_file.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

constexpr std::size_t page = 4096;

/// The outcome of a batch.
struct outcome {
  struct event {
    bool kept = false;
    bool is_elsewhere = false; ///< its entry points outside the output
    std::vector<std::byte> packed;
    friend bool operator==(const event&, const event&) = default;
  };
  std::string who;
  std::vector<event> events;
};

/// The batch's selection files in a temporary folder for the loader.
class selection_folder {
public:
  explicit selection_folder(const batch_file& b) {
    path_ = new_scratch_folder("koto-l3-rerun");
    write("lines.toml", b.lines);
    write("detector.toml", b.detector);
    write("calibration.csv", b.calibration);
  }
  ~selection_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  selection_folder(const selection_folder&) = delete;
  selection_folder& operator=(const selection_folder&) = delete;

  /// Replaces the settings' files by the batch's, except built-in ones.
  [[nodiscard]] selection_files of(selection_files s, const batch_file& b) const {
    if (!b.lines.empty()) s.lines = path_ / "lines.toml";
    if (!b.detector.empty()) s.detector = path_ / "detector.toml";
    if (!b.calibration.empty()) s.calibration = path_ / "calibration.csv";
    return s;
  }

private:
  void write(const char* name, const std::string& content) const {
    if (!(std::ofstream(path_ / name, std::ios::binary) << content).flush())
      throw command_error("cannot write " + (path_ / name).string(), exit_missing_resource);
  }
  std::filesystem::path path_;
};

daemon_settings settings_of(const batch_file& b, const std::string& file) {
  loaded_config config = read_config(b.configuration, file + ", its configuration");
  if (!config.ok()) throw command_error(to_string(config.errors.front()), exit_bad_configuration);
  return config.settings;
}

std::optional<loaded_selection> selection_of(const daemon_settings& s, const batch_file& b) {
  if (s.selection.lines.empty()) return std::nullopt;
  try {
    const selection_folder folder(b);
    return load_selection(folder.of(s.selection, b), s.building.crates, s.run.number);
  } catch (const command_error&) {
    throw;
  } catch (const std::runtime_error& e) {
    throw command_error(e, exit_bad_configuration);
  }
}

template <class T>
std::uint32_t lay(std::span<T> to, const std::vector<T>& from) {
  std::copy(from.begin(), from.end(), to.begin());
  return static_cast<std::uint32_t>(from.size());
}

outcome compute(const batch_file& b, const compute_settings& where, codec_id codec,
                const std::optional<loaded_selection>& selection) {
  const auto rows = [](const auto& table) { return static_cast<std::uint32_t>(table.size()); };
  const batch_capacity capacity{rows(b.events), rows(b.fragments), rows(b.pieces), rows(b.boards),
                                round_up(b.input.size(), page)};
  std::optional<selection_program> program;
  if (selection) program = selection->program();
  engine_limits limits{capacity, 1};
  limits.codec = codec;
  const auto made =
      opened([&] { return make_engine(where, limits, program ? &*program : nullptr); });
  frame& f = *made->frames().front();
  f.input.used_events = lay(f.input.events, b.events);
  f.input.used_fragments = lay(f.input.fragments, b.fragments);
  f.input.used_pieces = lay(f.input.pieces, b.pieces);
  f.input.used_boards = lay(f.input.boards, b.boards);
  std::copy(b.input.begin(), b.input.end(), f.input.bytes.begin());
  f.input.used_bytes = b.input.size();
  made->start(f);
  if (!made->wait(f)) throw command_error(std::string(made->name()) + " failed: " + f.error);
  outcome o{std::string(made->name()), {}};
  for (const event_result& r : f.results) {
    const bool kept = r.kept != 0;
    const auto packed = f.output.subspan(kept ? r.offset : 0, kept ? r.bytes : 0);
    o.events.push_back({kept, false, {packed.begin(), packed.end()}});
  }
  return o;
}

outcome stored(const batch_file& b) {
  outcome o{"the stored output", {}};
  const std::span output(b.output);
  for (const stored_result& r : b.results) {
    const bool kept = r.kept != 0;
    const bool is_elsewhere =
        kept && (r.offset > output.size() || r.bytes > output.size() - r.offset);
    o.events.push_back({kept, is_elsewhere, {}});
    if (!kept || is_elsewhere) continue;
    const auto packed = output.subspan(r.offset, r.bytes);
    o.events.back().packed.assign(packed.begin(), packed.end());
  }
  return o;
}

std::string difference(const outcome::event& found, const outcome::event& right) {
  if (found.kept != right.kept) return right.kept ? "is rejected" : "is kept";
  if (found.is_elsewhere) return "has an entry that points outside the output";
  const auto [f, r] = std::ranges::mismatch(found.packed, right.packed);
  const auto at = f - found.packed.begin();
  if (found.packed.size() != right.packed.size())
    return fmt::format("has {} bytes instead of {}, and differs from byte {} on",
                       found.packed.size(), right.packed.size(), at);
  std::size_t bytes = 0;
  for (std::size_t k = 0; k < found.packed.size(); ++k)
    bytes += found.packed[k] != right.packed[k] ? 1 : 0;
  return fmt::format("differs in {} of {} bytes, first in byte {}", bytes, found.packed.size(), at);
}

/// Prints each event that differs from the reference; returns true if none differs.
bool compare(const outcome& found, const outcome& right, const batch_file& b) {
  std::size_t wrong = 0;
  for (std::size_t e = 0; e < b.events.size(); ++e) {
    if (found.events[e] == right.events[e]) continue;
    ++wrong;
    print_plain("{}: spill {}, event {} {}\n", found.who, b.events[e].spill, b.events[e].number,
                difference(found.events[e], right.events[e]));
  }
  if (wrong == 0)
    print_plain("{}: the same as {}\n", found.who, right.who);
  else
    print_plain("{}: {} of {} events differ from {}\n", found.who, wrong, b.events.size(),
                right.who);
  return wrong == 0;
}

} // namespace

bool rerun(const std::string& file, const compute_settings& where) {
  const batch_file b = read_batch_file(file);
  const daemon_settings settings = settings_of(b, file);
  const auto selection = selection_of(settings, b);
  print_plain("{}: {} events, {}\n", file, b.events.size(), b.about);

  const codec_id codec = settings.outbox.codec;
  const outcome reference = compute(b, {backend::serial, 0}, codec, selection);
  bool same = true;
  if (where.where == backend::serial) {
    print_plain("serial: {} events computed\n", b.events.size());
  } else {
    same = compare(compute(b, where, codec, selection), reference, b);
  }
  if (b.results.empty()) {
    print_plain("no output was stored: the device gave none\n");
  } else {
    same = compare(stored(b), reference, b) && same;
  }
  return same;
}

} // namespace l3
