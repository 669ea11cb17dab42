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

/// Whether a name is "run", six digits or more, "-NODE-" and a session.
bool is_of_node(std::string_view name, std::uint32_t node) {
  const auto dash = name.find('-');
  return name.starts_with(run_word) && dash != name.npos &&
         name.substr(dash).starts_with(fmt::format("-{}-", node));
}

/// Returns nothing if the file is no record, or if the daemon that writes it is alive.
std::optional<run_record> record_without_daemon(const std::filesystem::path& file) {
  const input_file in = open_input(file);
  if (!in.refusal.empty()) return std::nullopt;
  run_record r;
  // Read before trying the lock: a start that has just created its record has not locked it yet,
  // and must not find it locked. Such a record is still empty.
  if (read_all(in.file.get(), 0, std::as_writable_bytes(std::span(&r, 1)))) return std::nullopt;
  if (r.magic != run_record::right_magic) return std::nullopt;
  if (flock(in.file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return std::nullopt;
  return r;
}

/// Whether something other than a daemon wrote the file. False if this user may not read it.
bool is_of_another(const std::string& name) {
  const input_file in = open_input(name);
  if (!in.refusal.empty()) return false;
  constexpr std::size_t looked_at = 64;
  std::string begin(looked_at, '\0');
  std::error_code unknown;
  begin.resize(read_up_to(in.file.get(), 0, std::as_writable_bytes(std::span(begin)), unknown));
  return !unknown && !begin.empty() && !is_ledger_of("koto-l3d", begin);
}

} // namespace

std::string ledger_place::lock_file() const {
  return is_folder() ? fmt::format("{}node{}.lock", setting_, node_) : setting_ + ".lock";
}

std::string ledger_place::taken_text() const {
  if (!is_folder())
    return fmt::format("run.ledger: {} is in use by another daemon: give each its own run.ledger",
                       setting_);
  return fmt::format("run.ledger: node {} in {} is in use by another daemon: give each its own "
                     "run.node, or its own run.ledger",
                     node_, setting_);
}

/// The lock's file is never removed: a removal could take away the name of a lock that another
/// process holds.
void ledger_place::take() {
  const std::string file = lock_file();
  lock_ = create_file(file, O_RDWR);
  if (!lock_) throw std::runtime_error(cannot_write(last_error().message()));
  // A daemon also starts on a file system without locks.
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw std::runtime_error(taken_text());
}

std::string ledger_place::wrong() const {
  std::error_code error;
  if (is_folder()) return {};
  if (std::filesystem::is_directory(setting_, error))
    return "it is a folder; with \"/\" at the end of the name, each run gets its own file there";
  if (is_of_another(setting_))
    return "the file exists and no daemon wrote it, so it is not overwritten: choose another name, "
           "or remove it";
  return {};
}

std::string ledger_place::cannot_write(std::string_view why) const {
  return fmt::format("run.ledger: cannot write {}: {}", setting_, why);
}

void ledger_place::prepare() {
  if (const std::string in_the_way = wrong(); !in_the_way.empty())
    throw std::runtime_error(cannot_write(in_the_way));
  if (is_folder()) {
    const std::string why = why_not_made(setting_, is_a_service());
    if (!why.empty()) throw std::runtime_error(cannot_write(why));
  }
  take();
}

std::string ledger_place::why_not_here() const {
  const std::filesystem::path name =
      is_folder() ? setting_.substr(0, setting_.size() - 1) : setting_;
  std::string why = wrong();
  if (why.empty()) why = why_no_folder_of(name);
  if (why.empty()) why = why_not_writable(is_folder() ? name : "." / name.parent_path());
  return why.empty() ? why : cannot_write(why);
}

std::string ledger_place::file_of(const ledger& l) const {
  if (!is_folder()) return setting_;
  return fmt::format("{}run{:06}-{}-{}.json", setting_, l.run, node_,
                     session_text(l.sessions.front()));
}

std::vector<run_record> ledger_place::take_crashed() const {
  std::vector<run_record> found;
  if (!is_folder()) return found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(setting_, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(live) || !is_of_node(name, node_)) continue;
    const auto record = record_without_daemon(at->path());
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

std::string ledger_place::last_run_file() const {
  return fmt::format("{}node{}.last-run", setting_, node_);
}

std::optional<std::uint32_t> ledger_place::noted_run() const {
  if (!is_folder()) return std::nullopt;
  constexpr std::uint64_t longest = 16; // a number and the end of the line
  const std::string text = read_input(last_run_file(), longest).text;
  std::uint32_t run = 0;
  const auto [behind, wrong] = std::from_chars(text.data(), text.data() + text.size(), run);
  const std::string_view rest(behind, text.data() + text.size());
  const bool is_a_number = wrong == std::errc{} && (rest.empty() || rest == "\n");
  return is_a_number ? std::optional(run) : std::nullopt;
}

/// A ledger may have a higher number than the note, which may be damaged or missing.
std::error_code ledger_place::note_run(std::uint32_t number) const {
  const std::uint32_t highest = std::max(number, highest_run().value_or(0));
  if (!is_folder() || noted_run() >= highest) return {}; // no value compares less than any number
  const std::string text = fmt::format("{}\n", highest);
  return write_anew(last_run_file(), last_run_file() + ".new", std::as_bytes(std::span(text)));
}

bool ledger_place::has_run(std::uint32_t number) const {
  bool found = false;
  for_each_run([&](std::uint32_t run, const std::filesystem::path& /*file*/) {
    found = found || run == number;
  });
  return found;
}

std::optional<ledger> ledger_place::latest() const {
  std::filesystem::path latest = is_folder() ? "" : setting_;
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
  if (!is_folder()) return;
  std::error_code error;
  for (std::filesystem::directory_iterator at(setting_, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!is_of_node(name, node_)) continue;
    std::uint32_t run = 0;
    const auto [behind, wrong] =
        std::from_chars(&name[run_word.size()], &name[name.find('-')], run);
    if (wrong == std::errc{} && *behind == '-') tell(run, at->path());
  }
}

void ledger_place::drop_record(const std::string& ledger_file) const {
  if (is_folder()) std::remove(record_beside(ledger_file).c_str());
}

} // namespace l3
