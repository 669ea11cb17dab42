// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/comparison.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/codec/decode_all.hpp"
#include "tools/replay/source.hpp"
#include "tools/verify/agreement.hpp"
#include "transport/file/l2raw.hpp"

namespace l3 {

namespace {

constexpr std::size_t most_examples = 5;

std::string name_of(event_key key) {
  return fmt::format("spill {} event {}", key.spill, key.number);
}

/// Describes the first difference between the sent and the stored fragments of an event; empty if
/// they are equal.
std::string difference(const event_view& sent, const packed_event_view& stored,
                       std::vector<std::byte>& rebuilt) {
  if (stored.fragments() != sent.fragments.size())
    return fmt::format("{} fragments sent, {} stored", sent.fragments.size(), stored.fragments());
  for (std::uint32_t i = 0; i < stored.fragments(); ++i) {
    const auto crate = stored.fragment(i).crate;
    const auto of_crate = std::find_if(sent.fragments.begin(), sent.fragments.end(),
                                       [&](const crate_fragment& f) { return f.crate == crate; });
    if (of_crate == sent.fragments.end()) return fmt::format("crate place {} was not sent", crate);
    if (!rebuild_fragment(stored, i, rebuilt, strong::decode_all))
      return fmt::format("crate place {} is damaged: it cannot be unpacked", crate);
    if (rebuilt.size() == of_crate->bytes.size()) {
      fill_absent_words(stored, i, rebuilt,
                        [&](std::uint32_t at) { return of_crate->bytes.data() + at; });
    }
    if (rebuilt.size() != of_crate->bytes.size())
      return fmt::format("crate place {}: {} B sent, {} B stored", crate, of_crate->bytes.size(),
                         rebuilt.size());
    const auto [at, end] = std::mismatch(rebuilt.begin(), rebuilt.end(), of_crate->bytes.begin());
    if (at != rebuilt.end())
      return fmt::format("crate place {} from byte {}", crate, at - rebuilt.begin());
  }
  return {};
}

class comparing {
public:
  comparing(const std::filesystem::path& folder, const event_index& stored,
            const expected_events& expected)
      : index_(stored), expected_(expected), reader_(folder), seen_(stored.entries().size()) {
    result_.stored = stored.entries().size();
    result_.damaged = stored.damaged();
    if (expected.empty()) return;
    for (const auto& e : stored.entries()) runs_[e.key.spill].insert(run_of(e));
  }

  void take(event_key key, const event_view& sent) {
    const auto place = static_cast<std::size_t>(result_.sent++);
    const auto entries = index_.find(key);
    if (entries.empty()) {
      if (is_rejected(key.spill, place)) {
        ++result_.rejected;
        return;
      }
      ++result_.missing;
      return example(key, "missing");
    }
    const auto rejected = [&](const event_index::entry& e) {
      return is_rejected_by(run_of(e), place);
    };
    if (std::ranges::all_of(entries, rejected)) return; // they count as extra
    // If a key was sent again, entries equal to its first one were already compared.
    const auto known = alike_.find(key);
    std::size_t next = 0;
    std::string what = wrong_with(entries[next++], sent, place);
    if (what.empty() && known != alike_.end()) next = known->second;
    for (; what.empty() && next < entries.size(); ++next)
      what = wrong_with(entries[next], sent, place);
    if (!what.empty()) {
      if (next > 1) alike_.insert_or_assign(key, next - 1);
      ++result_.different;
      return example(key, what);
    }
    ++result_.equal;
    if (entries.size() == 1) return;
    alike_.insert_or_assign(key, entries.size());
    if (known == alike_.end()) count_repeats(key, entries);
  }

  comparison finish() {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (seen_[i]) continue;
      ++result_.extra;
      example(index_.entries()[i].key, "extra");
    }
    return std::move(result_);
  }

  comparison& result() { return result_; }

private:
  [[nodiscard]] std::uint32_t run_of(const event_index::entry& e) const {
    return index_.sessions()[e.session].run;
  }

  /// The selection's decision on an event of the file in this run; null if there is none.
  [[nodiscard]] const expected_event* expected_of(std::uint32_t run, std::size_t place) const {
    const auto of_run = expected_.find(run);
    const bool said = of_run != expected_.end() && place < of_run->second.size();
    return said ? &of_run->second[place] : nullptr;
  }

  [[nodiscard]] bool is_rejected_by(std::uint32_t run, std::size_t place) const {
    const expected_event* const wanted = expected_of(run, place);
    return wanted != nullptr && !wanted->kept;
  }

  /// Whether an event that is not stored was rejected. Its run is known only by its spill.
  [[nodiscard]] bool is_rejected(std::uint32_t spill, std::size_t place) const {
    const auto rejects = [&](std::uint32_t run) { return is_rejected_by(run, place); };
    if (const auto runs = runs_.find(spill); runs != runs_.end())
      return std::ranges::all_of(runs->second, rejects);
    return !expected_.empty() &&
           std::ranges::all_of(expected_, rejects, &expected_events::value_type::first);
  }

  /// The difference between the entry and the sent event; empty if they are equal or it counts as
  /// extra.
  [[nodiscard]] std::string wrong_with(const event_index::entry& e, const event_view& sent,
                                       std::size_t place) {
    const expected_event* const wanted = expected_of(run_of(e), place);
    if (wanted != nullptr && !wanted->kept) return {};
    seen_[static_cast<std::size_t>(&e - index_.entries().data())] = true;
    const auto stored = reader_.read(e);
    if (!stored) return "cannot be read again";
    std::string what = difference(sent, *stored, rebuilt_);
    if (what.empty() && wanted != nullptr &&
        !std::ranges::equal(stored->summary(), wanted->summary))
      what = "its summary differs from the selection's";
    if (what.empty() && wanted != nullptr && crc_of_payload(*stored) != wanted->payload_crc)
      what = "its waveforms are not those that the selection keeps";
    if (what.empty()) result_.payloads.add(*stored);
    return what;
  }

  void count_repeats(event_key key, std::span<const event_index::entry> entries) {
    std::set<std::uint32_t> sessions;
    for (const auto& e : entries) {
      const bool same_daemon = !sessions.insert(e.session).second;
      if (same_daemon) {
        ++result_.duplicated;
        example(key, "duplicated");
      } else if (sessions.size() > 1) {
        ++result_.repeated;
      }
    }
  }

  void example(event_key key, const std::string& what) {
    if (result_.examples.size() < most_examples) {
      result_.examples.push_back(name_of(key) + ": " + what);
    }
  }

  const event_index& index_;
  const expected_events& expected_;
  std::map<std::uint32_t, std::set<std::uint32_t>> runs_; ///< runs with stored events, by spill
  event_reader reader_;
  std::vector<bool> seen_;
  std::map<event_key, std::size_t> alike_; ///< leading entries of a key with the same event
  std::vector<std::byte> rebuilt_;
  comparison result_;
};

} // namespace

namespace {

/// One pass over the sent file, with the number `loop`.
class sent_pass {
public:
  sent_pass(l2raw_reader& sent, comparing& to, const std::function<void(std::uint64_t)>& progress)
      : sent_(sent), to_(to), progress_(progress), changer_(sent.crates()) {}

  void run(std::uint32_t loop) {
    sent_.rewind();
    while (const auto record = sent_.next())
      if (!take(*record, loop)) return;
    if (sent_.damage()) to_.result().sent_damage = fault_of(sent_);
  }
  [[nodiscard]] std::uint32_t spills() const { return spills_; }

private:
  /// Returns false if the rest of the file is not compared.
  bool take(const record_view& record, std::uint32_t loop) {
    const auto spill = record.header.spill;
    if (loop == 0 && record.header.type == record_type::begin_of_spill) ++spills_;
    if (record.header.type != record_type::event) return true;
    auto wrong = parse_event(record.body, sent_.crates(), event_);
    const auto number = spill_in_loop(spill, spills_, loop);
    if (!wrong && loop > 0)
      wrong = parse_event(changer_.change(record.body, spill, number), sent_.crates(), event_);
    if (wrong) {
      to_.result().sent_damage =
          "has an event record that contradicts itself: " + std::string(name_of(*wrong));
      return false;
    }
    to_.result().sent_bytes += sizeof(record_header) + record.body.size();
    to_.take({number, event_.number}, event_);
    if (progress_) progress_(to_.result().sent);
    return true;
  }

  l2raw_reader& sent_;
  comparing& to_;
  const std::function<void(std::uint64_t)>& progress_;
  spill_changer changer_;
  event_view event_;
  std::uint32_t spills_ = 0; // of the file; counted in the first loop
};

} // namespace

comparison compare(const std::filesystem::path& sent_file,
                   const std::filesystem::path& store_folder, const event_index& stored,
                   std::uint32_t loops, const expected_events& expected, bool skip_damaged,
                   const std::function<void(std::uint64_t)>& progress) {
  l2raw_reader sent(sent_file);
  if (sent.damage()) throw std::runtime_error(sent_file.string() + " " + fault_of(sent));
  comparing c(store_folder, stored, expected);
  c.result().skip_damaged = skip_damaged;
  sent_pass pass(sent, c, progress);
  for (std::uint32_t loop = 0; loop < loops && c.result().sent_damage.empty(); ++loop) {
    if (std::uint64_t{pass.spills()} * loops > spill_numbers)
      throw std::runtime_error(
          fmt::format("{} spills sent {} times use more than {} numbers: they wrap around",
                      pass.spills(), loops, spill_numbers));
    pass.run(loop);
  }
  return c.finish();
}

namespace {

std::set<std::uint32_t> runs_of(std::span<const event_index::session> sessions) {
  std::set<std::uint32_t> runs;
  for (const auto& s : sessions) runs.insert(s.run);
  return runs;
}

bool share_numbers(const event_index& stored) {
  const auto run_of = [&](const event_index::entry& e) { return stored.sessions()[e.session].run; };
  const auto entries = stored.entries();
  return std::ranges::adjacent_find(entries, [&](const auto& one, const auto& next) {
           return one.key == next.key && run_of(one) != run_of(next);
         }) != entries.end();
}

} // namespace

std::set<std::uint32_t> runs_to_compare(std::span<const std::uint32_t> named,
                                        std::span<const given_ledger> ledgers,
                                        const event_index& stored) {
  auto all = runs_of(stored.sessions());
  for (const std::uint32_t run : named) {
    if (!all.contains(run))
      throw std::runtime_error(
          fmt::format("no block of run {} is stored, only of {}", run, words_of(all)));
  }
  if (!named.empty()) return {named.begin(), named.end()};
  std::set<std::uint32_t> of_daemons;
  for (const auto& [path, l, of_folder] : ledgers)
    if (l.program == daemon_program && all.contains(l.run)) of_daemons.insert(l.run);
  if (!of_daemons.empty()) return of_daemons;
  if (all.size() > 1 && share_numbers(stored))
    throw std::runtime_error(
        fmt::format("{} are stored with the same event numbers: choose the sent one with --run, or "
                    "give the ledgers of its daemons with --ledger",
                    words_of(all)));
  return all;
}

std::string words_of(const std::set<std::uint32_t>& runs) {
  if (runs.empty()) return "no run";
  if (runs.size() == 1) return fmt::format("run {}", *runs.begin());
  const auto last = std::prev(runs.end());
  return fmt::format("runs {} and {}", fmt::join(runs.begin(), last, ", "), *last);
}

} // namespace l3
