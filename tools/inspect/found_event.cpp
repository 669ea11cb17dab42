// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/found_event.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "gpu/codec/decode_all.hpp"
#include "monitor/in_words.hpp"
#include "tools/command_error.hpp"
#include "tools/info/information.hpp"
#include "transport/file/l2raw.hpp"
#include "transport/store/block.hpp"
#include "transport/store/event_view.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;

/// For the message if the event is not found.
struct seen_events {
  std::uint64_t events = 0;
  std::uint32_t first_spill = ~0U;
  std::uint32_t last_spill = 0;
  std::set<std::uint32_t> runs;

  void add(event_key key, std::uint32_t run) {
    ++events;
    runs.insert(run);
    first_spill = std::min(first_spill, key.spill);
    last_spill = std::max(last_spill, key.spill);
  }
};

[[noreturn]] void refuse_absent(const fs::path& path, const wanted_event& wanted,
                                const seen_events& seen, bool all_read = true) {
  const std::string name =
      fmt::format("event {} of spill {}{}", wanted.key.number, wanted.key.spill,
                  wanted.run ? fmt::format(" of run {}", *wanted.run) : "");
  const char* const unread =
      all_read ? "" : "; a part of it cannot be read (`koto-l3 info` shows which)";
  if (seen.events == 0)
    throw command_error(
        fmt::format("{} has no {}: it holds no event{}", path.string(), name, unread));
  if (wanted.run && !seen.runs.contains(*wanted.run))
    throw command_error(fmt::format("{} has no event of run {}: it holds {}{}", path.string(),
                                    *wanted.run, runs_in_words(seen.runs), unread));
  const std::string of_runs = seen.runs.size() > 1 ? " of " + runs_in_words(seen.runs) : "";
  throw command_error(fmt::format("{} has no {}: it holds {} events of spills {} to {}{}{}",
                                  path.string(), name, seen.events, seen.first_spill,
                                  seen.last_spill, of_runs, unread));
}

/// Throws command_error if the event has a board that is not in the readout.
void check_fits(const packed_event_view& event, const readout& whole) {
  std::uint32_t board = 0;
  for (std::uint32_t i = 0; i < event.fragments(); ++i) {
    const packed_fragment f = event.fragment(i);
    bool fits = f.crate < whole.size() && f.boards <= whole.crates[f.crate].boards;
    for (std::uint32_t b = 0; fits && b < f.boards; ++b)
      fits = ((event.board(board++).form & board_256_samples) != 0) ==
             (whole.crates[f.crate].kind == board_kind::sampling_500_mhz);
    if (!fits)
      throw command_error("the event's readout differs from that of the settings, or of --config");
  }
}

class stored_search {
public:
  stored_search(const wanted_event& wanted, const std::optional<readout>& crates)
      : wanted_(wanted), crates_(crates) {}

  /// Reads the session's readout and selection from its settings.
  void take_settings(const block_header& block, std::span<const std::byte> settings) {
    if (auto read = decode_settings(settings)) told_[block.session] = std::move(*read);
  }

  /// Returns false if a part of the block violates the format.
  [[nodiscard]] bool take(const block_header& block, std::span<const std::byte> payload) {
    bool all_read = true;
    event_walk walk(payload, block);
    while (const auto bytes = walk.next()) {
      const auto event = packed_event_view::parse(*bytes, block.codec);
      if (!event) {
        all_read = false;
        continue;
      }
      seen_.add(event->key(), block.run);
      if (event->key() != wanted_.key || (wanted_.run && block.run != *wanted_.run)) continue;
      if (!found_) {
        keep(block, *event);
        continue;
      }
      ++found_->more;
      found_->more_of_other_runs |= block.run != found_->run;
    }
    return all_read && walk.complete();
  }

  found_event finish(const fs::path& path, bool all_read) {
    if (!found_) refuse_absent(path, wanted_, seen_, all_read);
    found_->all_read = all_read;
    return std::move(*found_);
  }

private:
  void keep(const block_header& block, const packed_event_view& event) {
    found_event& to = found_.emplace();
    to.key = event.key();
    to.run = block.run;
    const auto told = told_.find(block.session);
    to.crates = crates_ ? *crates_ : told != told_.end() ? told->second.crates : readout::koto();
    if (told != told_.end() && !told->second.lines.empty()) to.settings = told->second;
    check_fits(event, to.crates);
    to.block = block;
    to.packed = event.header();
    to.stored.assign(event.bytes().begin(), event.bytes().end());
    for (std::uint32_t i = 0; i < event.fragments(); ++i) {
      auto& fragment = to.fragments.emplace_back();
      fragment.place = event.fragment(i).crate;
      if (!rebuild_fragment(event, i, fragment.bytes, strong::decode_all))
        throw command_error(
            fmt::format("event {} of spill {}: crate place {} is damaged and cannot "
                        "be unpacked",
                        event.key().number, event.key().spill, fragment.place));
      fragment.kept = kept_records(event, i);
    }
    if (event.payload_lines() > 0) to.payload = event.payload();
    if (!event.summary().empty()) to.summary = summary_view::parse(event.summary());
  }

  wanted_event wanted_;
  std::optional<readout> crates_;
  std::map<std::uint64_t, recorded_settings> told_; ///< by session
  std::optional<found_event> found_;
  seen_events seen_;
};

bool has_torn_end(const store_file& reader) { return reader.torn().has_value(); }
bool has_torn_end(const store_reader& reader) { return !reader.torn_ends().empty(); }

/// Adds the bytes read to `done`.
template <class Reader>
found_event search(Reader& reader, std::uint64_t& done, const fs::path& path,
                   stored_search& looking) {
  std::vector<std::byte> payload;
  bool all_read = true;
  while (const auto block = reader.next()) {
    if (block->header.settings_bytes != 0 && reader.read_settings(*block, payload))
      looking.take_settings(block->header, payload);
    if (!reader.read_payload(*block, payload) || !looking.take(block->header, payload))
      all_read = false;
    done += block->end() - block->offset;
  }
  all_read = all_read && reader.damaged() == 0 && !has_torn_end(reader);
  return looking.finish(path, all_read);
}

template <class Tell>
found_event find_in_level2(const fs::path& path, const wanted_event& wanted, const Tell& tell) {
  l2raw_reader reader(path);
  if (reader.damage()) throw command_error(path.string() + " " + fault_of(reader));
  event_view event;
  seen_events seen;
  while (const auto record = reader.next()) {
    tell(reader.position(), reader.size());
    if (record->header.type != record_type::event ||
        parse_event(record->body, reader.crates(), event))
      continue;
    const event_key key{record->header.spill, event.number};
    seen.add(key, reader.run());
    if (key != wanted.key || (wanted.run && reader.run() != *wanted.run)) continue;
    found_event found{key, reader.run(), reader.crates(), {}};
    for (const crate_fragment& f : event.fragments)
      found.fragments.push_back(
          {static_cast<std::uint8_t>(f.crate), {f.bytes.begin(), f.bytes.end()}});
    std::ranges::sort(found.fragments, {}, &found_fragment::place);
    return found;
  }
  if (reader.damage())
    throw command_error(fmt::format("{} is damaged, {}, and has no such event before the damage",
                                    path.string(), reader.damage()->text()));
  refuse_absent(path, wanted, seen);
}

} // namespace

found_event find_event(const fs::path& path, const wanted_event& wanted,
                       const std::optional<readout>& crates,
                       const std::function<void(std::uint64_t, std::uint64_t)>& tell) {
  stored_search looking(wanted, crates);
  std::uint64_t bytes = 0;
  std::uint64_t done = 0;
  const stop_question telling = [&] { return tell(std::min(done, bytes), bytes), false; };
  if (std::error_code error; fs::is_directory(path, error)) {
    check_store(path);
    const store_kind kind = kind_of(path);
    for (const block_file_name& f : block_files_in(path, kind)) {
      const auto size = fs::file_size(path / f.text(kind), error);
      if (!error) bytes += size; // a daemon may be removing segments
    }
    store_reader reader(path, telling);
    return search(reader, done, path, looking);
  }
  const recognised known = recognise_file(path);
  if (known.format->format == stored_format::level2) return find_in_level2(path, wanted, tell);
  if (known.format->format != stored_format::store_file)
    throw command_error(fmt::format("{} is {}, which holds no events to look at: give a .l2raw "
                                    "file, a store, a spool, or a file of these",
                                    path.string(), known.format->title));
  bytes = fs::file_size(path);
  store_file reader(path, store_kind::store, telling);
  return search(reader, done, path, looking);
}

} // namespace l3
