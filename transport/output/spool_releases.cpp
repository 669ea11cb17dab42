// SPDX-License-Identifier: Apache-2.0
#include "transport/output/spool_releases.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "transport/format/crc32c.hpp"
#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

bool is_good(const spool_release& e) {
  const spool_release ours;
  return e.magic == ours.magic && e.version == ours.version && e.crc == header_crc(e);
}

} // namespace

spool_releases::spool_releases(const std::filesystem::path& folder)
    : file_(create_file(folder / "released.kl3r", O_RDWR)), places_(most_sessions) {
  // With its room taken now, it can be written when the disk is full.
  if (file_) (void)::posix_fallocate(file_.get(), 0, most_sessions * sizeof(spool_release));
  for (std::size_t place = 0; place < most_sessions; ++place) {
    spool_release e;
    if (read_all(file_.get(), place * sizeof e, std::as_writable_bytes(std::span(&e, 1)))) return;
    if (is_good(e) && place_of(e.session) == nullptr) places_[place] = e;
  }
}

std::map<std::uint64_t, std::uint64_t> spool_releases::all() const {
  const std::lock_guard guard(lock_);
  std::map<std::uint64_t, std::uint64_t> noted;
  for (const auto& e : places_)
    if (e.session != 0) noted.emplace(e.session, e.sequence);
  return noted;
}

void spool_releases::note(std::uint64_t session, std::uint64_t up_to) {
  const std::lock_guard guard(lock_);
  auto* place = place_of(session);
  if (place == nullptr) place = place_of(0);
  if (place == nullptr || up_to <= place->sequence) return;
  spool_release e;
  e.session = session;
  e.sequence = up_to;
  e.crc = header_crc(e);
  write(*place, e);
}

void spool_releases::forget(std::uint64_t session, std::uint64_t up_to) {
  const std::lock_guard guard(lock_);
  auto* const place = place_of(session);
  if (place != nullptr && place->sequence <= up_to) write(*place, {});
}

spool_release* spool_releases::place_of(std::uint64_t session) {
  const auto found = std::ranges::find(places_, session, &spool_release::session);
  return found == places_.end() ? nullptr : &*found;
}

/// An entry that cannot be written stays what it was: too low.
void spool_releases::write(spool_release& place, const spool_release& entry) {
  place = entry;
  std::array<std::byte, sizeof entry> bytes{};
  if (entry.session != 0) std::memcpy(bytes.data(), &entry, sizeof entry);
  (void)write_all(file_.get(), static_cast<std::uint64_t>(&place - places_.data()) * sizeof entry,
                  bytes);
}

} // namespace l3
