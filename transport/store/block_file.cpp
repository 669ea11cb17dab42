// SPDX-License-Identifier: Apache-2.0
#include "transport/store/block_file.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <sys/file.h>

#include "transport/format/block.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

constexpr std::size_t fewest_digits = 6;
constexpr std::uint64_t copy_step = std::uint64_t{1} << 20;

std::string prefix_of(store_kind kind) { return kind == store_kind::spool ? "spool-" : "blocks-"; }

} // namespace

std::filesystem::path store_file_path(const std::filesystem::path& folder, std::uint64_t number,
                                      store_kind kind) {
  std::string digits = std::to_string(number);
  if (digits.size() < fewest_digits) digits.insert(0, fewest_digits - digits.size(), '0');
  return folder / (prefix_of(kind) + digits + ".kl3");
}

store_kind kind_of(const std::filesystem::path& folder) {
  return store_file_numbers(folder).empty() &&
                 !store_file_numbers(folder, store_kind::spool).empty()
             ? store_kind::spool
             : store_kind::store;
}

std::vector<std::uint64_t> store_file_numbers(const std::filesystem::path& folder,
                                              store_kind kind) {
  const std::string prefix = prefix_of(kind);
  std::vector<std::uint64_t> numbers;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    std::uint64_t number = 0;
    (void)std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    if (entry.path() == store_file_path(folder, number, kind)) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

file_descriptor take_folder(const std::filesystem::path& path, std::string_view program) {
  const auto fail = [&](const char* what) {
    throw std::runtime_error(what + path.string() + ": " + last_error().message());
  };
  file_descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) fail("cannot open the folder ");
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    throw std::runtime_error(path.string() + " is in use by another " + std::string(program));
  }
  if (::faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    fail("cannot write to the folder ");
  return folder;
}

std::error_code block_file::open(const std::filesystem::path& folder, std::uint64_t number,
                                 store_kind kind, flush_function flush_name) {
  const auto path = store_file_path(folder, number, kind);
  block_file made;
  made.file_ = create_file(path, O_WRONLY | O_EXCL);
  if (!made.is_open()) return last_error();
  made.number_ = number;
  store_file_header head;
  head.number = number;
  auto error = made.append(std::as_bytes(std::span(&head, 1)));
  if (!error && flush_name != nullptr) {
    const file_descriptor names(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!names || flush_name(names.get()) != 0) error = last_error();
  }
  if (error) {
    ::unlink(path.c_str());
  } else {
    *this = std::move(made);
  }
  return error;
}

std::error_code block_file::append(std::span<const std::byte> block) {
  if (const auto error = write_all(file_.get(), end_, block)) {
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

void block_file::cut(std::uint64_t end) {
  end_ = end;
  if (::ftruncate(file_.get(), static_cast<off_t>(end)) != 0) sound_ = false;
}

bool block_file::is_full_for(std::uint64_t block_bytes, std::uint64_t limit) const {
  return end_ > sizeof(store_file_header) && end_ + block_bytes > limit;
}

std::error_code set_aside(const std::filesystem::path& from, std::uint64_t offset,
                          std::uint64_t bytes, const std::filesystem::path& to) {
  const file_descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const file_descriptor copy = create_file(to, O_WRONLY | O_TRUNC);
  std::error_code error = source && copy ? std::error_code() : last_error();
  std::vector<std::byte> part;
  for (std::uint64_t at = 0; !error && at < bytes; at += part.size()) {
    part.resize(std::min(copy_step, bytes - at));
    error = read_all(source.get(), offset + at, part);
    if (!error) error = write_all(copy.get(), at, part);
  }
  if (!error && ::fsync(copy.get()) != 0) error = last_error();
  if (error && copy) ::unlink(to.c_str());
  return error;
}

} // namespace l3
