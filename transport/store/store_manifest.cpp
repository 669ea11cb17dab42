// SPDX-License-Identifier: Apache-2.0
#include "transport/store/store_manifest.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/store_manifest.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

constexpr std::size_t entries_at_a_time = 1024;

store_manifest_entry entry_of(const listed_blocks& listed) {
  store_manifest_entry e;
  e.file = listed.file;
  e.session = listed.session;
  e.first = listed.blocks.first;
  e.last = listed.blocks.last;
  e.blocks = listed.blocks.blocks;
  e.events = listed.blocks.events;
  e.bytes = listed.blocks.bytes;
  e.repeated = listed.blocks.repeated;
  e.crc = header_crc(e);
  return e;
}

bool is_good(const store_manifest_entry& e) {
  const store_manifest_entry ours;
  return e.magic == ours.magic && e.version == ours.version && e.crc == header_crc(e) &&
         (e.blocks != 0 || e.events != 0 || e.file != 0) && e.first <= e.last;
}

std::error_code write_entries(int file, std::uint64_t& end,
                              const std::deque<listed_blocks>& entries) {
  std::vector<store_manifest_entry> some;
  for (auto at = entries.begin(); at != entries.end();) {
    some.clear();
    for (; at != entries.end() && some.size() < entries_at_a_time; ++at)
      some.push_back(entry_of(*at));
    const auto bytes = std::as_bytes(std::span(some));
    if (const auto error = write_all(file, end, bytes)) return error;
    end += bytes.size();
  }
  return {};
}

/// Of no file, if there is none.
std::vector<listed_blocks> entries_in(const file_descriptor& file, std::size_t most,
                                      std::error_code& error) {
  std::vector<listed_blocks> found;
  if (error == std::errc::no_such_file_or_directory) error.clear();
  if (!file) return found;
  const auto seen = look_at(file.get());
  if (!seen) {
    error = last_error();
    return found;
  }
  std::uint64_t left = std::min<std::uint64_t>(seen->bytes / sizeof(store_manifest_entry), most);
  std::vector<store_manifest_entry> some;
  for (std::uint64_t at = 0; left != 0; left -= some.size()) {
    some.resize(std::min<std::uint64_t>(left, entries_at_a_time));
    const auto bytes = std::as_writable_bytes(std::span(some));
    if ((error = read_all(file.get(), at, bytes))) return found;
    at += bytes.size();
    for (const store_manifest_entry& e : some)
      if (is_good(e))
        found.push_back(
            {e.file, e.session, {e.first, e.last, e.blocks, e.events, e.bytes, e.repeated}});
  }
  std::ranges::sort(found, {}, [](const listed_blocks& l) { return std::pair(l.file, l.session); });
  return found;
}

} // namespace

std::vector<listed_blocks> store_manifest::read(const held_folder& folder, std::size_t most,
                                                std::error_code& error) {
  return entries_in(folder.open(file_name, O_RDONLY, error), most, error);
}

std::vector<listed_blocks> store_manifest::read(const std::filesystem::path& folder,
                                                std::size_t most, std::error_code& error) {
  file_descriptor file(::open((folder / file_name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) error = last_error();
  const auto seen = file ? look_at(file.get()) : std::nullopt;
  if (file && (!seen || !seen->is_file)) {
    error = seen ? make_error_code(name_fault::not_a_file) : last_error();
    file = {};
  }
  return entries_in(file, most, error);
}

std::error_code store_manifest::write(const held_folder& folder,
                                      std::initializer_list<const std::deque<listed_blocks>*> lists,
                                      bool sync) {
  const std::string fresh = std::string(file_name) + ".new";
  (void)folder.remove(fresh);
  std::error_code error;
  file_descriptor file = folder.create(fresh, error);
  if (error) return error;
  // Entries have their places: nothing may be put behind the end instead.
  (void)::fcntl(file.get(), F_SETFL, 0);
  std::uint64_t end = 0;
  for (const auto* list : lists)
    if (!error) error = write_entries(file.get(), end, *list);
  if (!error && sync && ::fdatasync(file.get()) != 0) error = last_error();
  if (!error && ::renameat(folder.get(), fresh.c_str(), folder.get(), file_name) != 0)
    error = last_error();
  if (error) {
    (void)folder.remove(fresh);
    return error;
  }
  file_ = std::move(file);
  bytes_ = end;
  return sync && ::fsync(folder.get()) != 0 ? last_error() : std::error_code();
}

std::error_code store_manifest::put(std::size_t place, const listed_blocks& entry) {
  const store_manifest_entry e = entry_of(entry);
  // Behind a cut, the entry would give it its right length again.
  const auto seen = look_at(file_.get());
  if (!seen) return last_error();
  if (seen->bytes != bytes_) return name_fault::file_changed;
  const auto error = write_all(file_.get(), place * sizeof e, std::as_bytes(std::span(&e, 1)));
  if (!error) bytes_ = std::max<std::uint64_t>(bytes_, (place + 1) * sizeof e);
  return error;
}

std::error_code store_manifest::flush() const {
  return ::fdatasync(file_.get()) == 0 ? std::error_code() : last_error();
}

bool store_manifest::is_in_place(const held_folder& folder) const {
  const auto ours = look_at(file_.get());
  std::error_code error;
  const auto seen = folder.look(file_name, error);
  return error || (ours && seen && seen->who == ours->who && seen->bytes == bytes_);
}

} // namespace l3
