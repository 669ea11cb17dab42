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
#include "transport/system/missing_name.hpp"
#include "transport/system/nearest_folder.hpp"

namespace l3 {
namespace {

constexpr std::string_view live = ".live";
constexpr std::string_view run_word = "run";

/// "run", six digits or more, "-NODE-", and behind it the session.
bool is_of_node(std::string_view name, std::uint32_t node) {
  const auto dash = name.find('-');
  return name.starts_with(run_word) && dash != name.npos &&
         name.substr(dash).starts_with(fmt::format("-{}-", node));
}

/// Nothing, if the file is no record, or if the daemon that writes it lives.
std::optional<run_record> record_without_daemon(const std::filesystem::path& file) {
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(file))) return std::nullopt;
  const input_file in = open_input(file);
  if (!in.refusal.empty()) return std::nullopt;
  run_record r;
  // Read before the lock is tried: a record that a start has just made is empty until it has the
  // lock, and must not find it taken.
  if (read_all(in.file.get(), 0, std::as_writable_bytes(std::span(&r, 1)))) return std::nullopt;
  if (r.magic != run_record::right_magic || flock(in.file.get(), LOCK_EX | LOCK_NB) != 0)
    return std::nullopt;
  return r;
}

/// A file that no daemon wrote. Of one that this user may not read that is not known.
bool is_of_another(const std::string& name) {
  const input_file in = open_input(name);
  if (!in.refusal.empty()) return false;
  constexpr std::size_t looked_at = 64;
  std::string begin(looked_at, '\0');
  std::error_code unknown;
  begin.resize(read_up_to(in.file.get(), 0, std::as_writable_bytes(std::span(begin)), unknown));
  return !unknown && !begin.empty() && !is_ledger_of("koto-l3d", begin);
}

bool is_too_long(const std::string& name) {
  struct stat is {};
  return ::lstat(name.c_str(), &is) != 0 && errno == ENAMETOOLONG;
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

/// The lock's file stays: who removed it could take away the name of a lock that another has.
void ledger_place::take() {
  const std::string file = lock_file();
  constexpr int flags = O_NOFOLLOW | O_NONBLOCK;
  lock_ = create_file(file, O_RDWR | flags);
  // A daemon of another user may have made it. Whoever may read a file may lock it.
  if (!lock_) lock_ = file_descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!lock_)
    throw std::runtime_error(
        fmt::format("run.ledger: cannot lock {}: {}", file, last_error().message()));
  // A file system without locks is no reason to take no data.
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw std::runtime_error(taken_text());
}

void ledger_place::keep() {
  const std::string file = lock_file();
  if (!is_missing_name(file)) return;
  file_descriptor made = create_file(file, O_RDWR | O_EXCL | O_NOFOLLOW | O_NONBLOCK);
  if (made && flock(made.get(), LOCK_EX | LOCK_NB) == 0) lock_ = std::move(made);
}

std::string ledger_place::wrong() const {
  if (none()) return {};
  std::string name = setting_;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  std::error_code error;
  std::string why = why_no_folder_of(name);
  if (!why.empty()) return cannot_write(why);
  if (is_folder())
    why = why_no_folder(name);
  else if (std::filesystem::is_directory(name, error))
    why = "it is a folder; with \"/\" at its end, each run has a file of its own there";
  else if (is_name_of_stored_data(std::filesystem::path(name).filename().string()))
    why = "a file of a store or a spool may get this name: choose another, as ledger.json";
  else if (!is_for_a_file(name))
    why = "it is no regular file";
  else if (is_of_another(name))
    why = "it is there already, and no daemon wrote it: it stays as it is; choose another name, or "
          "take it away";
  else if (is_too_long(name + ".crashed")) // the longest of the names beside it
    why = std::make_error_code(std::errc::filename_too_long).message();
  return why.empty() ? why : cannot_write(why);
}

std::string ledger_place::cannot_write(std::string_view why) const {
  return fmt::format("run.ledger: cannot write {}: {}", setting_, why);
}

void ledger_place::prepare() {
  const auto fail = [&](const std::error_code& why) {
    throw std::runtime_error(cannot_write(why.message()));
  };
  if (const std::string in_the_way = wrong(); !in_the_way.empty())
    throw std::runtime_error(in_the_way);
  if (is_folder()) {
    std::error_code error;
    std::filesystem::create_directory(setting_, error);
    if (error) fail(error);
  }
  const std::string trial =
      is_folder() ? fmt::format("{}node{}.trial", setting_, node_) : setting_ + ".trial";
  std::remove(trial.c_str()); // a link of that name goes, and what it leads to stays
  const file_descriptor made = create_file(trial, O_WRONLY | O_EXCL | O_NOFOLLOW);
  if (!made) fail(last_error());
  std::remove(trial.c_str());
  take();
}

std::string ledger_place::file_of(const ledger& l) const {
  if (!is_folder()) return setting_;
  return fmt::format("{}run{:06}-{}-{}.json", setting_, l.run, node_,
                     session_text(l.sessions.front()));
}

std::string ledger_place::hot_inputs() const {
  return fmt::format("{}node{}.hot-inputs.csv", setting_, node_);
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
    std::error_code ignored; // told again by the next start
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
  for_each_run([&](std::uint32_t run) { highest = std::max(highest.value_or(0), run); });
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

std::string ledger_place::wrong_with_note() const {
  std::error_code none;
  if (!is_folder() || noted_run() || !std::filesystem::is_regular_file(last_run_file(), none))
    return {};
  return last_run_file() + " is damaged: it should be one line, the highest number of a run";
}

/// A ledger may have a higher number than the note: an older daemon wrote no note, one may be
/// damaged or removed.
std::error_code ledger_place::note_run(std::uint32_t number) const {
  const std::uint32_t highest = std::max(number, highest_run().value_or(0));
  if (!is_folder() || noted_run() >= highest) return {}; // nothing is less than any number
  const std::string text = fmt::format("{}\n", highest);
  return write_anew(last_run_file(), last_run_file() + ".new", std::as_bytes(std::span(text)));
}

bool ledger_place::has_run(std::uint32_t number) const {
  bool found = false;
  for_each_run([&](std::uint32_t run) { found = found || run == number; });
  return found;
}

void ledger_place::for_each_run(const std::function<void(std::uint32_t)>& tell) const {
  if (!is_folder()) return;
  std::error_code error;
  for (std::filesystem::directory_iterator at(setting_, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!is_of_node(name, node_)) continue;
    std::uint32_t run = 0;
    const auto [behind, wrong] =
        std::from_chars(&name[run_word.size()], &name[name.find('-')], run);
    if (wrong == std::errc{} && *behind == '-') tell(run);
  }
}

void ledger_place::drop_record(const std::string& ledger_file) const {
  if (is_folder()) std::remove(record_beside(ledger_file).c_str());
}

} // namespace l3
