// SPDX-License-Identifier: Apache-2.0
#include "transport/store/held_folder.hpp"

#include <cstdio>
#include <stdexcept>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

constexpr mode_t folder_mode = 0755;
constexpr mode_t file_mode = 0644;

class name_faults final : public std::error_category {
public:
  [[nodiscard]] const char* name() const noexcept override { return "name"; }
  [[nodiscard]] std::string message(int fault) const override {
    switch (static_cast<name_fault>(fault)) {
    case name_fault::not_a_file: return "a link, a pipe, a device or a folder, and no file";
    case name_fault::folder_gone: return "the folder was removed or moved away";
    case name_fault::folder_taken: return "something else has taken the folder's name";
    case name_fault::file_gone: return "the file was removed or moved away";
    case name_fault::file_taken: return "something else has taken the file's name";
    case name_fault::file_changed: return "another program has cut the file or written to it";
    case name_fault::file_not_cut: return "the disk did not let it be cut to its last whole block";
    }
    return "unknown";
  }
};

file_look look_of(const struct stat& s) {
  constexpr std::int64_t second = 1'000'000'000;
  return {{s.st_dev, s.st_ino},
          static_cast<std::uint64_t>(s.st_size),
          s.st_mtim.tv_sec * second + s.st_mtim.tv_nsec,
          S_ISREG(s.st_mode),
          s.st_ctim.tv_sec * second + s.st_ctim.tv_nsec};
}

/// Moves what it can; it is never moved over a file.
void move_all(int from, int to) {
  const int copy = ::openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = copy < 0 ? nullptr : ::fdopendir(copy);
  if (entries == nullptr) {
    if (copy >= 0) ::close(copy);
    return;
  }
  std::vector<std::string> names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
  while (const dirent* entry = ::readdir(entries)) names.emplace_back(entry->d_name);
  ::closedir(entries);
  for (const std::string& name : names)
    if (name != "." && name != "..")
      (void)::renameat2(from, name.c_str(), to, name.c_str(), RENAME_NOREPLACE);
}

bool is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

} // namespace

std::error_code make_error_code(name_fault f) {
  static const name_faults category;
  return {static_cast<int>(f), category};
}

bool is_name_fault(const std::error_code& error) {
  return error.category() == make_error_code(name_fault{}).category();
}

std::optional<file_look> look_at(int file) {
  struct stat s {};
  if (ask_again([&] { return ::fstat(file, &s); }) != 0) return std::nullopt;
  return look_of(s);
}

std::optional<file_look> look_at(const std::filesystem::path& name) {
  struct stat s {};
  if (ask_again([&] { return ::lstat(name.c_str(), &s); }) != 0) return std::nullopt;
  return look_of(s);
}

std::error_code flush_folder(const std::filesystem::path& folder) {
  const auto path = folder.empty() ? std::filesystem::path(".") : folder;
  const file_descriptor open(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return open && ::fsync(open.get()) == 0 ? std::error_code() : last_error();
}

held_folder::held_folder(std::filesystem::path path, std::string_view program)
    : path_(std::move(path)), program_(program) {
  const auto error = take();
  if (!error) return;
  if (error == std::errc::resource_unavailable_try_again)
    throw std::runtime_error(path_.string() + " is in use by another " + std::string(program_) +
                             ": give each its own");
  throw std::runtime_error("cannot " + std::string(folder_ ? "write to" : "open") + " the folder " +
                           path_.string() + ": " + error.message());
}

std::error_code held_folder::take() {
  file_descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return last_error();
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return last_error();
  const auto seen = look_at(folder.get());
  if (!seen) return last_error();
  const bool writable = ::faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) == 0;
  const auto error = last_error();
  folder_ = std::move(folder);
  who_ = seen->who;
  return writable ? std::error_code() : error;
}

std::error_code held_folder::check() const {
  struct stat s {};
  if (ask_again([&] { return ::stat(path_.c_str(), &s); }) != 0) {
    if (errno == ELOOP) return name_fault::folder_taken;
    return is_missing(errno) ? make_error_code(name_fault::folder_gone) : last_error();
  }
  return look_of(s).who == who_ ? std::error_code() : name_fault::folder_taken;
}

held_folder held_folder::made_anew(std::error_code& error) const {
  held_folder made;
  made.path_ = path_;
  made.program_ = program_;
  if (::mkdir(path_.c_str(), folder_mode) == 0) {
    error = made.take();
    if (!error) error = flush_folder(path_.parent_path());
    if (error) { // or it would count as another's from now on
      (void)::rmdir(path_.c_str());
    } else {
      move_all(get(), made.get());
    }
  } else {
    error = errno == EEXIST ? make_error_code(name_fault::folder_taken) : last_error();
  }
  return made;
}

std::optional<file_look> held_folder::look(const std::string& name, std::error_code& error) const {
  struct stat s {};
  error.clear();
  const auto look = [&] { return ::fstatat(get(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW); };
  if (ask_again(look) == 0) return look_of(s);
  if (!is_missing(errno)) error = last_error();
  return std::nullopt;
}

/// O_NONBLOCK: nothing waits for the other end of a pipe.
file_descriptor held_folder::open(const std::string& name, int flags,
                                  std::error_code& error) const {
  file_descriptor file(ask_again(
      [&] { return ::openat(get(), name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); }));
  if (!file) {
    // ELOOP is a link; ENXIO a pipe or a device that nothing reads; EISDIR a folder.
    const bool other = errno == ELOOP || errno == ENXIO || errno == EISDIR;
    error = other ? make_error_code(name_fault::not_a_file) : last_error();
    return file;
  }
  const auto seen = look_at(file.get());
  error = !seen ? last_error() : seen->is_file ? std::error_code() : name_fault::not_a_file;
  return error ? file_descriptor() : std::move(file);
}

file_descriptor held_folder::create(const std::string& name, std::error_code& error) const {
  constexpr int flags = O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  file_descriptor file(::openat(get(), name.c_str(), flags, file_mode));
  error = file ? std::error_code() : last_error();
  return file;
}

int held_folder::remove(const std::string& name) const {
  return ::unlinkat(get(), name.c_str(), 0);
}

} // namespace l3
