// SPDX-License-Identifier: Apache-2.0
#include "transport/store/expected_files.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "transport/store/sidecar.hpp"
#include "transport/store/store_manifest.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {

namespace fs = std::filesystem;

namespace {

/// Of each complete file. Empty: it is as its sidecar says, as far as there is one to look at.
std::string fault_of(const fs::path& file, const file_as_read* read) {
  const sidecar_look beside = read_sidecar(file);
  const auto& said = beside.said;
  std::string fault = said ? length_fault(file, *said) : beside.fault;
  if (read == nullptr || !read->name.complete) return fault;
  if (!fault.empty()) {
    const bool has_all = said && !read->damaged && said->events == read->events;
    return has_all ? fault + fmt::format("; all its {} events are there", read->events) : fault;
  }
  if (read->torn) return read->name.text() + " is complete by its name, and ends within a block";
  if (read->damaged || !said) return {};
  if (said->events != read->events)
    return fmt::format("{} holds {} events; its sidecar says {}", read->name.text(), read->events,
                       said->events);
  if (!said->crc || *said->crc == read->crc) return {};
  return fmt::format("{} has the CRC-32C {:08x}; its sidecar says {:08x}", read->name.text(),
                     read->crc, *said->crc);
}

using numbers = std::set<std::uint64_t>;

/// More than a receiver writes: what is lost, what is there, and the files that are written.
constexpr std::size_t most_entries = std::size_t{1} << 19;

numbers numbers_in(const fs::path& folder) {
  const auto all = store_file_numbers(folder);
  return {all.begin(), all.end()};
}

numbers numbers_of(const std::map<std::uint64_t, session_tallies>& files) {
  numbers all;
  for (const auto& [file, blocks] : files) all.insert(all.end(), file);
  return all;
}

numbers without(numbers some, const numbers& others) {
  std::erase_if(some, [&](std::uint64_t n) { return others.contains(n); });
  return some;
}

/// The complete files of which a sidecar lies in the folder.
std::vector<fs::path> files_of_sidecars_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (is_sidecar_name(entry.path().filename().string()))
      files.push_back(fs::path(entry.path()).replace_extension(".kl3"));
  std::ranges::sort(files);
  return files;
}

} // namespace

expected_files::expected_files(fs::path folder)
    : folder_(std::move(folder)), listed_(listed_now(manifest_fault_)) {}

expected_files::tallies_by_file expected_files::listed_now(std::string& fault) const {
  std::error_code error;
  tallies_by_file files;
  for (const listed_blocks& l : store_manifest::read(folder_, most_entries, error))
    if (l.blocks.blocks != 0) files[l.file][l.session].add(l.blocks);
  if (error) fault = std::string(store_manifest::file_name) + " " + cannot_be_read(error);
  return files;
}

void expected_files::note(std::uint64_t file, const block_header& block) {
  const auto listed = listed_.find(file);
  if (listed != listed_.end() && listed->second.contains(block.session))
    found_[file][block.session].add(block);
}

std::vector<std::string> expected_files::faults(std::span<const file_as_read> read) const {
  std::vector<std::string> all;
  numbers told;
  for (const file_as_read& r : read)
    if (r.damaged) told.insert(r.name.number); // the places are
  for (const block_file_name& f : block_files_in(folder_)) {
    if (!f.complete) continue;
    // That says nothing of its blocks: the manifest still does.
    if (std::string none = missing_sidecar(folder_ / f.text()); !none.empty())
      all.push_back(std::move(none));
    const auto number = [](const file_as_read& r) { return r.name.number; };
    const auto of = std::ranges::lower_bound(read, f.number, {}, number);
    const bool is_read = of != read.end() && number(*of) == f.number;
    std::string fault = fault_of(folder_ / f.text(), is_read ? &*of : nullptr);
    if (fault.empty()) continue;
    told.insert(f.number);
    all.push_back(std::move(fault));
  }
  const auto lacking = lacking_blocks(told);
  all.insert(all.end(), lacking.begin(), lacking.end());
  const auto missing = gone();
  all.insert(all.end(), missing.begin(), missing.end());
  return all;
}

/// Of the files that are there.
std::vector<std::string> expected_files::lacking_blocks(const std::set<std::uint64_t>& told) const {
  tallies_by_file lacking;
  for (const auto& [file, listed] : listed_) {
    const auto found = found_.find(file);
    session_tallies lost = less(listed, found == found_.end() ? session_tallies() : found->second);
    if (!lost.empty() && !told.contains(file)) lacking.emplace(file, std::move(lost));
  }
  std::vector<std::string> all;
  if (lacking.empty()) return all;
  const auto there = block_files_in(folder_);
  std::string fault;
  const tallies_by_file now = listed_now(fault);
  for (const auto& [file, lost] : lacking) {
    const auto name = std::ranges::lower_bound(there, file, {}, &block_file_name::number);
    const auto still = now.find(file);
    if (name == there.end() || name->number != file || still == now.end()) continue;
    block_tally sum;
    for (const auto& [session, blocks] : lost)
      if (still->second.contains(session)) sum.add(blocks);
    if (sum.blocks != 0)
      all.push_back(fmt::format("{} lacks {} blocks with {} events that {} lists", name->text(),
                                sum.blocks, sum.events, store_manifest::file_name));
  }
  return all;
}

std::vector<std::string> expected_files::gone() const {
  std::vector<std::string> all;
  if (!manifest_fault_.empty()) all.push_back(manifest_fault_);
  for (std::string& unread : unread_files_in(folder_)) all.push_back(std::move(unread));
  const auto sidecars = files_of_sidecars_in(folder_);
  const auto number_of = [](const fs::path& file) {
    return block_file_name::read(file.filename().string())->number;
  };
  numbers absent = numbers_of(listed_);
  for (const fs::path& file : sidecars) absent.insert(number_of(file));
  absent = without(std::move(absent), numbers_in(folder_));
  // A file that gets its other name while a folder is listed may be in no listing, but once only.
  if (!absent.empty()) absent = without(std::move(absent), numbers_in(folder_));
  std::erase_if(absent, [&](std::uint64_t n) { return fs::exists(archive_mark_path(folder_, n)); });
  if (absent.empty()) return all;
  std::string fault;
  const tallies_by_file now = listed_now(fault);
  const auto is_listed = [&](std::uint64_t n) { return listed_.contains(n) && now.contains(n); };
  for (const std::uint64_t n : absent)
    if (is_listed(n)) all.push_back(store_file_name(n) + " is in the manifest, and not there");
  for (const fs::path& file : sidecars)
    if (const auto n = number_of(file); absent.contains(n) && !is_listed(n))
      all.push_back(file.filename().string() + " is not there, and its sidecar is");
  return all;
}

} // namespace l3
