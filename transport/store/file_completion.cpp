// SPDX-License-Identifier: Apache-2.0
#include "transport/store/file_completion.hpp"

#include <cstdio>
#include <span>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "transport/system/file_io.hpp"

namespace l3 {
namespace {

/// The next start completes those beyond.
constexpr std::size_t most_to_complete = 64;

} // namespace

void file_completion::complete(std::uint64_t number, const file_contents& contents) {
  if (contents.is_empty()) return;
  lacking what{contents.owner(), contents.sidecar(number, settings_.software)};
  if (const auto error = try_to_complete(number, what)) {
    if (refused_.empty()) {
      const bool is_taken = error == std::errc::file_exists;
      const std::string remedy = "; " + complete_file_name(number, what.owner) +
                                 " is another file: take it away, and start the receiver anew";
      news_.push_back("cannot complete " + (folder_.path() / store_file_name(number)).string() +
                      ": " + error.message() + (is_taken ? remedy : "; it is tried again"));
    }
    if (refused_.size() < most_to_complete) refused_.emplace(number, std::move(what));
  }
}

void file_completion::read_first(std::uint64_t number) {
  if (to_read_.size() < most_to_complete) to_read_.try_emplace(number);
}

/// A file that is gone meanwhile needs no other name; what is in the list tells of it.
void file_completion::go_on(const stop_question& enough) {
  for (auto at = to_read_.begin(); at != to_read_.end(); at = to_read_.erase(at)) {
    auto& [number, reading] = *at;
    if (!reading.go_on(folder_, names_.of(number), number, enough)) break;
    if (reading.found()) complete(number, *reading.found());
  }
  std::erase_if(refused_, [&](const auto& waiting) {
    const auto error = try_to_complete(waiting.first, waiting.second);
    return !error || error == std::errc::no_such_file_or_directory ||
           error == std::errc::file_exists;
  });
}

std::error_code file_completion::try_to_complete(std::uint64_t number, const lacking& what) {
  const auto& [owner, text] = what;
  std::error_code error;
  if (!folder_.look(store_file_name(number), error) && !error)
    return std::make_error_code(std::errc::no_such_file_or_directory);
  if (!error && folder_.look(complete_file_name(number, owner), error))
    return std::make_error_code(std::errc::file_exists);
  if (error) return error;
  error = write(sidecar_name(number, owner), text);
  std::error_code unknown;
  const std::string from = store_file_name(number), to = complete_file_name(number, owner);
  const auto before = folder_.look(from, unknown);
  if (!error &&
      ::renameat2(folder_.get(), from.c_str(), folder_.get(), to.c_str(), RENAME_NOREPLACE) != 0)
    error = last_error();
  if (!error) names_.complete(number, owner);
  const auto now = folder_.look(names_.of(number), unknown);
  if (!error && before && now) closed_.rename(number, *before, *now);
  if (!error && settings_.sync && ::fsync(folder_.get()) != 0) error = last_error();
  return error;
}

std::error_code file_completion::write_sidecar(std::uint64_t number,
                                               const file_contents& contents) {
  return write(sidecar_name(number, contents.owner()),
               contents.sidecar(number, settings_.software));
}

std::error_code file_completion::write(const std::string& name, const std::string& text) {
  const std::string fresh = name + ".new";
  std::error_code error;
  (void)folder_.remove(fresh);
  const file_descriptor file = folder_.create(fresh, error);
  if (!error) error = append_all(file.get(), std::as_bytes(std::span(text)));
  if (!error && settings_.sync && settings_.flush(file.get()) != 0) error = last_error();
  if (!error && ::renameat(folder_.get(), fresh.c_str(), folder_.get(), name.c_str()) != 0)
    error = last_error();
  if (error && file) (void)folder_.remove(fresh);
  return error;
}

} // namespace l3
