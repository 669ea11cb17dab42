// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/stored_events.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "monitor/version.hpp"
#include "selection/trigger/line_id.hpp"
#include "selection/trigger/parse_selection.hpp"
#include "tools/command_error.hpp"
#include "tools/print.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/accounting/ledger.hpp"
#include "transport/format/plain_text.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

namespace {

const told_settings none{
    nullptr, nullptr,
    "the settings of its session are missing: the file that has them is not here"};

} // namespace

stored_settings::stored_settings(const std::filesystem::path& folder, interrupt& signals)
    : folder_(folder), signals_(signals) {
  read();
}

void stored_settings::read() {
  store_reader in(folder_, [&] { return signals_.check(), false; });
  std::vector<std::byte> bytes;
  while (const auto block = in.next()) {
    told_settings& to = sessions_.try_emplace(block->header.session, none).first->second;
    if (block->header.settings_bytes == 0) continue;
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
            of->second ? "" : "its session's settings have another version or are invalid"};
    } else if (to.bytes != &of->first) {
      to.all.reset();
      to.fault = "its session has two different settings in this store";
    }
  }
}

const told_settings& stored_settings::of(const block_header& h) {
  if (const auto found = sessions_.find(h.session); found != sessions_.end()) return found->second;
  read();
  return sessions_.try_emplace(h.session, none).first->second;
}

std::vector<std::shared_ptr<const recorded_settings>> stored_settings::known() const {
  std::vector<std::shared_ptr<const recorded_settings>> all;
  for (const auto& [bytes, settings] : known_)
    if (settings) all.push_back(settings);
  return all;
}

readout stored_readout(const std::filesystem::path& folder, interrupt& signals) {
  std::optional<readout> stored;
  for (const auto& settings : stored_settings(folder, signals).known()) {
    if (stored && !(*stored == settings->crates))
      throw command_error(
          folder.string() +
              " has runs with two readouts: put the files of each into a separate folder",
          exit_bad_configuration);
    stored = settings->crates;
  }
  return stored.value_or(readout::koto());
}

std::map<std::uint32_t, std::string> stored_settings::line_names() const {
  auto names = l3::line_names(default_selection());
  for (const auto& settings : known()) names.merge(l3::line_names(settings->lines));
  return names;
}

stored_events::stored_events(const std::filesystem::path& folder, const char* label,
                             interrupt& signals)
    : in_(folder, [&signals] { return signals.check(), false; }), line_(label, 0, "MiB") {}

std::optional<packed_event_view> stored_events::next() {
  while (true) {
    while (const auto bytes = walk_.next()) {
      if (auto event = packed_event_view::parse(*bytes, block_.codec)) return event;
      ++lost_.events;
    }
    if (!walk_.complete()) ++lost_.places;
    if (!next_block()) return std::nullopt;
  }
}

/// Returns false at the end.
bool stored_events::next_block() {
  walk_ = event_walk({}, {});
  while (const auto block = in_.next()) {
    block_ = block->header;
    if (!in_.read_payload(*block, payload_)) {
      ++lost_.blocks;
      lost_.events += block_.events;
      continue;
    }
    line_.update((bytes_ += payload_.size()) >> 20);
    walk_ = event_walk(payload_, block_);
    return true;
  }
  return false;
}

unreadable_parts stored_events::left_out() const {
  unreadable_parts all = lost_;
  all.places += in_.damaged();
  all.torn_ends = in_.torn_ends();
  return all;
}

int tell(const unreadable_parts& lost, bool skip_damaged) {
  for (const torn_end& end : lost.torn_ends) print_error("{}\n", text_of(end));
  for (const std::string& text : payload_words(json_of(lost.limited, lost.lines)))
    print_error("left out: {}; not all their waveforms were kept\n", text);
  const char* const offer = skip_damaged ? "" : " (--skip-damaged accepts that)";
  if (lost.places + lost.blocks + lost.events > 0)
    print_error("damaged: {} places without a block, {} blocks with a damaged payload, {} events "
                "in these or damaged themselves{}\n",
                lost.places, lost.blocks, lost.events, offer);
  const bool accepted = lost.none() || skip_damaged;
  return accepted && lost.limited.events() == 0 ? 0 : exit_failure;
}

unreadable_parts for_each_stored(
    const std::filesystem::path& folder, const selection_options& how, const readout& crates,
    const std::function<void(const block_selector&, const decided_event&)>& f, interrupt& signals) {
  std::optional<block_selector> with;
  const auto decide = [&] {
    signals.check();
    if (with) with->decide([&](const decided_event& e) { f(*with, e); });
  };
  payload_tally limited;
  std::uint64_t damaged = 0;
  stored_events in(folder, "select", signals);
  while (const auto event = in.next()) {
    if (!event->is_whole()) {
      limited.add(*event);
      continue;
    }
    if (!with || with->run() != in.block().run) {
      decide();
      with.emplace(how, crates, in.block().run);
    }
    if (!with->add(*event)) ++damaged;
    if (with->is_full()) decide();
  }
  decide();
  unreadable_parts lost = in.left_out();
  lost.events += damaged;
  lost.limited = limited;
  if (limited.events() > 0) lost.lines = stored_settings(folder, signals).line_names();
  return lost;
}

namespace {

class recorded_run {
public:
  recorded_run(const selection_options& how, const std::function<void(const recorded_event&)>& f)
      : how_(how), tell_(f) {}

  void take(const packed_event_view& event, const block_header& header, const told_settings& told) {
    const bool selected = told.all && !told.all->lines.empty();
    if (selected && (told.all != by_ || header.run != run_)) select_by(told.all, header);
    const std::string refusal = !told.all         ? told.fault
                                : !selected       ? ""
                                : broken_.empty() ? why_not(event, *told.all)
                                                  : broken_;
    const auto refuse = [&](const std::string& why) {
      decide(); // in the order of storage
      tell_({header.run, event.key(), nullptr, nullptr, false, why});
    };
    if (!refusal.empty() || !selected) return refuse(refusal);
    if (!with_->add(event)) return refuse("its waveforms are damaged");
    stored_.emplace_back(event.summary().begin(), event.summary().end());
    if (with_->is_full()) decide();
  }

  /// Decides the collected events.
  void decide() {
    if (stored_.empty()) return;
    std::size_t n = 0;
    with_->decide([&](const decided_event& e) {
      const std::vector<std::byte>& stored = stored_[n++];
      const bool same = e.summary.kept != 0 && std::ranges::equal(summary_of(e), stored);
      tell_({run_, {e.event.spill, e.event.number}, &*with_, &e, same, {}});
    });
    stored_.clear();
  }

private:
  void select_by(std::shared_ptr<const recorded_settings> settings, const block_header& header) {
    decide();
    with_.reset();
    broken_.clear();
    by_ = std::move(settings);
    run_ = header.run;
    const std::string name = "the settings of session " + session_text(header.session);
    try {
      with_.emplace(how_, load_recorded(*by_, name, run_), by_->crates, run_);
    } catch (const std::runtime_error& e) {
      broken_ = plain_lines(e.what());
    }
  }

  /// Why the event cannot be decided again; empty if it can.
  [[nodiscard]] std::string why_not(const packed_event_view& event,
                                    const recorded_settings& settings) const {
    const auto stored = summary_view::parse(event.summary());
    if (!stored) return "its summary has another version or is damaged";
    const std::uint32_t mine = with_->selection().tables.constants.settings;
    if (stored->head.settings != mine)
      return fmt::format("{} decided it with settings {:08x}, but koto-l3 {} reads them as {:08x}: "
                         "use the version that decided it",
                         peer_text(settings.software), stored->head.settings, version(), mine);
    if (!event.is_whole()) return "it " + why_not_whole(event, names_of(lines_that_asked(event)));
    return {};
  }

  [[nodiscard]] std::vector<std::string> names_of(const std::vector<std::uint32_t>& ids) const {
    std::vector<std::string> names;
    for (const std::string& name : with_->selection().line_names())
      if (std::ranges::find(ids, line_id(name)) != ids.end()) names.push_back(name);
    return names;
  }

  const selection_options& how_;
  const std::function<void(const recorded_event&)>& tell_;
  std::shared_ptr<const recorded_settings> by_;
  std::uint32_t run_ = 0;
  std::string broken_; ///< why no selection can be made from the settings
  std::optional<block_selector> with_;
  std::vector<std::vector<std::byte>> stored_; ///< summaries of the batch
};

} // namespace

unreadable_parts for_each_recorded(const std::filesystem::path& folder,
                                   const selection_options& how,
                                   const std::function<void(const recorded_event&)>& f,
                                   interrupt& signals) {
  stored_settings settings(folder, signals);
  recorded_run run(how, f);
  stored_events in(folder, "select", signals);
  while (const auto event = in.next()) run.take(*event, in.block(), settings.of(in.block()));
  run.decide();
  return in.left_out();
}

} // namespace l3
