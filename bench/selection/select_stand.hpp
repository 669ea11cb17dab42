// SPDX-License-Identifier: Apache-2.0
// The parts of the selection on one kind of queue: decoding alone, each algorithm alone on the
// output of the earlier ones, all of them in sequence, and all of them with packing. Before a part
// runs, the columns are set to their state before its turn, with poison where it has to write;
// after it they are compared byte for byte with the serial executor's output.
//
// Slots do not share memory here, unlike in an engine, so any part can be run again alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/harness/packed_events.hpp"
#include "bench/harness/queue_memory.hpp"
#include "bench/selection/connectors.hpp"
#include "bench/selection/select_runner.hpp"
#include "selection/engine/frame_parts.hpp"
#include "selection/engine/selecting_plan.hpp"

namespace l3::bench {

template <class Queue>
class select_stand {
public:
  /// `make_queue` is called for each queue. The batch outlives this object.
  template <class MakeQueue>
  select_stand(const MakeQueue& make_queue, const select_batch& batch,
               const selection_program& program)
      : memory_(make_queue()), tables_(make_queue(), program.tables), batch_(batch),
        capacity_(batch.capacity()), plan_(with_slots_apart(program, capacity_)),
        input_(memory_.place(batch.bytes())), copied_(memory_.allocate(batch.bytes().size())),
        output_(memory_.allocate(largest_output(capacity_, most_between))) {
    std::vector<std::uint64_t> starts(capacity_.events);
    static_cast<void>(
        give_extents(batch.view().events, batch.view().fragments, most_between, starts.data())
            .value());
    starts_ = memory_.place(column<const std::uint64_t>(starts.data(), capacity_.events));
    region columns;
    region results;
    static_cast<void>(take(columns, results));
    columns_ = memory_.allocate(columns.used());
    results_ = memory_.allocate(results.used());
    columns = region(columns_);
    results = region(results_);
    steps_ = take(columns, results);
    frame_.batch = memory_.place(input_, batch.view());
    frame_.tables = tables_.there();
    packets_ = memory_.allocate(capacity_.boards * sizeof(found_packet));
    frame_.packing.packets = {reinterpret_cast<found_packet*>(packets_.data()), capacity_.boards};
    find_boards_first(memory_.queue(), frame_.batch, frame_.packing);
  }

  /// This object and `expected` outlive the parts.
  [[nodiscard]] std::vector<select_part> parts(const select_expected& expected) {
    using bytes = select_expected::bytes;
    std::vector<select_part> all;
    const auto finish = [this] { memory_.finish(); };
    all.push_back({part_kind::copy,
                   {"copy of the same bytes", [this] { memory_.poison(copied_); },
                    [this] { memory_.copy_within(copied_, input_, copied_.size()); },
                    [this] { return memory_.begins_with(copied_, batch_.bytes()); }, finish}});
    // Columns are set to `before` when the part begins, and must equal `after` at its end.
    const auto add = [&](part_kind kind, std::string_view name, const bytes& before,
                         const bytes& after, std::function<void()> run) {
      all.push_back({kind,
                     {std::string(name), [this, &before] { prepare(before); }, std::move(run),
                      [this, &after] { return memory_.begins_with(columns_, after); }, finish}});
    };
    const bytes& none = expected.by_step.front();
    const bytes& every = expected.by_step.back();
    add(part_kind::decode, "decode alone", none, expected.decoded, [this] { run_decode(); });
    for (std::size_t i = 0; i < steps_.size(); ++i)
      add(part_kind::algorithm, algorithms::infos()[plan_.steps[i]].name, expected.by_step[i],
          expected.by_step[i + 1], [this, i] { steps_[i]->run(memory_.queue(), frame_); });
    for (std::size_t i = 0; connectors_ && i < steps_.size(); ++i)
      if (algorithms::infos()[plan_.steps[i]].name == find_clusters::name)
        add(part_kind::alternative, "find_clusters with connectors", expected.by_step[i],
            expected.by_step[i + 1], [this] { connectors_->run(memory_.queue(), frame_); });
    add(part_kind::selection, "all algorithms", none, every, [this] { run_steps(); });
    add(part_kind::packing, "all algorithms, and packing", none, every, [this] {
      run_steps();
      run_packing();
    });
    all.back().what.is_right = [this, &expected] { return packed() == expected.packed; };
    return all;
  }

  /// The outputs of this executor.
  [[nodiscard]] select_expected record() {
    select_expected made;
    const auto copy_of = [&](void* from, std::size_t n) {
      const auto read = memory_.read(from, n);
      return select_expected::bytes(read.begin(), read.end());
    };
    const auto columns = [&] { return copy_of(columns_.data(), columns_.size()); };
    memory_.poison(columns_);
    made.by_step.push_back(columns());
    run_decode();
    made.decoded = columns();
    memory_.poison(columns_);
    for (const auto& step : steps_) {
      step->run(memory_.queue(), frame_);
      made.by_step.push_back(columns());
    }
    run_packing();
    made.packed = packed();
    for (const std::byte accepted :
         memory_.read(frame_.packing.events.accepted.data(), capacity_.events))
      made.kept += std::to_integer<std::uint32_t>(accepted);
    return made;
  }

private:
  static constexpr std::uint32_t most_between =
      packed_summary_bytes(max_lines, max_summary_photons, max_summary_hits) +
      packed_payload_bytes(max_lines);

  using steps = std::vector<std::unique_ptr<sequence_step<Queue>>>;

  void prepare(std::span<const std::byte> columns) {
    memory_.poison(output_);
    memory_.poison(results_);
    memory_.write(columns_, columns);
  }
  void run_decode() {
    find_boards_first(memory_.queue(), frame_.batch, frame_.packing);
    memory_.queue().run(measure_boards{}, frame_.batch.boards.size(), frame_.batch, frame_.packing);
  }
  void run_steps() {
    find_boards_first(memory_.queue(), frame_.batch, frame_.packing);
    for (const auto& step : steps_) step->run(memory_.queue(), frame_);
  }
  void run_packing() {
    const output_view out{output_.data(), starts_};
    pack_accepted(memory_.queue(), frame_.batch, frame_.packing, out);
    deliver(memory_.queue(), frame_.batch, frame_.packing, out);
  }
  [[nodiscard]] std::vector<std::byte> packed() {
    std::vector<event_result> results(capacity_.events);
    const std::size_t bytes = results.size() * sizeof(event_result);
    std::memcpy(results.data(), memory_.read(frame_.packing.events.results.data(), bytes).data(),
                bytes);
    return packed_events(results, memory_.read(output_.data(), output_.size()));
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

  /// The steps on their columns; none while memory is only counted.
  [[nodiscard]] steps take(region& columns, region& results) {
    frame_.packing = frame_columns::take(
        columns, capacity_, results.take<event_result>(capacity_.events), codec_id::koto, false);
    if (Queue::memory::has_device) // apart from the columns that are compared
      frame_.packing.slots = results.take<std::byte>(capacity_.boards * board_slot_bytes);
    const auto summary = columns.take<event_summary>(capacity_.events);
    frame_.packing.selected = {summary,
                               tables_.there().packed_lines,
                               tables_.there().packed_payloads,
                               tables_.there().constants.settings,
                               tables_.there().constants.levels,
                               {}};
    auto* const slots = static_cast<std::byte*>(columns.take_bytes(plan_.bytes));
    if (slots == nullptr) return {};
    const slot_memory memory(plan_, capacity_, slots, reinterpret_cast<std::byte*>(summary.data()));
    for (const std::size_t i : plan_.steps)
      if (algorithms::infos()[i].name == find_clusters::name)
        connectors_ =
            std::make_unique<sequence_details::bound_step<Queue, find_clusters_by_connectors>>(
                memory);
    return algorithms::bind<Queue>(plan_, memory);
  }

  queue_memory<Queue> memory_;
  lent_tables<Queue> tables_;
  const select_batch& batch_;
  batch_capacity capacity_;
  sequence_plan plan_;
  buffer input_;
  buffer copied_;
  buffer output_;
  buffer columns_; ///< of all algorithms and of packing, except results and packets
  buffer results_;
  buffer packets_; ///< found once for algorithms that run alone
  column<const std::uint64_t> starts_;
  selection_frame frame_;
  steps steps_;
  std::unique_ptr<sequence_step<Queue>> connectors_; ///< if the sequence finds clusters
};

template <class MakeQueue>
[[nodiscard]] select_runner
make_select_runner(std::string where, std::uint32_t cores, const MakeQueue& make_queue,
                   const select_batch& batch, const selection_program& program,
                   const select_expected& expected) {
  using queue = std::invoke_result_t<MakeQueue>;
  const auto stand = std::make_shared<select_stand<queue>>(make_queue, batch, program);
  return {std::move(where), cores, stand->parts(expected), {stand}};
}

} // namespace l3::bench
