// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/extraction.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <map>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <tuple>
#include <vector>

#include "gpu/codec/decode_all.hpp"
#include "tools/pending_file.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

namespace {

/// Finds events that two starts of a daemon stored: the same key and bytes in another session of
/// the same run. An equal key in the same session is another event, because spill numbers wrap
/// after 512 spills. Each event is compared with only a few others, so that a store with many
/// events of one key is not slower.
class repeat_finder {
public:
  repeat_finder(const std::filesystem::path& folder, const event_index& stored)
      : stored_(stored), reader_(folder) {}

  /// Whether an equal event precedes this entry, whose event is loaded. Call it for the entries in
  /// order.
  [[nodiscard]] bool is_repeat(const event_index::entry& e, std::span<const std::byte> bytes) {
    if (seen_.empty() || e.key != key_) seen_.clear();
    key_ = e.key;
    const std::uint32_t run = stored_.sessions()[e.session].run;
    auto& alike = seen_[{run, e.bytes, e.crc}];
    for (seen& s : alike) {
      const bool in_another = s.in_another || s.first->session != e.session;
      if (!in_another) continue;
      const auto event = reader_.read(*s.first);
      if (!event || !std::ranges::equal(event->bytes(), bytes)) continue;
      s.in_another = true;
      return true;
    }
    const auto has_session = [&](const seen& s) { return s.first->session == e.session; };
    if (alike.size() < most_alike && std::ranges::none_of(alike, has_session))
      alike.push_back({&e, false});
    return false;
  }

private:
  struct seen {
    const event_index::entry* first; ///< stored
    bool in_another;                 ///< an equal event is in another session than the first
  };
  /// Limit of comparisons: different events may have equal length and checksum.
  static constexpr std::size_t most_alike = 4;

  const event_index& stored_;
  event_reader reader_;
  event_key key_; ///< key of all entries in seen_
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<seen>> seen_;
};

/// A file that gets its name when it is finished.
class new_file {
public:
  explicit new_file(const std::filesystem::path& path)
      : name_(path), file_(name_.path(), std::ios::binary | std::ios::trunc) {
    if (!file_)
      throw std::system_error(errno, std::generic_category(), "cannot write " + path.string());
  }

  void write(std::span<const std::byte> bytes) {
    file_.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
    check();
  }
  void finish() {
    file_.close();
    check();
    name_.finish();
  }

private:
  void check() const {
    if (!file_)
      throw std::runtime_error("cannot write " + name_.path().string() + ": " +
                               std::generic_category().message(errno));
  }

  pending_file name_;
  std::ofstream file_;
};

/// Whether a file with this begin starts with the first word of a fragment.
bool is_fragment(std::string_view begin) {
  if (begin.size() < l2::fragment_header_bytes) return false;
  const auto word = load_big<std::uint32_t>(std::as_bytes(std::span(begin)).data());
  return word == l2::fragment_header(word);
}

/// Protects files from a mistyped name: throws if the folder has no store, or if the output is a
/// file of the store or one that extract did not write.
void check_paths(const std::filesystem::path& folder, const std::filesystem::path& out) {
  const store_kind kind = kind_of(folder);
  const auto files = block_files_in(folder, kind);
  if (files.empty()) {
    throw std::runtime_error("no store: no file blocks-*.kl3 or spool-*.kl3 in " + folder.string());
  }
  if (!std::filesystem::exists(out)) return;
  for (const block_file_name& f : files) {
    if (std::filesystem::equivalent(out, folder / f.text(kind))) {
      throw std::invalid_argument(out.string() + " is a file of the store");
    }
  }
  check_replaced("extract", out, is_fragment);
}

/// Rebuilds all fragments of an event; returns false if one is damaged.
bool rebuild(const packed_event_view& event, std::vector<std::vector<std::byte>>& fragments) {
  if (fragments.size() < event.fragments()) fragments.resize(event.fragments());
  for (std::uint32_t i = 0; i < event.fragments(); ++i)
    if (!rebuild_fragment(event, i, fragments[i], strong::decode_all)) return false;
  return true;
}

} // namespace

extraction extract(const std::filesystem::path& store_folder, const event_index& stored,
                   const std::filesystem::path& out,
                   const std::function<void(std::uint64_t)>& progress) {
  extraction result;
  result.damaged = stored.damaged();
  check_paths(store_folder, out);
  new_file file(out);
  event_reader reader(store_folder);
  repeat_finder repeats(store_folder, stored);
  std::vector<std::vector<std::byte>> fragments;
  for (const auto& e : stored.entries()) {
    const auto event = reader.read(e);
    if (!event) {
      ++result.damaged;
      continue;
    }
    if (repeats.is_repeat(e, event->bytes())) {
      ++result.repeats;
      continue;
    }
    if (!event->is_whole()) {
      result.payloads.add(*event);
      continue;
    }
    if (!rebuild(*event, fragments)) {
      ++result.damaged;
      continue;
    }
    for (const auto& fragment : std::span(fragments).first(event->fragments())) {
      file.write(fragment);
      ++result.fragments;
      result.bytes += fragment.size();
    }
    ++result.events;
    if (progress) progress(result.events);
  }
  file.finish();
  return result;
}

} // namespace l3
