// SPDX-License-Identifier: Apache-2.0
#include "transport/store/block_file.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include <fcntl.h>

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
  return folder / store_file_name(number, kind);
}

std::string store_file_name(std::uint64_t number, store_kind kind) {
  std::string digits = std::to_string(number);
  if (digits.size() < fewest_digits) digits.insert(0, fewest_digits - digits.size(), '0');
  return prefix_of(kind) + digits + ".kl3";
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

std::error_code block_file::open(const held_folder& folder, std::uint64_t number, store_kind kind,
                                 flush_function flush_name) {
  block_file made;
  made.name_ = store_file_name(number, kind);
  std::error_code error;
  file_descriptor file = folder.create(made.name_, error);
  if (error) return error;
  const auto seen = look_at(file.get());
  if (!seen) return last_error();
  made.file_ = std::make_shared<const file_descriptor>(std::move(file));
  made.who_ = seen->who;
  made.number_ = number;
  store_file_header head;
  head.number = number;
  error = made.append(std::as_bytes(std::span(&head, 1)));
  if (!error && flush_name != nullptr && flush_name(folder.get()) != 0) error = last_error();
  if (error) {
    (void)folder.remove(made.name_);
  } else {
    *this = std::move(made);
  }
  return error;
}

/// The file is open for appending: bytes always go to its end, so its length tells if it was cut.
std::error_code block_file::append(std::span<const std::byte> block) {
  if (const auto error = append_all(file_->get(), block)) {
    if (error != std::errc::no_space_on_device) sound_ = false;
    cut(end_);
    return error;
  }
  end_ += block.size();
  return {};
}

std::error_code block_file::flush(flush_function how) {
  if (how(file_->get()) == 0) return {};
  sound_ = false;
  return last_error();
}

std::error_code block_file::check(const held_folder& folder) const {
  if (const auto error = folder.check()) return error;
  const auto seen = folder.look(name_);
  if (!seen) {
    const auto error = last_error();
    return error == std::errc::no_such_file_or_directory ? name_fault::file_gone : error;
  }
  if (seen->who != who_) return name_fault::file_taken;
  return seen->bytes == end_ && !tampered_ ? std::error_code() : name_fault::file_changed;
}

/// A file that another program has cut is not changed any more: it could get the right length, with
/// the wrong bytes.
void block_file::cut(std::uint64_t end) {
  const auto seen = look_at(file_->get());
  if (!seen || seen->bytes < end_) tampered_ = true;
  end_ = end;
  if (tampered_) {
    sound_ = false;
  } else if (seen->bytes > end && ::ftruncate(file_->get(), static_cast<off_t>(end)) != 0) {
    sound_ = false;
  }
}

bool block_file::is_full_for(std::uint64_t block_bytes, std::uint64_t limit) const {
  return end_ > sizeof(store_file_header) && end_ + block_bytes > limit;
}

std::error_code set_aside(int from, std::uint64_t offset, std::uint64_t bytes, int folder,
                          const std::string& name) {
  (void)::unlinkat(folder, name.c_str(), 0);
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const file_descriptor copy(::openat(folder, name.c_str(), flags, 0644));
  if (!copy) return last_error();
  std::error_code error;
  std::vector<std::byte> part;
  for (std::uint64_t at = next_data(from, offset, offset + bytes); !error && at < offset + bytes;
       at = next_data(from, at + part.size(), offset + bytes)) {
    part.resize(std::min(copy_step, offset + bytes - at));
    error = read_all(from, at, part);
    if (!error) error = write_all(copy.get(), at - offset, part);
  }
  if (!error && ::ftruncate(copy.get(), static_cast<off_t>(bytes)) != 0) error = last_error();
  if (!error && ::fsync(copy.get()) != 0) error = last_error();
  if (error) (void)::unlinkat(folder, name.c_str(), 0);
  return error;
}

} // namespace l3
