// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/comparison.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "tools/replay/file_fault.hpp"
#include "tools/replay/loop.hpp"
#include "transport/file/l2raw.hpp"

namespace l3 {

namespace {

constexpr std::size_t most_examples = 5;

std::string name_of(event_key key) {
  return fmt::format("spill {} event {}", key.spill, key.number);
}

/// The first difference between the sent and the stored fragments of an event; empty if there is
/// none.
std::string difference(const event_view& sent, const packed_event_view& stored,
                       std::vector<std::byte>& rebuilt) {
  if (stored.fragments() != sent.fragments.size())
    return fmt::format("{} fragments sent, {} stored", sent.fragments.size(), stored.fragments());
  for (std::uint32_t i = 0; i < stored.fragments(); ++i) {
    const auto crate = stored.fragment(i).crate;
    const auto of_crate = std::find_if(sent.fragments.begin(), sent.fragments.end(),
                                       [&](const crate_fragment& f) { return f.crate == crate; });
    if (of_crate == sent.fragments.end()) return fmt::format("crate place {} was not sent", crate);
    rebuild_fragment(stored, i, rebuilt);
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
            std::span<const expected_event> expected)
      : index_(stored), expected_(expected), reader_(folder), seen_(stored.entries().size()) {
    result_.stored = stored.entries().size();
    result_.damaged = stored.damaged();
  }

  void take(event_key key, const event_view& sent) {
    const auto place = static_cast<std::size_t>(result_.sent++);
    const expected_event* const wanted = place < expected_.size() ? &expected_[place] : nullptr;
    const auto entries = index_.find(key);
    if (wanted != nullptr && !wanted->kept) {
      if (entries.empty()) ++result_.rejected; // else it counts as extra
      return;
    }
    if (entries.empty()) {
      ++result_.missing;
      return example(key, "missing");
    }
    // If a key was sent again, what equals its first entry equals those that did so before.
    const auto known = alike_.find(key);
    std::size_t next = 0;
    std::string what = wrong_with(entries[next++], sent, wanted);
    if (what.empty() && known != alike_.end()) next = known->second;
    for (; what.empty() && next < entries.size(); ++next)
      what = wrong_with(entries[next], sent, wanted);
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
  /// Why the entry is not the sent event; empty: it is.
  [[nodiscard]] std::string wrong_with(const event_index::entry& e, const event_view& sent,
                                       const expected_event* wanted) {
    seen_[static_cast<std::size_t>(&e - index_.entries().data())] = true;
    const auto stored = reader_.read(e);
    if (!stored) return "cannot be read again";
    std::string what = difference(sent, *stored, rebuilt_);
    if (what.empty() && wanted != nullptr &&
        !std::ranges::equal(stored->summary(), wanted->summary))
      what = "its summary differs from the selection's";
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
  std::span<const expected_event> expected_;
  event_reader reader_;
  std::vector<bool> seen_;
  std::map<event_key, std::size_t> alike_; ///< so many first entries of a key are the same event
  std::vector<std::byte> rebuilt_;
  comparison result_;
};

} // namespace

comparison compare(const std::filesystem::path& sent_file,
                   const std::filesystem::path& store_folder, const event_index& stored,
                   std::uint32_t loops, std::span<const expected_event> expected,
                   const std::function<void(std::uint64_t)>& progress) {
  l2raw_reader sent(sent_file);
  if (sent.damage()) throw std::runtime_error(sent_file.string() + " " + fault_of(sent));
  comparing c(store_folder, stored, expected);
  spill_changer changer(sent.crates());
  event_view event;
  std::uint32_t spills = 0; // of the file; counted in the first loop
  for (std::uint32_t loop = 0; loop < loops && c.result().sent_damage.empty(); ++loop) {
    if (std::uint64_t{spills} * loops > spill_numbers)
      throw std::runtime_error(
          fmt::format("{} spills sent {} times have more than {} numbers: they wrap", spills, loops,
                      spill_numbers));
    sent.rewind();
    while (const auto record = sent.next()) {
      const auto spill = record->header.spill;
      if (loop == 0 && record->header.type == record_type::begin_of_spill) ++spills;
      if (record->header.type != record_type::event) continue;
      auto wrong = parse_event(record->body, sent.crates(), event);
      const auto number = spill_in_loop(spill, spills, loop);
      if (!wrong && loop > 0)
        wrong = parse_event(changer.change(record->body, spill, number), sent.crates(), event);
      if (wrong) {
        c.result().sent_damage =
            "has an event record that contradicts itself: " + std::string(name_of(*wrong));
        break;
      }
      c.take({number, event.number}, event);
      if (progress) progress(c.result().sent);
    }
    if (sent.damage()) c.result().sent_damage = fault_of(sent);
  }
  return c.finish();
}

} // namespace l3
