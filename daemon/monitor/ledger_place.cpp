// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/ledger_place.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "transport/accounting/ledger.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/input_file.hpp"
#include "transport/system/known_folder.hpp"

namespace l3 {
namespace {

constexpr std::string_view live = ".live";
constexpr std::string_view run_word = "run";
constexpr std::string_view last_run = "last-run";

/// Whether a name is "run", six digits or more, "-NODE-" and a session.
bool is_of_node(std::string_view name, std::uint32_t node) {
  const auto dash = name.find('-');
  return name.starts_with(run_word) && dash != name.npos &&
         name.substr(dash).starts_with(fmt::format("-{}-", node));
}

/// Returns nothing if the file is no record.
std::optional<run_record> record_in(const std::filesystem::path& file) {
  const input_file in = open_input(file);
  run_record r;
  if (!in.refusal.empty() || read_all(in.file.get(), 0, std::as_writable_bytes(std::span(&r, 1))) ||
      r.magic != run_record::right_magic)
    return std::nullopt;
  return r;
}

} // namespace

std::string ledger_place::node_file(std::string_view kind) const {
  return (folder_ / fmt::format("node{}.{}", node_, kind)).string();
}

std::string ledger_place::cannot_write(std::string_view why) const {
  return fmt::format("run.ledger: cannot write {}: {}", folder_.string(), why);
}

void ledger_place::prepare() {
  if (const std::string why = why_not_made(folder_, is_a_service()); !why.empty())
    throw std::runtime_error(cannot_write(why));
  // The file is never removed: a removal could take away the name of a lock that another process
  // holds.
  lock_ = create_file(node_file("lock"), O_RDWR);
  if (!lock_) throw std::runtime_error(cannot_write(last_error().message()));
  // A daemon also starts on a file system without locks.
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw std::runtime_error(
        fmt::format("run.ledger: node {} in {} is in use by another daemon: give each its own "
                    "run.node, or its own run.ledger",
                    node_, folder_.string()));
}

std::string ledger_place::why_not_here() const {
  std::string why = why_no_folder_of(folder_);
  if (why.empty()) why = why_not_writable(folder_);
  return why.empty() ? why : cannot_write(why);
}

std::string ledger_place::file_of(const ledger& l) const {
  const std::string name =
      fmt::format("run{:06}-{}-{}.json", l.run, node_, session_text(l.sessions.front()));
  return (folder_ / name).string();
}

std::vector<run_record> ledger_place::take_crashed() const {
  std::vector<run_record> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(live) || !is_of_node(name, node_)) continue;
    const auto record = record_in(at->path());
    if (!record) continue;
    std::error_code ignored; // the next start reports it again
    if (record->ended != 0) {
      std::filesystem::remove(at->path(), ignored);
      continue;
    }
    const std::string file = at->path().string();
    std::filesystem::rename(file, file.substr(0, file.size() - live.size()) + ".crashed", ignored);
    found.push_back(*record);
  }
  std::ranges::sort(found, {}, [](const run_record& r) { return std::pair(r.started, r.run); });
  return found;
}

std::optional<std::uint32_t> ledger_place::highest_run() const {
  std::optional<std::uint32_t> highest = noted_run();
  for_each_run([&](std::uint32_t run, const std::filesystem::path& /*file*/) {
    highest = std::max(highest.value_or(0), run);
  });
  return highest;
}

std::optional<std::uint32_t> ledger_place::noted_run() const {
  constexpr std::uint64_t longest = 16; // a number and the end of the line
  const std::string text = read_input(node_file(last_run), longest).text;
  std::uint32_t run = 0;
  const auto [behind, wrong] = std::from_chars(text.data(), text.data() + text.size(), run);
  const std::string_view rest(behind, text.data() + text.size());
  const bool is_a_number = wrong == std::errc{} && (rest.empty() || rest == "\n");
  return is_a_number ? std::optional(run) : std::nullopt;
}

/// A ledger may have a higher number than the note, which may be damaged or missing.
std::error_code ledger_place::note_run(std::uint32_t number) const {
  const std::uint32_t highest = std::max(number, highest_run().value_or(0));
  if (noted_run() >= highest) return {}; // no value compares less than any number
  const std::string text = fmt::format("{}\n", highest);
  const std::string file = node_file(last_run);
  return write_anew(file, file + ".new", std::as_bytes(std::span(text)));
}

bool ledger_place::has_run(std::uint32_t number) const {
  bool found = false;
  for_each_run([&](std::uint32_t run, const std::filesystem::path& /*file*/) {
    found = found || run == number;
  });
  return found;
}

std::optional<ledger> ledger_place::latest() const {
  std::filesystem::path latest;
  std::filesystem::file_time_type written;
  for_each_run([&](std::uint32_t /*run*/, const std::filesystem::path& file) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(file, error);
    if (error || file.extension() != ".json" || (!latest.empty() && time < written)) return;
    latest = file;
    written = time;
  });
  try {
    return read_ledger(latest);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void ledger_place::for_each_run(
    const std::function<void(std::uint32_t, const std::filesystem::path&)>& tell) const {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!is_of_node(name, node_)) continue;
    std::uint32_t run = 0;
    const auto [behind, wrong] =
        std::from_chars(&name[run_word.size()], &name[name.find('-')], run);
    if (wrong == std::errc{} && *behind == '-') tell(run, at->path());
  }
}

} // namespace l3
