// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/extraction.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <vector>

#include "gpu/codec/decode_all.hpp"
#include "tools/pending_file.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/l2.hpp"

namespace l3 {

namespace {

/// Finds events that two starts of a daemon stored: the same key, length and checksum in another
/// session of the same run. An equal key in the same session is another event, because spill
/// numbers wrap after 512 spills.
class repeat_finder {
public:
  explicit repeat_finder(const event_index& stored) : stored_(stored) {}

  /// Whether such an event precedes this entry. Call it for the entries in order.
  [[nodiscard]] bool is_repeat(const event_index::entry& e) {
    if (e.key != key_) seen_.clear();
    key_ = e.key;
    auto& sessions = seen_[{stored_.sessions()[e.session].run, e.bytes, e.crc}];
    return sessions.insert(e.session).second && sessions.size() > 1;
  }

private:
  const event_index& stored_;
  event_key key_; ///< key of all entries in seen_
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> seen_;
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
  whole_file file(out);
  event_reader reader(store_folder);
  repeat_finder repeats(stored);
  std::vector<std::vector<std::byte>> fragments;
  for (const auto& e : stored.entries()) {
    const auto event = reader.read(e);
    if (!event) {
      ++result.damaged;
      continue;
    }
    if (repeats.is_repeat(e)) {
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
