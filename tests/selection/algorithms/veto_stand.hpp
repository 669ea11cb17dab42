// SPDX-License-Identifier: Apache-2.0
// Tables, boards, pulses and hits for tests of the veto algorithms. The stand runs these algorithms
// on any queue, in poisoned memory, and returns all of that memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "selection/algorithms/judge_vetoes.hpp"
#include "selection/algorithms/match_ends.hpp"
#include "tests/selection/algorithms/made_pulses.hpp"

namespace l3::test {

/// The tables that the veto algorithms read, and the kinds of the boards.
struct veto_tables {
  selection_constants constants;
  std::vector<board_kind> kinds; ///< by board of the readout
  std::vector<std::uint32_t> board_vetoes;
  std::vector<input_entry> inputs;
  std::vector<module_entry> modules;
  std::vector<veto_entry> vetoes;
  std::vector<attenuation_entry> attenuation;

  /// Adds boards with 16 unconnected inputs.
  void add_boards(std::uint32_t n, board_kind kind) {
    kinds.resize(kinds.size() + n, kind);
    board_vetoes.resize(kinds.size());
    inputs.resize(kinds.size() * l2::waveforms_per_board);
  }
  /// Adds a counter, and its modules behind those of the others.
  veto_entry& add_veto(std::uint32_t modules_of_it, std::uint8_t ends) {
    veto_entry v;
    v.first_module = static_cast<std::uint16_t>(modules.size());
    v.modules = static_cast<std::uint16_t>(modules_of_it);
    module_entry m;
    m.veto = static_cast<std::uint8_t>(vetoes.size());
    m.ends = ends;
    m.alive = ends == 2 ? 3 : 1;
    modules.resize(modules.size() + modules_of_it, m);
    vetoes.push_back(v);
    return vetoes.back();
  }
  /// Connects an input whose gain of 1 and time of 0 make a hit's energy and time those of the
  /// pulse.
  input_entry& connect(std::uint32_t board, std::uint32_t channel, std::uint32_t module,
                       std::uint32_t end) {
    input_entry& i = inputs[l2::waveforms_per_board * board + channel];
    i.kind = input_kind::veto;
    i.gain = 1 << input_entry::gain_shift;
    i.index = static_cast<std::uint16_t>(2 * module + end);
    board_vetoes[board] |= 1U << modules[module].veto;
    return i;
  }
};

struct veto_pulse {
  std::uint32_t board = 0; ///< place in the event
  std::uint32_t row = 0;
  std::int32_t sum = 0;
  std::uint16_t time = 0;
};

struct veto_event {
  std::vector<std::uint16_t> boards; ///< numbers in the readout
  std::vector<std::uint16_t> triggers;
  std::vector<veto_pulse> pulses;
  std::vector<hits::columns::value> known; ///< hits, for tests that start from hits
  std::int32_t time = 0;                   ///< the event's own, 1/128 ns

  /// An event with the boards first … last − 1 of the readout.
  static veto_event with_boards(std::uint32_t first, std::uint32_t last) {
    veto_event e;
    for (std::uint32_t n = first; n < last; ++n) e.boards.push_back(static_cast<std::uint16_t>(n));
    e.triggers.resize(e.boards.size());
    return e;
  }
};

/// The output of match_ends for an event.
struct found_hits {
  std::uint32_t found = 0;
  std::vector<hits::columns::value> rows; ///< all max_hits rows; poison in rows not written
};

template <class Queue>
class veto_stand {
public:
  veto_stand(Queue& queue, const veto_tables& tables, const std::vector<veto_event>& events)
      : queue_(queue), events_(events), size_(static_cast<std::uint32_t>(events.size())),
        lender_(queue), pulses_(queue, l2::waveforms_per_board * boards_of(events)),
        signals_(queue, boards_of(events)), hits_(queue, hits::max_hits * size_),
        counts_(queue, size_), times_(queue, size_) {
    first_board_ = {0, static_cast<std::uint16_t>(tables.kinds.size())};
    for (const veto_event& e : events) add(e, tables.kinds);
    pulses_.send();
    signals_.send();
    here_.tables.constants = tables.constants;
    here_.tables.first_board = view_of(first_board_);
    here_.tables.board_vetoes = view_of(tables.board_vetoes);
    here_.tables.inputs = view_of(tables.inputs);
    here_.tables.modules = view_of(tables.modules);
    here_.tables.vetoes = view_of(tables.vetoes);
    here_.tables.attenuation = view_of(tables.attenuation);
    here_.batch.events = view_of(event_table_);
    here_.batch.boards = view_of(board_table_);
    there_.tables = lender_.lend(here_.tables);
    there_.batch.events = lender_.lend(event_table_);
    there_.batch.boards = lender_.lend(board_table_);
  }
  veto_stand(const veto_stand&) = delete;
  veto_stand& operator=(const veto_stand&) = delete;

  [[nodiscard]] std::vector<found_hits> match() {
    queue_.run(match_ends{}, size_, there_, pulses::columns::const_view(pulses_.there()),
               board_signals::columns::const_view(signals_.there()), hits_.there(),
               counts_.there());
    hits_.fetch();
    counts_.fetch();
    EXPECT_STREQ(match_ends::broken_promise(here_, pulses_.host(), signals_.host(), hits_.host(),
                                            counts_.host()),
                 nullptr);
    std::vector<found_hits> all;
    for (std::uint32_t e = 0; e < size_; ++e) {
      all.push_back({counts_.host().found[e], {}});
      for (std::uint32_t i = 0; i < hits::max_hits; ++i)
        all.back().rows.push_back(hits_.host()[e * hits::max_hits + i]);
    }
    return all;
  }

  [[nodiscard]] std::vector<veto_bits::columns::value> judge() {
    take_known_hits();
    const slot_rows<veto_bits, Queue> out(queue_, size_);
    const slot_rows<high_hits, Queue> high(queue_, size_);
    queue_.run(judge_vetoes{}, size_, there_, board_signals::columns::const_view(signals_.there()),
               calorimeter::columns::const_view(times_.there()),
               hits::columns::const_view(hits_.there()),
               hit_counts::columns::const_view(counts_.there()), out.there(), high.there());
    out.fetch();
    high.fetch();
    EXPECT_STREQ(judge_vetoes::broken_promise(here_, signals_.host(), times_.host(), hits_.host(),
                                              counts_.host(), out.host(), high.host()),
                 nullptr);
    std::vector<veto_bits::columns::value> bits;
    highest_.clear();
    for (std::uint32_t e = 0; e < size_; ++e) {
      bits.push_back(out.host()[e]);
      const high_hits::list& list = high.host().all[e];
      highest_.emplace_back(list.hit, list.hit + std::min(list.count, max_summary_hits));
    }
    return bits;
  }

  /// What the latest judge() listed of each event.
  [[nodiscard]] const std::vector<std::vector<veto_hit_summary>>& highest() const {
    return highest_;
  }

private:
  [[nodiscard]] static std::uint32_t boards_of(const std::vector<veto_event>& events) {
    std::size_t n = 0;
    for (const veto_event& e : events) n += e.boards.size();
    return static_cast<std::uint32_t>(n);
  }
  template <class T>
  static column<const T> view_of(const std::vector<T>& v) {
    return {v.data(), static_cast<std::uint32_t>(v.size())};
  }

  void add(const veto_event& e, const std::vector<board_kind>& kinds) {
    event_entry entry;
    entry.first_board = static_cast<std::uint32_t>(board_table_.size());
    entry.boards = static_cast<std::uint32_t>(e.boards.size());
    event_table_.push_back(entry);
    for (std::size_t k = 0; k < e.boards.size(); ++k) {
      signals_.host()[entry.first_board + k] = {
          .number = e.boards[k], .lit = 0, .trigger = e.triggers[k], .loud = 0, .seeds = 0};
      board_entry& b = board_table_.emplace_back();
      if (e.boards[k] < kinds.size()) b.kind = kinds[e.boards[k]];
    }
    for (const veto_pulse& p : e.pulses) {
      const std::uint32_t board = entry.first_board + p.board;
      signals_.host().lit[board] |= static_cast<std::uint16_t>(1U << p.row);
      pulses_.host().sum[l2::waveforms_per_board * board + p.row] = p.sum;
      pulses_.host().time[l2::waveforms_per_board * board + p.row] = p.time;
    }
  }
  void take_known_hits() {
    for (std::uint32_t e = 0; e < size_; ++e) {
      const auto& from = events_[e].known;
      times_.host().time[e] = events_[e].time;
      counts_.host().found[e] = static_cast<std::uint32_t>(from.size());
      for (std::uint32_t i = 0; i < from.size() && i < hits::max_hits; ++i)
        hits_.host()[e * hits::max_hits + i] = from[i];
    }
    times_.send();
    counts_.send();
    hits_.send();
  }
  Queue& queue_;
  const std::vector<veto_event>& events_;
  std::uint32_t size_;
  lender<Queue> lender_;
  slot_rows<pulses, Queue> pulses_;
  slot_rows<board_signals, Queue> signals_;
  slot_rows<hits, Queue> hits_;
  slot_rows<hit_counts, Queue> counts_;
  slot_rows<calorimeter, Queue> times_;
  std::vector<std::vector<veto_hit_summary>> highest_;
  std::vector<std::uint16_t> first_board_;
  std::vector<event_entry> event_table_;
  std::vector<board_entry> board_table_;
  selection_frame there_;
  selection_frame here_; // the same frame in host memory
};

} // namespace l3::test
