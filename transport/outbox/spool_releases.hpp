// SPDX-License-Identifier: Apache-2.0
// The small file in which a spool notes which blocks of each session are no longer needed, so that
// stored blocks are not sent again after a crash (docs/formats.md, section 11). Each session has a
// place that is overwritten: the file does not grow, needs no room on a full disk, and survives the
// death of this process. A note may be late, never early: at worst a block is sent again, which the
// receiver recognizes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <system_error>
#include <vector>

#include <fcntl.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/spool.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {

class spool_releases {
public:
  /// Limit of noted sessions; blocks of further sessions would be sent again.
  static constexpr std::size_t most_sessions = 1024;

  /// Reads the notes of an earlier process and ignores damaged entries. Throws std::system_error if
  /// the file cannot be read or created.
  explicit spool_releases(const held_folder& folder)
      : file_(opened(folder)), places_(most_sessions) {
    std::error_code error = read(file_, places_);
    if (error) error = read(file_, places_); // a disk error may pass
    if (error) refuse(folder, error);
  }

  /// The released numbers by session, for a program that only reads the spool. Entries that the
  /// disk refuses are missing.
  [[nodiscard]] static std::map<std::uint64_t, std::uint64_t>
  read_in(const std::filesystem::path& folder) {
    std::vector<spool_release> places(most_sessions);
    const input_file in = open_input(folder / file_name);
    if (in.refusal.empty()) static_cast<void>(read(in.file, places));
    return released_of(places);
  }

  // Any thread.

  /// The released number of each noted session.
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> all() const {
    const std::lock_guard guard(lock_);
    return released_of(places_);
  }
  /// Notes that the session's blocks up to `up_to` are not needed, and that later ones up to `last`
  /// are on disk.
  void note(std::uint64_t session, std::uint64_t up_to, std::uint64_t last = 0) {
    const std::lock_guard guard(lock_);
    auto* place = place_of(session);
    if (place == nullptr) place = place_of(0);
    if (place == nullptr) return;
    const std::uint64_t before = place->sequence + place->waiting;
    const spool_release e =
        entry(session, std::max(up_to, place->sequence), std::max(last, before));
    if (e.sequence != place->sequence || e.waiting != place->waiting) write(*place, e);
  }
  /// All notes, each with the numbers that were on disk.
  [[nodiscard]] std::vector<spool_release> notes() const {
    const std::lock_guard guard(lock_);
    std::vector<spool_release> noted;
    std::ranges::copy_if(places_, std::back_inserter(noted),
                         [](const spool_release& e) { return e.session != 0; });
    return noted;
  }
  /// Notes the blocks of a lane of an earlier process, whatever was noted before.
  void set(std::uint64_t session, std::uint64_t released, std::uint64_t last) {
    const std::lock_guard guard(lock_);
    if (auto* const place = place_of(session)) write(*place, entry(session, released, last));
  }
  /// Clears the note of a session without blocks on disk, unless it has changed since.
  void forget(const spool_release& noted) {
    const std::lock_guard guard(lock_);
    auto* const place = place_of(noted.session);
    if (place != nullptr && *place == noted) write(*place, {});
  }

private:
  static constexpr const char* file_name = spool_releases_name;

  static file_descriptor opened(const held_folder& folder) {
    file_descriptor file = create_file(folder.path() / file_name, O_RDWR | O_NOFOLLOW);
    if (!file) refuse(folder, last_error());
    // Allocates now, so that it can be written when the disk is full.
    (void)::posix_fallocate(file.get(), 0, most_sessions * sizeof(spool_release));
    return file;
  }
  [[noreturn]] static void refuse(const held_folder& folder, const std::error_code& why) {
    throw std::system_error(why, "cannot read " + (folder.path() / file_name).string());
  }
  [[nodiscard]] static spool_release entry(std::uint64_t session, std::uint64_t released,
                                           std::uint64_t last) {
    spool_release e;
    e.session = session;
    e.sequence = released;
    e.waiting = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        std::max(last, released) - released, std::numeric_limits<std::uint32_t>::max()));
    e.crc = header_crc(e);
    return e;
  }
  [[nodiscard]] static bool is_good(const spool_release& e) {
    const spool_release ours;
    return e.magic == ours.magic && e.version == ours.version && e.crc == header_crc(e);
  }
  /// The place of the session; session 0 finds a free one. Null if there is none.
  [[nodiscard]] spool_release* place_of(std::uint64_t session) {
    const auto found = std::ranges::find(places_, session, &spool_release::session);
    return found == places_.end() ? nullptr : &*found;
  }
  [[nodiscard]] static std::map<std::uint64_t, std::uint64_t>
  released_of(const std::vector<spool_release>& places) {
    std::map<std::uint64_t, std::uint64_t> released;
    for (const auto& e : places)
      if (e.session != 0) released.emplace(e.session, e.sequence);
    return released;
  }
  /// Reaching the end of the file is no error.
  [[nodiscard]] static std::error_code read(const file_descriptor& file,
                                            std::vector<spool_release>& places) {
    for (std::size_t n = 0; n < places.size(); ++n) {
      spool_release e;
      const auto error =
          read_all(file.get(), n * sizeof e, std::as_writable_bytes(std::span(&e, 1)));
      if (error == std::errc::result_out_of_range) return {};
      if (error) return error;
      if (is_good(e)) places[n] = e;
    }
    return {};
  }
  /// After a failed write the entry in the file is unchanged.
  void write(spool_release& place, const spool_release& e) {
    place = e;
    std::array<std::byte, sizeof e> bytes{};
    if (e.session != 0) std::memcpy(bytes.data(), &e, sizeof e);
    const auto n = static_cast<std::size_t>(&place - places_.data());
    (void)write_all(file_.get(), n * sizeof e, bytes);
  }

  file_descriptor file_;
  mutable std::mutex lock_;           ///< guards the places and the order of their writes
  std::vector<spool_release> places_; ///< of the file; free ones have session 0
};

} // namespace l3
