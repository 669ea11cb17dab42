// SPDX-License-Identifier: Apache-2.0
#include "transport/output/spool_releases.hpp"

#include <array>
#include <span>

#include <fcntl.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/spool.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

constexpr mode_t file_mode = 0644;
constexpr std::size_t file_bytes = spool_releases::most_sessions * sizeof(spool_release);

std::error_code write_entry(int file, std::size_t place, std::span<const std::byte> bytes) {
  return write_all(file, place * sizeof(spool_release), bytes);
}

} // namespace

spool_releases::spool_releases(const std::filesystem::path& folder)
    : file_(::open((folder / "released.kl3r").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, file_mode)) {
  // With its room taken now, it can be written when the disk is full.
  if (file_) (void)::posix_fallocate(file_.get(), 0, file_bytes);
  for (std::size_t place = 0; place < most_sessions; ++place) vacant_.insert(place);
  read();
}

void spool_releases::read() {
  for (std::size_t place = 0; file_ && place < most_sessions; ++place) {
    spool_release e;
    if (read_all(file_.get(), place * sizeof e, std::as_writable_bytes(std::span(&e, 1)))) return;
    if (e.magic != spool_release{}.magic || e.version != spool_release{}.version ||
        e.crc != header_crc(e) ||
        !entries_.try_emplace(e.session, entry{place, e.sequence}).second) {
      continue;
    }
    vacant_.erase(place);
  }
}

std::uint64_t spool_releases::released(std::uint64_t session) const {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find(session);
  return found == entries_.end() ? 0 : found->second.up_to;
}

std::set<std::uint64_t> spool_releases::sessions() const {
  const std::lock_guard guard(lock_);
  std::set<std::uint64_t> all;
  for (const auto& [session, e] : entries_) all.insert(session);
  return all;
}

void spool_releases::note(std::uint64_t session, std::uint64_t up_to) {
  const std::lock_guard guard(lock_);
  auto found = entries_.find(session);
  if (found == entries_.end()) {
    if (vacant_.empty()) return;
    found = entries_.try_emplace(session, entry{*vacant_.begin()}).first;
    vacant_.erase(vacant_.begin());
  }
  auto& [place, noted] = found->second;
  if (up_to <= noted) return;
  noted = up_to;
  spool_release e;
  e.session = session;
  e.sequence = up_to;
  e.crc = header_crc(e);
  // An entry that cannot be written stays what it was: too low.
  (void)write_entry(file_.get(), place, std::as_bytes(std::span(&e, 1)));
}

void spool_releases::forget(std::uint64_t session, std::uint64_t up_to) {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find(session);
  if (found == entries_.end() || found->second.up_to > up_to) return;
  constexpr std::array<std::byte, sizeof(spool_release)> none{};
  (void)write_entry(file_.get(), found->second.place, none);
  vacant_.insert(found->second.place);
  entries_.erase(found);
}

} // namespace l3
