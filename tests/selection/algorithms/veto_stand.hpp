// SPDX-License-Identifier: Apache-2.0
// Tables, boards, pulses and hits for tests of the veto algorithms. The stand runs these algorithms
// on any queue, in poisoned memory, and returns all of that memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/columns/collection.hpp"
#include "selection/algorithms/judge_vetoes.hpp"
#include "selection/algorithms/match_ends.hpp"
#include "tests/gpu/decode/decode_memory.hpp"

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
      : queue_(queue), events_(events) {
    first_board_ = {0, static_cast<std::uint16_t>(tables.kinds.size())};
    fill(there_.tables, tables, [this](const auto& v) { return lend(v); });
    fill(here_.tables, tables, [](const auto& v) { return view_of(v); });
    for (const veto_event& e : events) {
      event_entry entry;
      entry.first_board = static_cast<std::uint32_t>(board_table_.size());
      entry.boards = static_cast<std::uint32_t>(e.boards.size());
      event_table_.push_back(entry);
      for (const std::uint16_t number : e.boards) {
        board_entry b;
        if (number < tables.kinds.size()) b.kind = tables.kinds[number];
        board_table_.push_back(b);
      }
    }
    there_.batch.events = lend(event_table_);
    there_.batch.boards = lend(board_table_);
    here_.batch.events = view_of(event_table_);
    here_.batch.boards = view_of(board_table_);
    capacity_.events = static_cast<std::uint32_t>(events.size());
    capacity_.boards = static_cast<std::uint32_t>(board_table_.size());
  }
  veto_stand(const veto_stand&) = delete;
  veto_stand& operator=(const veto_stand&) = delete;

  [[nodiscard]] std::vector<found_hits> match() {
    host_columns<pulses::columns> seen(pulses::rows(capacity_));
    const host_columns<board_signals::columns> boards = signals();
    std::uint32_t first = 0;
    for (const veto_event& e : events_) {
      for (const veto_pulse& p : e.pulses) {
        const std::uint32_t row = l2::waveforms_per_board * (first + p.board) + p.row;
        seen.view().sum[row] = p.sum;
        seen.view().time[row] = p.time;
      }
      first += static_cast<std::uint32_t>(e.boards.size());
    }
    host_columns<hits::columns> out = poisoned<hits>();
    host_columns<hit_counts::columns> counts = poisoned<hit_counts>();
    lent<hits::columns> out_there(queue_, out);
    lent<hit_counts::columns> counts_there(queue_, counts);
    const lent<pulses::columns> seen_there(queue_, seen);
    const lent<board_signals::columns> boards_there(queue_, boards);
    queue_.run(match_ends{}, capacity_.events, there_, seen_there.const_view(),
               boards_there.const_view(), out_there.view(), counts_there.view());
    out_there.read(out);
    counts_there.read(counts);
    EXPECT_STREQ(match_ends::broken_promise(here_, seen.const_view(), boards.const_view(),
                                            out.const_view(), counts.const_view()),
                 nullptr);
    std::vector<found_hits> all;
    for (std::uint32_t e = 0; e < capacity_.events; ++e) {
      all.push_back({counts.view().found[e], {}});
      for (std::uint32_t i = 0; i < hits::max_hits; ++i)
        all.back().rows.push_back(out.const_view()[e * hits::max_hits + i]);
    }
    return all;
  }

  /// The promise that match_ends would break with this output for the only event.
  [[nodiscard]] const char* promise_of_matching(const std::vector<hits::columns::value>& rows,
                                                std::uint32_t found) const {
    const host_columns<pulses::columns> seen(pulses::rows(capacity_));
    const host_columns<board_signals::columns> boards = signals();
    host_columns<hits::columns> out = poisoned<hits>();
    host_columns<hit_counts::columns> counts = poisoned<hit_counts>();
    counts.view().found[0] = found;
    for (std::uint32_t i = 0; i < rows.size(); ++i) out.view()[i] = rows[i];
    return match_ends::broken_promise(here_, seen.const_view(), boards.const_view(),
                                      out.const_view(), counts.const_view());
  }

  [[nodiscard]] std::vector<veto_bits::columns::value> judge() {
    const host_columns<board_signals::columns> boards = signals();
    const auto [all, counts] = known_hits();
    const host_columns<calorimeter::columns> times = known_times();
    host_columns<veto_bits::columns> out = poisoned<veto_bits>();
    host_columns<high_hits::columns> high = poisoned<high_hits>();
    lent<veto_bits::columns> out_there(queue_, out);
    lent<high_hits::columns> high_there(queue_, high);
    const lent<board_signals::columns> boards_there(queue_, boards);
    const lent<calorimeter::columns> times_there(queue_, times);
    const lent<hits::columns> all_there(queue_, all);
    const lent<hit_counts::columns> counts_there(queue_, counts);
    queue_.run(judge_vetoes{}, capacity_.events, there_, boards_there.const_view(),
               times_there.const_view(), all_there.const_view(), counts_there.const_view(),
               out_there.view(), high_there.view());
    out_there.read(out);
    high_there.read(high);
    EXPECT_STREQ(judge_vetoes::broken_promise(here_, boards.const_view(), times.const_view(),
                                              all.const_view(), counts.const_view(),
                                              out.const_view(), high.const_view()),
                 nullptr);
    std::vector<veto_bits::columns::value> bits;
    highest_.clear();
    for (std::uint32_t e = 0; e < capacity_.events; ++e) {
      bits.push_back(out.const_view()[e]);
      const high_hits::list& list = high.const_view().all[e];
      highest_.emplace_back(list.hit, list.hit + std::min(list.count, max_summary_hits));
    }
    return bits;
  }

  /// What the latest judge() listed of each event.
  [[nodiscard]] const std::vector<std::vector<veto_hit_summary>>& highest() const {
    return highest_;
  }

  /// The promise that judge_vetoes would break with this output for the only event.
  [[nodiscard]] const char* promise_of_judging(const veto_bits::columns::value& said,
                                               const high_hits::list& listed) const {
    const host_columns<board_signals::columns> boards = signals();
    const auto [all, counts] = known_hits();
    host_columns<veto_bits::columns> out(1);
    host_columns<high_hits::columns> high(1);
    out.view()[0] = said;
    high.view().all[0] = listed;
    return judge_vetoes::broken_promise(here_, boards.const_view(), known_times().const_view(),
                                        all.const_view(), counts.const_view(), out.const_view(),
                                        high.const_view());
  }

  static constexpr int poison = 0xa5;

private:
  /// Columns in memory that the kernels of the queue reach.
  template <class Layout>
  class lent {
  public:
    lent(Queue& queue, const host_columns<Layout>& from)
        : rows_(from.size()), memory_(queue, from.bytes().size()) {
      memory_.write(from.bytes().data(), from.bytes().size());
    }
    [[nodiscard]] typename Layout::view view() const {
      return Layout::over({memory_.bytes().data(), memory_.bytes().size()}, rows_);
    }
    [[nodiscard]] typename Layout::const_view const_view() const { return view(); }
    void read(host_columns<Layout>& to) const {
      std::vector<std::byte> all(memory_.bytes().size());
      memory_.read(all.data());
      if (!to.bytes().empty()) std::memcpy(to.bytes().data(), all.data(), to.bytes().size());
    }

  private:
    std::uint32_t rows_;
    lent_memory<Queue> memory_;
  };

  template <class ColumnOf>
  void fill(selection_tables& to, const veto_tables& from, ColumnOf&& column_of) {
    to.constants = from.constants;
    to.first_board = column_of(first_board_);
    to.board_vetoes = column_of(from.board_vetoes);
    to.inputs = column_of(from.inputs);
    to.modules = column_of(from.modules);
    to.vetoes = column_of(from.vetoes);
    to.attenuation = column_of(from.attenuation);
  }
  template <class T>
  static column<const T> view_of(const std::vector<T>& v) {
    return {v.data(), static_cast<std::uint32_t>(v.size())};
  }
  template <class T>
  column<const T> lend(const std::vector<T>& v) {
    lent_.emplace_back(queue_, v.size() * sizeof(T));
    lent_.back().write(v.data(), v.size() * sizeof(T));
    return {reinterpret_cast<const T*>(lent_.back().bytes().data()),
            static_cast<std::uint32_t>(v.size())};
  }
  template <slot S>
  host_columns<typename S::columns> poisoned() const {
    host_columns<typename S::columns> c(S::rows(capacity_));
    if (!c.bytes().empty()) std::memset(c.bytes().data(), poison, c.bytes().size());
    return c;
  }
  [[nodiscard]] std::pair<host_columns<hits::columns>, host_columns<hit_counts::columns>>
  known_hits() const {
    host_columns<hits::columns> all = poisoned<hits>();
    host_columns<hit_counts::columns> counts = poisoned<hit_counts>();
    for (std::uint32_t e = 0; e < capacity_.events; ++e) {
      const auto& from = events_[e].known;
      counts.view().found[e] = static_cast<std::uint32_t>(from.size());
      for (std::uint32_t i = 0; i < from.size() && i < hits::max_hits; ++i)
        all.view()[e * hits::max_hits + i] = from[i];
    }
    return {std::move(all), std::move(counts)};
  }
  [[nodiscard]] host_columns<calorimeter::columns> known_times() const {
    host_columns<calorimeter::columns> times = poisoned<calorimeter>();
    for (std::uint32_t e = 0; e < capacity_.events; ++e) times.view().time[e] = events_[e].time;
    return times;
  }
  host_columns<board_signals::columns> signals() const {
    host_columns<board_signals::columns> boards(board_signals::rows(capacity_));
    std::uint32_t row = 0;
    for (const veto_event& e : events_) {
      for (const veto_pulse& p : e.pulses)
        boards.view().lit[row + p.board] |= static_cast<std::uint16_t>(1U << p.row);
      for (std::size_t k = 0; k < e.boards.size(); ++k, ++row) {
        boards.view().number[row] = e.boards[k];
        boards.view().trigger[row] = e.triggers[k];
      }
    }
    return boards;
  }

  Queue& queue_;
  const std::vector<veto_event>& events_;
  std::vector<std::vector<veto_hit_summary>> highest_;
  std::vector<std::uint16_t> first_board_;
  std::vector<event_entry> event_table_;
  std::vector<board_entry> board_table_;
  std::deque<lent_memory<Queue>> lent_;
  batch_capacity capacity_;
  selection_frame there_;
  selection_frame here_; // the same frame in host memory
};

} // namespace l3::test
