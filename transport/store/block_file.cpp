// SPDX-License-Identifier: Apache-2.0
#include "transport/store/block_file.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "transport/format/block.hpp"
#include "transport/format/spool.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

constexpr std::size_t fewest_digits = 6;
constexpr const char* extension = ".kl3";

std::string prefix_of(store_kind kind) { return kind == store_kind::spool ? "spool-" : "blocks-"; }

std::string digits(std::uint64_t number) {
  std::string text = std::to_string(number);
  if (text.size() < fewest_digits) text.insert(0, fewest_digits - text.size(), '0');
  return text;
}

/// Removes the text and the number after it from the front. Returns false if the text differs.
template <class Number>
bool take(std::string_view& from, std::string_view text, Number& number) {
  if (!from.starts_with(text)) return false;
  from.remove_prefix(text.size());
  const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), number);
  from.remove_prefix(static_cast<std::size_t>(end - from.data()));
  return error == std::errc();
}

} // namespace

store_file_header head_of_file(std::uint64_t number, store_kind kind) {
  store_file_header head;
  head.reserved[0] = kind == store_kind::store ? 1 : 0;
  head.number = number;
  return head;
}

std::filesystem::path store_file_path(const std::filesystem::path& folder, std::uint64_t number,
                                      store_kind kind) {
  return folder / store_file_name(number, kind);
}

std::string store_file_name(std::uint64_t number, store_kind kind) {
  return prefix_of(kind) + digits(number) + extension;
}

std::string complete_file_name(std::uint64_t number, const file_owner& owner) {
  std::string name = store_file_name(number);
  const std::string whose = "-run" + digits(owner.run) + "-node" + std::to_string(owner.node);
  return name.insert(name.size() - std::string(extension).size(), whose);
}

std::string sidecar_name(std::uint64_t number, const file_owner& owner) {
  return std::filesystem::path(complete_file_name(number, owner)).replace_extension(".json");
}

bool is_sidecar_name(const std::string& name) {
  const auto file = std::filesystem::path(name).replace_extension(extension);
  const auto read = block_file_name::read(file.string());
  return name.ends_with(".json") && read && read->complete;
}

store_kind kind_of(const std::filesystem::path& folder) {
  std::error_code error;
  const auto is_spool = [&] {
    return !store_file_numbers(folder, store_kind::spool).empty() ||
           std::filesystem::is_regular_file(folder / spool_releases_name, error);
  };
  return store_file_numbers(folder).empty() && is_spool() ? store_kind::spool : store_kind::store;
}

std::optional<block_file_name> block_file_name::read(const std::string& name, store_kind kind) {
  block_file_name read;
  std::string_view rest = name;
  if (!take(rest, prefix_of(kind), read.number)) return std::nullopt;
  if (read.number == 0 || read.number > highest_file_number) return std::nullopt;
  if (name == read.text(kind)) return read;
  if (kind == store_kind::spool) return std::nullopt;
  read.complete.emplace();
  const bool is_whole =
      take(rest, "-run", read.complete->run) && take(rest, "-node", read.complete->node);
  return is_whole && name == read.text(kind) ? std::optional(read) : std::nullopt;
}

std::vector<block_file_name> block_files_in(const std::filesystem::path& folder, store_kind kind) {
  std::vector<block_file_name> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (const auto name = block_file_name::read(entry.path().filename().string(), kind))
      files.push_back(*name);
  std::ranges::sort(files, {},
                    [](const block_file_name& f) { return std::tuple(f.number, !f.complete); });
  const auto have_one_number = [&](const block_file_name& a, const block_file_name& b) {
    if (a.number == b.number && a.complete && b.complete && a.complete != b.complete)
      throw std::runtime_error(folder.string() + ": " + a.text() + " and " + b.text() +
                               " have the same number: move one of them to another folder");
    return a.number == b.number;
  };
  files.erase(std::unique(files.begin(), files.end(), have_one_number), files.end());
  return files;
}

std::vector<std::uint64_t> store_file_numbers(const std::filesystem::path& folder,
                                              store_kind kind) {
  std::vector<std::uint64_t> numbers;
  for (const block_file_name& f : block_files_in(folder, kind)) numbers.push_back(f.number);
  return numbers;
}

std::filesystem::path find_store_file(const std::filesystem::path& folder,
                                      const block_file_name& listed, store_kind kind) {
  auto path = folder / listed.text(kind);
  std::error_code error;
  if (kind == store_kind::spool || std::filesystem::exists(path, error)) return path;
  if (!std::filesystem::is_directory(folder, error)) return path;
  for (const block_file_name& f : block_files_in(folder, kind))
    if (f.number == listed.number) return folder / f.text(kind);
  return store_file_path(folder, listed.number, kind);
}

std::error_code block_file::open(const held_folder& folder, std::uint64_t number, store_kind kind,
                                 flush_function flush_name) {
  const std::string name = store_file_name(number, kind);
  std::error_code error;
  block_file made;
  made.file_ = folder.create(name, error);
  if (error) return error;
  made.number_ = number;
  const store_file_header head = head_of_file(number, kind);
  error = made.append(std::as_bytes(std::span(&head, 1)));
  if (!error && flush_name != nullptr && flush_name(folder.get()) != 0) error = last_error();
  if (is_unsupported(error)) error.clear(); // the file system flushes no folders
  if (error) {
    (void)folder.remove(name);
  } else {
    *this = std::move(made);
  }
  return error;
}

/// The file is open for appending, so bytes always go to its end.
std::error_code block_file::append(std::span<const std::byte> block) {
  const auto error = append_all(file_.get(), block);
  if (error) {
    if (error != std::errc::no_space_on_device) sound_ = false;
    cut(end_);
    return error;
  }
  end_ += block.size();
  return {};
}

std::error_code block_file::flush(flush_function how) {
  if (how(file_.get()) == 0) return {};
  sound_ = false;
  return last_error();
}

std::error_code block_file::check() const {
  struct stat seen {};
  if (ask_again([&] { return ::fstat(file_.get(), &seen); }) != 0) return last_error();
  return seen.st_nlink != 0 ? std::error_code()
                            : std::make_error_code(std::errc::no_such_file_or_directory);
}

void block_file::cut(std::uint64_t end) {
  end_ = end;
  if (::ftruncate(file_.get(), static_cast<off_t>(end)) != 0) sound_ = false;
}

bool block_file::is_full_for(std::uint64_t block_bytes, std::uint64_t limit) const {
  return end_ > sizeof(store_file_header) && end_ + block_bytes > limit;
}

} // namespace l3
