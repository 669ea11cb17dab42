// SPDX-License-Identifier: Apache-2.0
#include "tools/reprocess/reprocess_check.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "config/readout_list.hpp"
#include "gpu/codec/decode_all.hpp"
#include "selection/trigger/recorded_settings.hpp"
#include "tools/evaluate/stored_readout.hpp"
#include "tools/reprocess/file_reprocessor.hpp"
#include "tools/verify/store_folder.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/store/block.hpp"
#include "transport/store/event_view.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

/// What a block is known by for ever.
using block_name = std::pair<std::uint64_t, std::uint64_t>; ///< session, sequence

block_name identity_of(const block_header& h) { return {h.session, h.sequence}; }

/// All of a packed event but its summary and its payload table, which reprocessed events lack.
struct event_content {
  packed_event_view view;
  packed_event header;
  bool limited;
  std::span<const std::byte> tables;
  std::span<const std::byte> data;

  explicit event_content(const packed_event_view& e)
      : view(e), header(e.header()), limited(!e.is_whole()) {
    const auto summary = e.summary();
    const auto before = static_cast<std::size_t>(summary.data() - e.bytes().data());
    tables = e.bytes().first(before).subspan(sizeof(packed_event));
    data = e.bytes().subspan(before + summary.size() + header.payload_bytes);
  }

  [[nodiscard]] bool is_damaged() const {
    std::vector<std::byte> fragment;
    for (std::uint32_t i = 0; i < view.fragments(); ++i)
      if (!rebuild_fragment(view, i, fragment, strong::decode_all)) return true;
    return false;
  }
  [[nodiscard]] bool has_key_of(const event_content& o) const {
    return header.spill == o.header.spill && header.number == o.header.number;
  }
  [[nodiscard]] bool operator==(const event_content& o) const {
    return has_key_of(o) && header.flags == o.header.flags &&
           header.fragments == o.header.fragments && header.boards == o.header.boards &&
           header.reference_time == o.header.reference_time &&
           ((std::ranges::equal(tables, o.tables) && std::ranges::equal(data, o.data)) ||
            has_fragments_of(o));
  }

private:
  /// Of two codecs: what level 2 sent is the same.
  [[nodiscard]] bool has_fragments_of(const event_content& o) const {
    std::vector<std::byte> mine;
    std::vector<std::byte> its;
    for (std::uint32_t i = 0; i < header.fragments; ++i) {
      if (view.fragment(i).crate != o.view.fragment(i).crate) return false;
      if (!rebuild_fragment(view, i, mine, strong::decode_all) ||
          !rebuild_fragment(o.view, i, its, strong::decode_all) || mine != its)
        return false;
    }
    return true;
  }
};

std::vector<event_content> events_of(std::span<const std::byte> payload,
                                     const block_header& header) {
  std::vector<event_content> events;
  event_walk walk(payload, header);
  while (const auto bytes = walk.next())
    if (const auto event = packed_event_view::parse(*bytes, header.codec))
      events.emplace_back(*event);
  return events;
}

/// Events by run, spill and number: a bit each. Numbers of a spill lie close together, so that an
/// event takes some bits and not its key.
class event_set {
public:
  /// False: it was there.
  [[nodiscard]] bool add(std::uint32_t run, const packed_event& e) {
    std::uint64_t& word = words_[{run, e.spill, e.number / bits}];
    const std::uint64_t bit = std::uint64_t{1} << (e.number % bits);
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

private:
  static constexpr std::uint32_t bits = 64;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t> words_;
};

class checking {
public:
  checking(const reprocess_folder& folder, const reprocess_plan& plan, const stop_question& stop)
      : folder_(folder), plan_(plan), stop_(stop) {}

  reprocess_verdict run() {
    for (const reprocess_task& t : plan_.tasks) check_task(t);
    for (const reprocess_task& t : plan_.new_files())
      missing("{}: it came after the plan was made; run again", t.path().string());
    check_others();
    check_manifest();
    return std::move(verdict_);
  }

private:
  template <class... Values>
  void missing(fmt::format_string<Values...> text, Values&&... values) {
    verdict_.missing.push_back(fmt::format(text, std::forward<Values>(values)...));
  }
  template <class... Values>
  void doubled(fmt::format_string<Values...> text, Values&&... values) {
    verdict_.doubled.push_back(fmt::format(text, std::forward<Values>(values)...));
  }
  template <class... Values>
  void changed(fmt::format_string<Values...> text, Values&&... values) {
    verdict_.changed.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  void check_task(const reprocess_task& task) {
    const fs::path path = task.path();
    const auto record = read_record(folder_, task.number);
    if (!record) return missing("{}: task {} is not done", path.string(), task.number);
    if (record->settings != plan_.settings)
      return changed("{}: task {} was done with other settings; run again", path.string(),
                     task.number);
    if (!record->balanced())
      changed("{}: its figures do not add up", folder_.record(task.number).string());
    verdict_.totals.add(*record);
    if (!record->output.name.empty()) recorded_.insert(record->output.name);
    const bool input = is_as_recorded(path, record->input);
    const fs::path out = folder_.store() / record->output.name;
    const bool output = record->output.name.empty() || is_as_recorded(out, record->output);
    if (input && output) compare(task, path, *record, out);
  }

  bool is_as_recorded(const fs::path& file, const recorded_file& as) {
    if (!fs::is_regular_file(file)) {
      missing("{}: it is not there", file.string());
      return false;
    }
    const recorded_file now = look_through(file, stop_);
    if (now.bytes == as.bytes && now.crc == as.crc) return true;
    changed("{}: it has {} bytes with CRC-32C {:08x}, and not {} with {:08x}", file.string(),
            now.bytes, now.crc, as.bytes, as.crc);
    return false;
  }

  void compare(const reprocess_task& task, const fs::path& path, const task_record& r,
               const fs::path& written) {
    store_file in = listed_file(path, task.kind, stop_);
    std::optional<store_file> out;
    if (!r.output.name.empty()) out.emplace(listed_file(written, store_kind::store, stop_));
    std::optional<stored_block> next = out ? out->next() : std::nullopt;
    std::vector<std::byte> payload;
    std::vector<std::byte> made;
    kept_ = rejected_ = limited_ = 0;
    repeated_ = 0;
    while (const auto block = in.next()) {
      check_readout(path, in, *block);
      if (!in.read_payload(*block, payload)) continue;
      note(block->header, inputs_, path);
      block_header wanted = block->header;
      wanted.session = session_made_of(wanted.session, plan_);
      const bool there = next && identity_of(next->header) == identity_of(wanted) &&
                         next->header.run == wanted.run && next->header.node == wanted.node &&
                         next->header.codec == plan_.codec.value_or(wanted.codec);
      if (!there || !out->read_payload(*next, made)) {
        missing("{}: the block that was made of block {} of session {} is not there",
                written.string(), block->header.sequence, session_text(block->header.session));
        continue;
      }
      note(next->header, outputs_, written);
      compare_events(payload, block->header, made, next->header, written);
      next = out->next();
    }
    for (; next; next = out->next()) {
      note(next->header, outputs_, written);
      doubled("{}: block {} of session {}, with {} events, was made of no block of {}",
              written.string(), next->header.sequence, session_text(next->header.session),
              next->header.events, path.string());
    }
    if (kept_ != r.kept || rejected_ != r.rejected || limited_ != r.limited)
      changed("{}: {} events were kept, {} rejected and {} limited, and its record says {}, {} and "
              "{}",
              path.string(), kept_, rejected_, limited_, r.kept, r.rejected, r.limited);
    if (repeated_ == 0) return;
    verdict_.repeated_events += repeated_;
    verdict_.repeated.push_back(
        fmt::format("{}: {} of its events are in an output for the second time, "
                    "first {}",
                    written.string(), repeated_, first_repeated_));
  }

  void check_readout(const fs::path& path, const store_file& in, const stored_block& block) {
    std::vector<std::byte> bytes;
    if (block.header.settings_bytes == 0 || !in.read_settings(block, bytes)) return;
    const auto settings = decode_settings(bytes);
    if (settings && !(settings->crates == plan_.crates))
      changed("{}: its readout is {}, and its events were decided by {}", path.string(),
              in_words(settings->crates), in_words(plan_.crates));
  }

  /// The events of the output are some of those of the input, in their order.
  void compare_events(std::span<const std::byte> payload, const block_header& input,
                      std::span<const std::byte> made, const block_header& output,
                      const fs::path& written) {
    const auto given = events_of(payload, input);
    const auto kept = events_of(made, output);
    auto next = kept.begin();
    for (const event_content& e : given) {
      if (e.limited) {
        ++limited_; // no output has it: it would be found below
      } else if (next != kept.end() && *next == e) {
        ++next;
        ++kept_;
        note_kept(output.run, e.header);
      } else if (!e.is_damaged()) { // which counts as unreadable
        ++rejected_;
      }
    }
    for (; next != kept.end(); ++next) {
      const packed_event& h = next->header;
      const bool again = std::ranges::find(given, *next) != given.end();
      const bool other =
          std::ranges::any_of(given, [&](const auto& e) { return e.has_key_of(*next); });
      if (again)
        doubled("{}: event {} of spill {} is there twice, or not in its place", written.string(),
                h.number, h.spill);
      else if (other)
        changed("{}: event {} of spill {} has other bytes than that of the input", written.string(),
                h.number, h.spill);
      else
        doubled("{}: event {} of spill {} is not of its input", written.string(), h.number,
                h.spill);
    }
  }

  void note(const block_header& h, std::map<block_name, std::string>& blocks,
            const fs::path& file) {
    if (events_bytes(h) == 0 && h.repeated == 0)
      return; // it stands in the place of a damaged one, which may be elsewhere
    const auto [first, is_new] = blocks.try_emplace(identity_of(h), file.filename().string());
    if (!is_new)
      doubled("{}: block {} of session {}, with {} events, is also in {}", file.string(),
              h.sequence, session_text(h.session), h.events, first->second);
  }

  /// An event that is kept.
  void note_kept(std::uint32_t run, const packed_event& e) {
    if (events_.add(run, e)) return;
    if (repeated_++ == 0)
      first_repeated_ = fmt::format("event {} of spill {} of run {}", e.number, e.spill, run);
  }

  /// Files of the output of which no record tells.
  void check_others() {
    for (const block_file_name& f : block_files_in(folder_.store())) {
      if (recorded_.contains(f.text())) continue;
      const fs::path path = folder_.store() / f.text();
      doubled("{}: no record tells of this file", path.string());
      store_file other = listed_file(path, store_kind::store, stop_);
      while (const auto block = other.next()) note(block->header, outputs_, path);
    }
  }

  void check_manifest() {
    if (verdict_.totals.tasks != plan_.tasks.size()) return;
    if (!fs::exists(folder_.manifest()) || !fs::exists(folder_.ledger()))
      return missing("{}: the manifest or the ledger is not there; run again",
                     folder_.manifest().string());
    try {
      const auto manifest = read_json(folder_.manifest());
      const auto& files = manifest->at("files").as_array();
      const auto same = [&](const json::value& v, const reprocess_task& t) {
        const auto record = read_record(folder_, t.number);
        return record && in_lines(v) == in_lines(to_json(*record));
      };
      if (!std::ranges::equal(files, plan_.tasks, same))
        changed("{}: it does not say what the records say; run again", folder_.manifest().string());
    } catch (const std::exception& e) {
      changed("{}: it is no manifest: {}; run again", folder_.manifest().string(), reason_of(e));
    }
  }

  const reprocess_folder& folder_;
  const reprocess_plan& plan_;
  const stop_question& stop_;
  reprocess_verdict verdict_;
  std::set<std::string> recorded_; ///< names of outputs
  std::map<block_name, std::string> inputs_;
  std::map<block_name, std::string> outputs_;
  event_set events_;       ///< that are kept, of all outputs
  std::uint64_t kept_ = 0; ///< of the file at hand
  std::uint64_t rejected_ = 0;
  std::uint64_t limited_ = 0;
  std::uint64_t repeated_ = 0;
  std::string first_repeated_;
};

ledger ledger_of(const reprocess_totals& t, std::uint32_t run,
                 const std::set<std::uint64_t>& sessions) {
  ledger l;
  l.program = "reprocess";
  l.run = run;
  l.sessions.assign(sessions.begin(), sessions.end());
  l.ended = true;
  l.clean = t.unreadable.none();
  l.events.admitted = t.events;
  l.events.forwarded = t.kept;
  l.events.rejected = t.rejected;
  l.events.shed = {{"unreadable", t.unreadable.events}};
  if (t.limited > 0) l.events.shed["limited"] = t.limited;
  l.bytes.in = t.bytes_in;
  l.bytes.out = t.bytes_out;
  return l;
}

/// Adds numbers to those of the same keys, of objects in it likewise.
void add_counts(json::object& to, const json::object& counts) {
  for (const auto& [key, value] : counts) {
    if (value.is_object()) {
      json::value& inner = to[key];
      add_counts(inner.is_object() ? inner.as_object() : inner.emplace_object(), value.as_object());
    } else {
      const json::value* const before = to.if_contains(key);
      to[key] = value.to_number<std::uint64_t>() +
                (before != nullptr ? before->to_number<std::uint64_t>() : 0);
    }
  }
}

} // namespace

void reprocess_totals::add(const task_record& r) {
  ++tasks;
  events += r.input.events;
  kept += r.kept;
  rejected += r.rejected;
  not_judged += r.not_judged;
  limited += r.limited;
  add_counts(left_out, r.left_out);
  unreadable.places += r.unreadable.places;
  unreadable.blocks += r.unreadable.blocks;
  unreadable.events += r.unreadable.events;
  unreadable.torn_bytes += r.unreadable.torn_bytes;
  if (first_damaged.empty() && !r.unreadable.none())
    first_damaged = (fs::path(r.store) / r.input.name).string();
  bytes_in += r.input.bytes;
  bytes_out += r.output.bytes;
}

reprocess_verdict check_reprocessed(const reprocess_folder& folder, const reprocess_plan& plan,
                                    const stop_question& stop) {
  return checking(folder, plan, stop).run();
}

bool write_manifest(const reprocess_folder& folder, const reprocess_plan& plan) {
  reprocess_totals totals;
  json::array files;
  std::uint32_t run = 0;
  std::set<std::uint64_t> sessions;
  for (const reprocess_task& t : plan.tasks) {
    const auto record = read_record(folder, t.number);
    if (!record || record->settings != plan.settings) return false;
    totals.add(*record);
    sessions.insert(record->sessions.begin(), record->sessions.end());
    if (record->output.blocks > 0) run = record->last_run;
    files.push_back(to_json(*record));
  }
  json::array crates;
  for (const std::string& entry : show_crates(plan.crates)) crates.emplace_back(entry);
  json::object all{{"manifest", 1},
                   {"settings", fmt::format("{:08x}", plan.settings)},
                   {"crates", std::move(crates)},
                   {"stores", json::array(plan.stores.begin(), plan.stores.end())},
                   {"events", json::object{{"in", totals.events},
                                           {"kept", totals.kept},
                                           {"rejected", totals.rejected},
                                           {"limited", totals.limited},
                                           {"unreadable", totals.unreadable.events}}},
                   {"left_out", totals.left_out},
                   {"bytes", json::object{{"in", totals.bytes_in}, {"out", totals.bytes_out}}},
                   {"files", std::move(files)}};
  if (plan.codec) all["codec"] = name_of(*plan.codec);
  write_whole(folder, folder.manifest(), in_lines(all) + "\n");
  write_whole(folder, folder.ledger(), to_json(ledger_of(totals, run, sessions)));
  return true;
}

} // namespace l3
