// SPDX-License-Identifier: Apache-2.0
#include "transport/output/lane_tokens.hpp"

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/spool.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

constexpr const char* file_name = lane_tokens::file_name;
constexpr const char* new_name = "tokens.kl3t.new";
constexpr mode_t mode = 0600;

bool is_good(const spool_token& e) {
  const spool_token ours;
  return e.magic == ours.magic && e.version == ours.version && e.crc == header_crc(e);
}

/// Entries up to the file's end; damaged ones are left out, and all of what is no file. An error:
/// the disk refuses what may be there.
std::vector<session_token> read_tokens(int folder, std::error_code& error) {
  std::vector<session_token> tokens;
  const file_descriptor file(ask_again(
      [&] { return ::openat(folder, file_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); }));
  struct stat is {};
  if (!file || ask_again([&] { return ::fstat(file.get(), &is); }) != 0) {
    const bool none = errno == ENOENT || errno == ELOOP || errno == ENXIO || errno == EACCES;
    if (!none) error = last_error();
    return tokens;
  }
  if (!S_ISREG(is.st_mode)) return tokens;
  for (std::size_t n = 0; n < lane_tokens::most; ++n) {
    spool_token e;
    const auto refused =
        read_all(file.get(), n * sizeof e, std::as_writable_bytes(std::span(&e, 1)));
    if (refused == std::errc::result_out_of_range) break;
    if ((error = refused)) break;
    if (is_good(e)) tokens.push_back(e.token);
  }
  return tokens;
}

/// As a whole or not at all, on the disk before it has its name.
std::error_code write_tokens(int folder, std::span<const session_token> tokens) {
  (void)::unlinkat(folder, new_name, 0);
  const file_descriptor file(
      ::openat(folder, new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file) return last_error();
  std::vector<spool_token> entries;
  for (const auto& token : tokens) {
    spool_token& e = entries.emplace_back();
    e.token = token;
    e.crc = header_crc(e);
  }
  if (const auto error = write_all(file.get(), 0, std::as_bytes(std::span(entries)))) return error;
  if (::fsync(file.get()) != 0 || ::renameat(folder, new_name, folder, file_name) != 0 ||
      ::fsync(folder) != 0) {
    return last_error();
  }
  return {};
}

} // namespace

std::uint64_t lane_tokens::new_session() {
  const session_token token = draw_session_token();
  tokens_.emplace(session_of(token), token);
  return session_of(token);
}

std::string lane_tokens::keep_in(const std::filesystem::path& folder,
                                 std::span<const std::uint64_t> found) {
  const file_descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<session_token> kept;
  std::map<std::uint64_t, session_token> of_found;
  auto error = at ? std::error_code() : last_error();
  for (const auto& token : read_tokens(at.get(), error)) {
    if (std::ranges::find(found, session_of(token)) != found.end())
      of_found.emplace(session_of(token), token);
  }
  for (const auto& [session, token] : tokens_) kept.push_back(token);
  for (const auto& [session, token] : of_found)
    if (kept.size() < most) kept.push_back(token);
  if (!error) error = write_tokens(at.get(), kept); // what was not given stays for another start
  if (error) {
    (void)::unlinkat(at.get(), new_name, 0);
    tokens_.clear();
  }
  tokens_.merge(of_found);
  return error ? error.message() : std::string();
}

const session_token* lane_tokens::find(std::uint64_t session) const {
  const auto found = tokens_.find(session);
  return found == tokens_.end() ? nullptr : &found->second;
}

} // namespace l3
