// SPDX-License-Identifier: Apache-2.0
// The plan of a selection: it runs the algorithms of the configured sequence, then places and packs
// the kept events like packing_plan. algorithms/registry.hpp lists the algorithms. If there are
// histograms, their algorithms are added to the sequence.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "selection/histograms/clear_histograms.hpp"
#include "selection/histograms/in_sequence.hpp"
#include "selection/packing/packing_plan.hpp"
#include "selection/sequence/program.hpp"
#include "selection/sequence/steps.hpp"

namespace l3 {

/// A copy of the tables in memory that a queue's kernels can read; all frames share it. A device's
/// copy can be compared with that of the host.
template <class Queue>
class lent_tables {
public:
  lent_tables(Queue queue, const selection_tables& host) {
    region counted;
    static_cast<void>(copies(counted, host));
    here_ = Queue::memory::allocate(counted.used());
    region here(here_);
    there_ = copies(here, host);
    if constexpr (Queue::memory::has_device) {
      seen_ = Queue::memory::allocate(counted.used());
      on_device_ = Queue::memory::allocate_on_device(counted.used());
      region there(on_device_);
      there_ = lay_out(there, host);
      send(queue);
      queue.submit();
      if (const std::string error = queue.finish(); !error.empty())
        throw std::runtime_error("cannot bring the selection's tables to the device: " + error);
    }
  }

  [[nodiscard]] const selection_tables& there() const { return there_; }
  /// The host memory that it uses.
  [[nodiscard]] std::size_t bytes() const { return here_.size() + seen_.size(); }

  void send(Queue& queue) const { queue.copy_in(on_device_.data(), here_.data(), here_.size()); }
  /// Enqueues the copy that differ() compares. Two frames may copy at a time: the same bytes.
  void fetch(Queue& queue) const { queue.copy_out(seen_.data(), on_device_.data(), seen_.size()); }
  [[nodiscard]] bool differ() const {
    return std::memcmp(seen_.data(), here_.data(), here_.size()) != 0;
  }

private:
  template <class T>
  static column<const T> taken(region& r, column<const T> from) {
    return r.take<T>(from.size());
  }
  /// The columns of the tables, placed in the region but not filled.
  static selection_tables lay_out(region& r, const selection_tables& host) {
    return {host.constants,         taken(r, host.first_board),  taken(r, host.board_vetoes),
            taken(r, host.inputs),  taken(r, host.crystals),     taken(r, host.neighbours),
            taken(r, host.modules), taken(r, host.vetoes),       taken(r, host.attenuation),
            taken(r, host.lines),   taken(r, host.packed_lines), taken(r, host.packed_payloads),
            taken(r, host.levels),  taken(r, host.kept_with)};
  }
  template <class T>
  static void copy(column<const T> from, column<const T> to) {
    if (to.data() != nullptr && from.size() != 0)
      std::memcpy(const_cast<T*>(to.data()), from.data(), from.size() * sizeof(T));
  }
  static selection_tables copies(region& r, const selection_tables& host) {
    const selection_tables to = lay_out(r, host);
    copy(host.first_board, to.first_board);
    copy(host.board_vetoes, to.board_vetoes);
    copy(host.inputs, to.inputs);
    copy(host.crystals, to.crystals);
    copy(host.neighbours, to.neighbours);
    copy(host.modules, to.modules);
    copy(host.vetoes, to.vetoes);
    copy(host.attenuation, to.attenuation);
    copy(host.lines, to.lines);
    copy(host.packed_lines, to.packed_lines);
    copy(host.packed_payloads, to.packed_payloads);
    copy(host.levels, to.levels);
    copy(host.kept_with, to.kept_with);
    return to;
  }

  buffer here_;
  buffer on_device_;
  buffer seen_; ///< the device's tables, as last fetched
  selection_tables there_;
};

template <class Queue>
class selecting_plan {
public:
  static constexpr bool selects = true;

  struct columns {
    frame_columns packing;
    std::vector<std::unique_ptr<sequence_step<Queue>>> steps;
  };

  /// Throws std::runtime_error if the sequence is invalid.
  selecting_plan(const selection_program& program, const batch_capacity& capacity, Queue queue)
      : plan_(plan_sequence(sequence_of(program), all_algorithms::infos(), capacity,
                            summaries::name)),
        tables_(std::move(queue), program.tables), capacity_(capacity),
        one_in_(program.histograms_one_in), check_promises_(program.check_promises) {
    const auto infos = all_algorithms::infos();
    counts_channels_ = std::ranges::any_of(
        plan_.steps, [&](std::size_t i) { return infos[i].name == histogram_channels::name; });
  }

  [[nodiscard]] columns take(region& from, const batch_capacity& capacity,
                             column<event_result> results, column<event_summary> summary,
                             codec_id codec) const {
    columns c;
    c.packing = frame_columns::take(from, capacity, results, codec, Queue::memory::has_device);
    c.packing.selected = {summary,
                          tables_.there().packed_lines,
                          tables_.there().packed_payloads,
                          tables_.there().constants.settings,
                          tables_.there().constants.levels,
                          {}};
    auto* const arena = static_cast<std::byte*>(from.take_bytes(plan_.bytes));
    if (arena == nullptr) return c; // the region only counts
    const slot_memory memory(plan_, capacity_, arena, reinterpret_cast<std::byte*>(summary.data()));
    c.packing.selected.pulses = rows_of(memory.view<pulses>());
    c.steps = all_algorithms::bind<Queue>(plan_, memory);
    return c;
  }

  /// Length of a spill's histograms; 0 without histograms.
  [[nodiscard]] std::size_t histogram_bytes() const {
    return one_in_ == 0 ? 0 : histogram_view::bytes_of_area(inputs());
  }
  /// A view of areas below `end`, without spills so far.
  [[nodiscard]] histogram_view histograms(std::byte* end) const {
    return one_in_ == 0 ? histogram_view{} : histogram_view{end, inputs(), one_in_, 0, {}};
  }

  void run(Queue& queue, const batch_view& in, const columns& all, const histogram_view& histograms,
           const output_view& out) const {
    const selection_frame f{in, tables_.there(), all.packing, histograms};
    if (histograms.spills != 0) {
      stage(queue, "clear_histograms");
      queue.run(clear_histograms{}, histograms.spills, histograms, !counts_channels_);
    }
    find_boards_first(queue, in, all.packing);
    for (const auto& step : all.steps) {
      step->run(queue, f);
      if constexpr (!Queue::memory::has_device) {
        if (!check_promises_) continue;
        if (const std::string broken = step->broken_promise(f); !broken.empty())
          throw std::logic_error(broken);
      }
    }
    pack_accepted(queue, in, all.packing, out);
    deliver(queue, in, all.packing, out);
  }

  [[nodiscard]] std::size_t table_bytes() const { return tables_.bytes(); }
  [[nodiscard]] const lent_tables<Queue>& tables() const { return tables_; }

private:
  [[nodiscard]] static pulse_rows rows_of(const pulses::columns::const_view& v) {
    const auto rows = []<class Column>(const Column& c) {
      return column<std::remove_pointer_t<decltype(c.data())>>(c.data(), c.size());
    };
    return {rows(v.pedestal),    rows(v.peak),  rows(v.time),
            rows(v.peak_sample), rows(v.flags), rows(v.sum)};
  }
  [[nodiscard]] static std::vector<std::string> sequence_of(const selection_program& program) {
    return program.histograms_one_in == 0 ? program.sequence : with_histograms(program.sequence);
  }
  [[nodiscard]] std::uint32_t inputs() const { return tables_.there().inputs.size(); }

  sequence_plan plan_;
  lent_tables<Queue> tables_;
  batch_capacity capacity_;
  std::uint32_t one_in_;
  bool counts_channels_ = false;
  bool check_promises_;
};

} // namespace l3
