// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/command_error.hpp"
#include "tools/info/information.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/block.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/system/input_file.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

struct session_facts {
  std::uint32_t run = 0;
  std::uint32_t node = 0;
  std::uint64_t blocks = 0;
  std::uint64_t events = 0;
  std::uint64_t repeated = 0;
  std::uint64_t first = 0; ///< of the blocks' numbers
  std::uint64_t last = 0;
  std::uint64_t sealed_first = 0;
  std::uint64_t sealed_last = 0;
};

/// The contents of a file's or a folder's blocks. Memory grows with the numbers of sessions, spills
/// and settings, not of events.
class block_facts {
public:
  void take(const block_header& h, std::span<const std::byte> payload) {
    ++blocks_;
    with_settings_ += h.settings_bytes != 0 ? 1 : 0;
    session_facts& s = sessions_[h.session];
    ++s.blocks;
    if (s.first == 0) {
      s.run = h.run;
      s.node = h.node;
      s.first = h.sequence;
      s.sealed_first = h.sealed_at;
    }
    s.first = std::min(s.first, h.sequence);
    s.last = std::max(s.last, h.sequence);
    s.sealed_first = std::min(s.sealed_first, h.sealed_at);
    s.sealed_last = std::max(s.sealed_last, h.sealed_at);
    s.repeated += h.repeated;
    event_walk walk(payload, h);
    while (const auto bytes = walk.next()) {
      if (const auto event = packed_event_view::parse(*bytes, h.codec))
        take(*event, h, s);
      else
        ++damaged_events_;
    }
    if (!walk.complete()) ++damaged_blocks_;
  }
  void damaged_block() { ++damaged_blocks_; }

  void write(information& to) const {
    std::uint64_t events = 0;
    json::array sessions;
    std::set<std::uint32_t> runs;
    for (const auto& [number, s] : sessions_) {
      events += s.events;
      runs.insert(s.run);
      sessions.push_back(json::object{{"session", session_text(number)},
                                      {"run", s.run},
                                      {"node", s.node},
                                      {"blocks", s.blocks},
                                      {"first", s.first},
                                      {"last", s.last},
                                      {"events", s.events},
                                      {"repeated", s.repeated},
                                      {"sealed_first", utc_text(s.sealed_first)},
                                      {"sealed_last", utc_text(s.sealed_last)}});
    }
    json::object& f = to.facts;
    f["runs"] = json::array(runs.begin(), runs.end());
    f["blocks"] = blocks_;
    f["blocks_with_settings"] = with_settings_;
    f["events"] = events;
    f["events_incomplete"] = incomplete_;
    f["events_with_raw_parts"] = raw_;
    f["events_with_opaque_boards"] = opaque_;
    json::object codecs;
    if (by_codec_[0] > 0) codecs["koto"] = by_codec_[0];
    if (by_codec_[1] > 0) codecs["strong"] = by_codec_[1];
    f["events_by_codec"] = std::move(codecs);
    json::object payloads;
    for (std::size_t p = 0; p < by_payload_.size(); ++p)
      if (by_payload_[p] > 0) payloads[name_of(static_cast<event_payload>(p))] = by_payload_[p];
    f["events_by_payload"] = std::move(payloads);
    f["packed_bytes"] = bytes_;
    f["sessions"] = std::move(sessions);
    json::array settings;
    for (const auto& [hash, count] : settings_)
      settings.push_back(
          json::object{{"settings", hash ? fmt::format("{:08x}", *hash) : "none: no selection ran"},
                       {"events", count}});
    f["settings"] = std::move(settings);
    json::array spills;
    for (const auto& [key, count] : spills_)
      spills.push_back(json::object{{"run", key.first}, {"spill", key.second}, {"events", count}});
    f["spills"] = std::move(spills);
    if (damaged_blocks_ > 0)
      to.damage.push_back(fmt::format("{} blocks are damaged", damaged_blocks_));
    if (damaged_events_ > 0)
      to.damage.push_back(fmt::format("{} events break the format", damaged_events_));
    if (damaged_summaries_ > 0)
      to.damage.push_back(
          fmt::format("{} summaries have another version or are truncated", damaged_summaries_));
  }

private:
  void take(const packed_event_view& event, const block_header& block, session_facts& s) {
    const packed_event& h = event.header();
    ++s.events;
    ++by_codec_[block.codec == codec_id::strong];
    ++by_payload_[static_cast<std::size_t>(h.payload)];
    bytes_ += h.bytes;
    incomplete_ += (h.flags & event_incomplete) != 0 ? 1 : 0;
    raw_ += (h.flags & event_damaged) != 0 ? 1 : 0;
    opaque_ += (h.flags & event_opaque) != 0 ? 1 : 0;
    ++spills_[{block.run, h.spill}];
    if (h.summary_bytes == 0) {
      ++settings_[std::nullopt];
    } else if (const auto summary = summary_view::parse(event.summary())) {
      ++settings_[summary->head.settings];
    } else {
      ++damaged_summaries_;
    }
  }

  std::map<std::uint64_t, session_facts> sessions_; ///< by number
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> spills_;
  std::map<std::optional<std::uint32_t>, std::uint64_t> settings_;
  std::array<std::uint64_t, 2> by_codec_{}; ///< events: koto, strong
  std::array<std::uint64_t, event_payloads> by_payload_{};
  std::uint64_t blocks_ = 0;
  std::uint64_t with_settings_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t incomplete_ = 0;
  std::uint64_t raw_ = 0;
  std::uint64_t opaque_ = 0;
  std::uint64_t damaged_blocks_ = 0;
  std::uint64_t damaged_events_ = 0;
  std::uint64_t damaged_summaries_ = 0;
};

/// Reads a store_file or store_reader to its end, and adds the bytes read to `done`.
template <class Reader, class Each>
void read_all_blocks(Reader& reader, std::uint64_t& done, information& to, const Each& each) {
  block_facts facts;
  std::vector<std::byte> payload;
  while (const auto block = reader.next()) {
    if (reader.read_payload(*block, payload))
      facts.take(block->header, payload);
    else
      facts.damaged_block();
    each(block->header);
    done += block->end() - block->offset;
  }
  facts.write(to);
  if (reader.damaged() > 0)
    to.damage.push_back(
        fmt::format("at {} places a block is missing or damaged", reader.damaged()));
}

/// The blocks of each session that are still needed, with their events.
class waiting_blocks {
public:
  explicit waiting_blocks(const fs::path& folder) {
    const auto file = folder / "released.kl3r";
    if (!fs::is_regular_file(file)) return;
    for (const spool_release& e : read_releases(file).entries) released_[e.session] = e.sequence;
  }
  void take(const block_header& h) {
    const auto noted = released_.find(h.session);
    if (noted != released_.end() && h.sequence <= noted->second) return;
    ++blocks_;
    events_ += h.events;
  }
  [[nodiscard]] json::object object() const { return {{"blocks", blocks_}, {"events", events_}}; }

private:
  std::map<std::uint64_t, std::uint64_t> released_;
  std::uint64_t blocks_ = 0;
  std::uint64_t events_ = 0;
};

/// The version in the head of a store or spool file; 1 if the head is unreadable or damaged.
std::uint32_t version_of(const fs::path& file) {
  const input_file in = open_input(file);
  std::byte bytes[sizeof(store_file_header)];
  if (!in.refusal.empty() || read_all(in.file.get(), 0, bytes)) return 1;
  const auto head = load<store_file_header>(bytes);
  return head.magic == store_file_header{}.magic ? head.version : 1;
}

/// Describes the ledger in the folder.
void look_at_ledger(const fs::path& folder, information& to) {
  const fs::path file = folder / "ledger.json";
  if (!fs::exists(file)) return;
  try {
    (void)read_ledger(file);
  } catch (const std::runtime_error& e) {
    to.damage.emplace_back(reason_of(e));
  }
}

/// A torn end of a file that is still written is no damage, because a reader may have come in
/// between.
void tell_torn_ends(std::span<const torn_end> ends, const fs::path& folder, store_kind kind,
                    information& to) {
  json::array open;
  const auto files = block_files_in(folder, kind);
  const auto is_open = [&](const block_file_name& name) {
    if (kind == store_kind::store) return !name.complete;
    return files.empty() || name.number >= files.back().number; // a spool writes to its newest file
  };
  for (const torn_end& end : ends) {
    const auto name = block_file_name::read(fs::path(end.path).filename().string(), kind);
    if (name && is_open(*name))
      open.emplace_back(text_of(end));
    else
      to.damage.push_back(text_of(end));
  }
  if (!open.empty()) to.facts["torn_ends"] = std::move(open);
}

} // namespace

void describe_block_file(const fs::path& file, const reading_progress& tell, information& to) {
  const bool spool = file.filename().string().starts_with("spool-");
  const std::uint64_t bytes = fs::file_size(file);
  std::uint64_t done = 0;
  store_file reader(file, spool ? store_kind::spool : store_kind::store,
                    [&] { return tell(std::min(done, bytes), bytes), false; });
  to.facts["number"] = reader.number();
  to.facts["bytes"] = bytes;
  read_all_blocks(reader, done, to, [](const block_header&) {});
  if (const auto end = reader.torn())
    tell_torn_ends({&*end, 1}, fs::absolute(file).parent_path(),
                   spool ? store_kind::spool : store_kind::store, to);
  const auto name = block_file_name::read(file.filename().string(),
                                          spool ? store_kind::spool : store_kind::store);
  to.facts["complete"] = name && name->complete;
}

void describe_folder(const fs::path& folder, const reading_progress& tell, information& to) {
  const store_kind kind = kind_of(folder);
  const auto files = block_files_in(folder, kind);
  to.kind = kind == store_kind::spool ? "spool" : "store";
  to.title = kind == store_kind::spool ? "a spool" : "a store";
  if (files.empty()) to.version = store_file_header().version; // of the next file
  std::uint64_t bytes = 0;
  std::error_code gone; // a daemon may be removing segments
  for (const block_file_name& f : files) {
    const auto size = fs::file_size(folder / f.text(kind), gone);
    if (!gone) bytes += size;
    to.version = std::max(to.version, version_of(folder / f.text(kind)));
  }
  to.facts["files"] = files.size();
  to.facts["files_complete"] =
      std::ranges::count_if(files, [](const block_file_name& f) { return f.complete.has_value(); });
  to.facts["bytes"] = bytes;
  std::uint64_t done = 0;
  store_reader reader(folder, [&] { return tell(std::min(done, bytes), bytes), false; });
  waiting_blocks waiting(folder);
  read_all_blocks(reader, done, to, [&](const block_header& h) { waiting.take(h); });
  tell_torn_ends(reader.torn_ends(), folder, kind, to);
  if (kind == store_kind::spool) {
    to.facts["waiting"] = waiting.object();
    return;
  }
  look_at_ledger(folder, to);
}

} // namespace l3
