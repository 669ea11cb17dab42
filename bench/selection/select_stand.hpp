// SPDX-License-Identifier: Apache-2.0
// The selection on one kind of queue, taken apart: decoding alone, each algorithm by itself on
// what those before it left, all of them one after the other, and all of them with packing. Before
// a part runs, the columns are put as they are when its turn comes, with poison wherever it has
// yet to write; after it they are compared, byte for byte, with what the serial executor made of
// them.
//
// Slots do not share memory here, as they do in an engine: any part can be run again by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/selection/select_memory.hpp"
#include "bench/selection/select_runner.hpp"
#include "selection/engine/frame_parts.hpp"
#include "selection/engine/selecting_plan.hpp"

namespace l3::bench {

template <class Queue>
class select_stand {
public:
  /// `make_queue` is called for each queue that is needed. The batch outlives the stand.
  template <class MakeQueue>
  select_stand(const MakeQueue& make_queue, const select_batch& batch,
               const selection_program& program)
      : queue_(make_queue()), memory_(queue_), tables_(make_queue(), program.tables), batch_(batch),
        capacity_(capacity_of(batch)), plan_(with_slots_apart(program, capacity_)),
        input_(memory_.place(batch.bytes())), copied_(memory_.allocate(batch.bytes().size())),
        output_(memory_.allocate(
            largest_output(capacity_, packed_summary_bytes(max_lines, max_summary_photons)))) {
    region columns;
    region results;
    static_cast<void>(take(columns, results));
    columns_ = memory_.allocate(columns.used());
    results_ = memory_.allocate(results.used());
    columns = region(columns_);
    results = region(results_);
    steps_ = take(columns, results);
    const batch_view& host = batch.view();
    frame_.batch = {input_.data(), memory_.place(host.events), memory_.place(host.fragments),
                    memory_.place(host.pieces), memory_.place(host.boards)};
    frame_.tables = tables_.there();

    parts_ = {{"copy of the same bytes", part_kind::copy}, {"decode alone", part_kind::decode}};
    for (const std::size_t i : plan_.steps)
      parts_.push_back({std::string(algorithms::infos()[i].name), part_kind::algorithm});
    parts_.push_back({"all algorithms", part_kind::selection});
    parts_.push_back({"all algorithms, and packing", part_kind::packing});
  }

  [[nodiscard]] const std::vector<select_part>& parts() const { return parts_; }

  /// What this executor makes of the batch.
  [[nodiscard]] select_expected record() {
    select_expected made;
    const auto columns = [&] { return memory_.read(columns_.data(), columns_.size()); };
    memory_.poison(columns_);
    made.by_step.push_back(columns());
    run_decode();
    made.decoded = columns();
    memory_.poison(columns_);
    for (const auto& step : steps_) {
      step->run(queue_, frame_);
      made.by_step.push_back(columns());
    }
    run_packing();
    made.packed = memory_.read(output_.data(), packed_bytes());
    for (const std::byte accepted :
         memory_.read(frame_.packing.events.accepted.data(), capacity_.events))
      made.kept += std::to_integer<std::uint32_t>(accepted);
    return made;
  }

  void prepare(std::size_t part, const select_expected& expected) {
    if (part == copy) return memory_.poison(copied_);
    memory_.poison(output_);
    memory_.poison(results_);
    memory_.write(columns_, expected.by_step[is_algorithm(part) ? part - first_algorithm : 0]);
  }

  /// Returns when all passes, one behind the other, are done.
  void run(std::size_t part, std::uint32_t passes) {
    for (std::uint32_t pass = 0; pass < passes; ++pass) {
      switch (parts_[part].kind) {
      case part_kind::copy: run_copy(); break;
      case part_kind::decode: run_decode(); break;
      case part_kind::algorithm: steps_[part - first_algorithm]->run(queue_, frame_); break;
      case part_kind::selection: run_steps(); break;
      case part_kind::packing:
        run_steps();
        run_packing();
        break;
      }
    }
    memory_.finish();
  }

  [[nodiscard]] bool is_right(std::size_t part, const select_expected& expected) {
    switch (parts_[part].kind) {
    case part_kind::copy: return memory_.begins_with(copied_, batch_.bytes());
    case part_kind::decode: return memory_.begins_with(columns_, expected.decoded);
    case part_kind::algorithm:
      return memory_.begins_with(columns_, expected.by_step[part - first_algorithm + 1]);
    case part_kind::selection: return memory_.begins_with(columns_, expected.by_step.back());
    default:
      return packed_bytes() == expected.packed.size() &&
             memory_.begins_with(output_, expected.packed);
    }
  }

private:
  using steps = std::vector<std::unique_ptr<sequence_step<Queue>>>;
  static constexpr std::size_t copy = 0;
  static constexpr std::size_t first_algorithm = 2;

  [[nodiscard]] bool is_algorithm(std::size_t part) const {
    return parts_[part].kind == part_kind::algorithm;
  }

  void run_copy() {
    if constexpr (Queue::memory::has_device) {
      queue_.copy_within(copied_.data(), input_.data(), copied_.size());
    } else {
      std::memcpy(copied_.data(), input_.data(), copied_.size());
    }
  }
  void run_decode() {
    queue_.run(measure_boards{}, frame_.batch.boards.size(), frame_.batch, frame_.packing);
  }
  void run_steps() {
    for (const auto& step : steps_) step->run(queue_, frame_);
  }
  void run_packing() {
    pack_accepted(queue_, frame_.batch, frame_.packing, {output_.data(), output_.size()}, summary_);
  }
  [[nodiscard]] std::uint64_t packed_bytes() {
    frame_summary s;
    std::memcpy(&s, memory_.read(summary_, sizeof s).data(), sizeof s);
    return s.output_bytes;
  }

  [[nodiscard]] static batch_capacity capacity_of(const select_batch& batch) {
    const batch_view& in = batch.view();
    return {in.events.size(), in.fragments.size(), in.pieces.size(), in.boards.size(),
            batch.bytes().size()};
  }
  [[nodiscard]] static sequence_plan with_slots_apart(const selection_program& program,
                                                      const batch_capacity& capacity) {
    sequence_plan plan =
        plan_sequence(program.sequence, algorithms::infos(), capacity, summaries::name);
    plan.bytes = 0;
    for (auto& slot : plan.slots) {
      if (slot.handed_out) continue;
      slot.offset = plan.bytes;
      plan.bytes += round_up(slot.bytes, region::alignment);
    }
    return plan;
  }

  /// The steps on their columns; none where memory is only being counted.
  [[nodiscard]] steps take(region& columns, region& results) {
    summary_ = results.take<frame_summary>(1).data();
    frame_.packing =
        frame_columns::take(columns, capacity_, results.take<event_result>(capacity_.events));
    const auto summary = columns.take<event_summary>(capacity_.events);
    frame_.packing.selected = {summary, tables_.there().packed_lines,
                               tables_.there().constants.settings};
    auto* const slots = static_cast<std::byte*>(columns.take_bytes(plan_.bytes));
    if (slots == nullptr) return {};
    return algorithms::bind<Queue>(
        plan_, {plan_, capacity_, slots, reinterpret_cast<std::byte*>(summary.data())});
  }

  Queue queue_;
  select_memory<Queue> memory_;
  lent_tables<Queue> tables_;
  const select_batch& batch_;
  batch_capacity capacity_;
  sequence_plan plan_;
  buffer input_;
  buffer copied_;
  buffer output_;
  buffer columns_; ///< of all algorithms and of packing, but for the results
  buffer results_;
  frame_summary* summary_ = nullptr;
  selection_frame frame_;
  steps steps_;
  std::vector<select_part> parts_;
};

template <class MakeQueue>
[[nodiscard]] select_runner
make_select_runner(std::string where, std::uint32_t cores, const MakeQueue& make_queue,
                   const select_batch& batch, const selection_program& program,
                   const select_expected& expected) {
  using queue = std::invoke_result_t<MakeQueue>;
  const auto stand = std::make_shared<select_stand<queue>>(make_queue, batch, program);
  return {std::move(where),
          cores,
          stand->parts(),
          [stand, &expected](std::size_t part) { stand->prepare(part, expected); },
          [stand](std::size_t part, std::uint32_t passes) { stand->run(part, passes); },
          [stand, &expected](std::size_t part) { return stand->is_right(part, expected); }};
}

} // namespace l3::bench
