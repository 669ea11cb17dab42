// SPDX-License-Identifier: Apache-2.0
#include "tools/pack/byte_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

constexpr std::size_t buffer_bytes = 4 << 20;

[[noreturn]] void fail_with(const char* what, const std::string& name, int error) {
  throw std::runtime_error(std::string(what) + name + ": " +
                           std::generic_category().message(error));
}

struct stat status_of(int descriptor) {
  struct stat s {};
  ::fstat(descriptor, &s);
  return s;
}

void refuse_input(const std::string& name, const struct stat& output, const byte_input& in) {
  const auto theirs = status_of(in.descriptor());
  if (output.st_dev == theirs.st_dev && output.st_ino == theirs.st_ino)
    throw std::invalid_argument(name + " is the input");
}

} // namespace

byte_input::byte_input(std::string name) : name_(std::move(name)), buffer_(buffer_bytes) {
  const bool standard = name_ == "-";
  if (standard) name_ = "standard input";
  file_ = file_descriptor(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                   : ::open(name_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_) fail_with("cannot read ", name_, errno);
  if (S_ISDIR(status_of(file_.get()).st_mode)) fail_with("cannot read ", name_, EISDIR);
}

std::optional<std::uint64_t> byte_input::size() const {
  const auto s = status_of(file_.get());
  return S_ISREG(s.st_mode) ? std::optional(static_cast<std::uint64_t>(s.st_size)) : std::nullopt;
}

std::span<const std::byte> byte_input::peek(std::size_t wanted) {
  if (end_ - begin_ < wanted) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (buffer_.size() < wanted) buffer_.resize(wanted);
    while (end_ < buffer_.size()) {
      const auto n = ::read(file_.get(), buffer_.data() + end_, buffer_.size() - end_);
      if (n == 0) break;
      if (n < 0) {
        if (errno == EINTR) continue;
        fail_with("cannot read ", name_, errno);
      }
      end_ += static_cast<std::size_t>(n);
      read_ += static_cast<std::uint64_t>(n);
    }
  }
  return std::span(buffer_).subspan(begin_, end_ - begin_);
}

byte_output::byte_output(std::string name, const byte_input& in)
    : name_(std::move(name)), buffer_(buffer_bytes) {
  struct stat there {};
  const bool standard = name_ == "-";
  const bool exists = !standard && ::stat(name_.c_str(), &there) == 0;
  if (!standard && (!exists || S_ISREG(there.st_mode))) {
    if (exists) refuse_input(name_, there, in);
    if (exists && ::access(name_.c_str(), W_OK) != 0) fail();
    new_.emplace(name_);
    file_ = create_file(new_->path(), O_WRONLY | O_TRUNC);
    if (!file_) fail_with("cannot write ", new_->path().string(), errno);
    if (exists) (void)!::fchmod(file_.get(), there.st_mode);
    return;
  }
  if (standard) name_ = "standard output";
  file_ = file_descriptor(standard ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                   : ::open(name_.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file_) fail();
  if (const auto s = status_of(file_.get()); S_ISREG(s.st_mode)) refuse_input(name_, s, in);
}

void byte_output::fail() const { fail_with("cannot write ", name_, errno); }

std::byte* byte_output::room(std::size_t bytes) {
  if (buffer_.size() - used_ < bytes) flush();
  if (buffer_.size() < bytes) buffer_.resize(bytes);
  return buffer_.data() + used_;
}

void byte_output::flush() {
  if (const auto error = append_all(file_.get(), std::span(buffer_).first(used_)))
    fail_with("cannot write ", name_, error.value());
  written_ += used_;
  used_ = 0;
}

void byte_output::close() {
  flush();
  if (new_) new_->finish();
}

} // namespace l3
