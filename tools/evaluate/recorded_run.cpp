// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/recorded_run.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "monitor/version.hpp"
#include "selection/trigger/line_id.hpp"
#include "tools/progress.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/format/plain_text.hpp"
#include "transport/store/block.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/store/summary_view.hpp"

namespace l3 {
namespace {

/// What a store says of the settings of one session.
struct told_settings {
  std::shared_ptr<const recorded_settings> all; ///< sessions of one menu share it; null: not known
  const std::vector<std::byte>* bytes = nullptr;
  std::string fault; ///< why they are not known
};

/// A session, and whether its blocks are its owner's.
using session_key = std::pair<std::uint64_t, bool>;
session_key key_of(const block_header& h) { return {h.session, (h.flags & block_proven) != 0}; }

/// Every session has one copy or more: those that are damaged are passed over.
class settings_of_store {
public:
  settings_of_store(const std::filesystem::path& folder, interrupt& signals) {
    store_reader in(folder, [&] { return signals.check(), false; });
    std::vector<std::byte> bytes;
    while (const auto block = in.next()) {
      if (block->header.settings_bytes == 0) continue;
      told_settings& to = sessions_[key_of(block->header)];
      if (!in.read_settings(*block, bytes)) {
        if (!to.all) to.fault = "the block that holds its session's settings is damaged";
        continue;
      }
      const auto [of, is_new] = known_.try_emplace(bytes);
      if (is_new) {
        if (auto read = decode_settings(bytes))
          of->second = std::make_shared<const recorded_settings>(std::move(*read));
      }
      if (to.bytes == nullptr) {
        to = {of->second, &of->first,
              of->second ? "" : "its session's settings are of another version, or none at all"};
      } else if (to.bytes != &of->first) {
        to.all.reset();
        to.fault = "its session has two different settings in this store";
      }
    }
  }

  [[nodiscard]] const told_settings& of(const block_header& h) const {
    static const told_settings none{nullptr, nullptr,
                                    "no settings are stored with its session: it was written by "
                                    "version 0.1.0, or the file that has them is not here"};
    const auto found = sessions_.find(key_of(h));
    return found == sessions_.end() ? none : found->second;
  }

private:
  std::map<std::vector<std::byte>, std::shared_ptr<const recorded_settings>> known_;
  std::map<session_key, told_settings> sessions_;
};

class recorded_run {
public:
  recorded_run(const selection_options& how, const std::function<void(const recorded_event&)>& f)
      : how_(how), tell_(f) {}

  void take_block(const block_header& header, const told_settings& told,
                  std::span<const std::byte> payload, unreadable_parts& lost) {
    run_ = header.run;
    const std::string broken =
        told.all && !told.all->lines.empty() ? select_by(*told.all, header) : "";
    event_walk walk(payload);
    while (const auto packed = walk.next()) {
      const auto event = packed_event_view::parse(*packed);
      if (!event) {
        ++lost.events;
        continue;
      }
      const std::string refusal = !told.all        ? told.fault
                                  : broken.empty() ? why_not(*event, *told.all)
                                                   : broken;
      if (!refusal.empty() || told.all->lines.empty()) {
        decide(); // in the order in which they are stored
        tell_({run_, event->key(), nullptr, nullptr, false, refusal});
        continue;
      }
      with_->add(*event);
      stored_.push_back(event->summary());
      if (with_->is_full()) decide();
    }
    decide(); // the payload goes
    if (!walk.complete()) ++lost.places;
  }

private:
  /// Why no selection can be made of them; empty: it decides now.
  [[nodiscard]] std::string select_by(const recorded_settings& settings,
                                      const block_header& header) {
    if (with_ && with_->run() == header.run && by_ == settings) return {};
    with_.reset();
    by_ = settings;
    const std::string name = "the settings of session " + session_text(header.session);
    try {
      with_.emplace(how_, load_recorded(settings, name, header.run), settings.crates, header.run);
    } catch (const std::runtime_error& e) {
      return plain_lines(e.what());
    }
    return {};
  }

  /// Empty: it can be decided as it was.
  [[nodiscard]] std::string why_not(const packed_event_view& event,
                                    const recorded_settings& settings) const {
    if (settings.lines.empty()) return {};
    const auto stored = summary_view::parse(event.summary());
    if (!stored) return "its summary is of a later version, or damaged";
    if (stored->head.version != packed_summary{}.version)
      return fmt::format("its summary is of version {}, and this program makes version {}",
                         stored->head.version, packed_summary{}.version);
    const std::uint32_t mine = with_->selection().tables.constants.settings;
    if (stored->head.settings != mine)
      return fmt::format("{} decided it by settings {:08x}, and koto-l3 {} makes {:08x} of the "
                         "same texts: take the version that decided it",
                         peer_text(settings.software), stored->head.settings, version(), mine);
    if (!event.is_whole())
      return fmt::format("it is {} by line {}: not all its waveforms were kept",
                         name_of(event.header().payload),
                         fmt::join(names_of(lines_that_asked(event)), " and "));
    return {};
  }

  [[nodiscard]] std::vector<std::string> names_of(const std::vector<std::uint32_t>& ids) const {
    std::vector<std::string> names;
    for (const std::string& name : with_->selection().line_names())
      if (std::ranges::find(ids, line_id(name)) != ids.end()) names.push_back(name);
    return names;
  }

  void decide() {
    if (stored_.empty()) return;
    std::size_t n = 0;
    with_->decide([&](const decided_event& e) {
      const auto stored = stored_[n++];
      const bool same = e.summary.kept != 0 && std::ranges::equal(summary_of(e), stored);
      tell_({run_, {e.event.spill, e.event.number}, &*with_, &e, same, {}});
    });
    stored_.clear();
  }

  const selection_options& how_;
  const std::function<void(const recorded_event&)>& tell_;
  std::uint32_t run_ = 0;
  recorded_settings by_;
  std::optional<block_selector> with_;
  std::vector<std::span<const std::byte>> stored_; ///< summaries of the batch
};

} // namespace

unreadable_parts for_each_recorded(const std::filesystem::path& folder,
                                   const selection_options& how,
                                   const std::function<void(const recorded_event&)>& f,
                                   interrupt& signals) {
  const settings_of_store settings(folder, signals);
  unreadable_parts lost;
  recorded_run run(how, f);
  store_reader in(folder, [&] { return signals.check(), false; });
  progress line("select", 0, "MiB");
  std::uint64_t bytes = 0;
  std::vector<std::byte> payload;
  while (const auto block = in.next()) {
    if (in.read_payload(*block, payload)) {
      run.take_block(block->header, settings.of(block->header), payload, lost);
    } else {
      ++lost.blocks;
      lost.events += block->header.events;
    }
    line.update((bytes += payload.size()) >> 20);
  }
  lost.places += in.damaged();
  lost.torn_ends = in.torn_ends().size();
  return lost;
}

} // namespace l3
