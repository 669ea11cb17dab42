// SPDX-License-Identifier: Apache-2.0
// The engine for a given kind of queue. On host memory, kernels read and write a frame's input,
// columns and output in place. On a device, each of these has a device copy: start() enqueues the
// copy to the device, the kernels and the copy back, and wait_for() waits once for the end of all
// three. No frame waits for another, and the host needs no size from the device in between. The
// device never writes to a frame's input.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/executors/lost_device.hpp"
#include "gpu/memory/buffer.hpp"
#include "selection/engine/engine.hpp"
#include "selection/engine/frame_parts.hpp"
#include "selection/packing/packing_plan.hpp"
#include "selection/sequence/histogram_view.hpp"

namespace l3 {

/// `Queue` runs kernels, `Queue::memory` allocates their memory, and `Plan` enqueues the kernels of
/// a frame (see selection/packing/packing_plan.hpp).
template <class Queue, class Plan>
class basic_engine final : public engine {
  static constexpr bool has_device = Queue::memory::has_device;
  static constexpr bool gathers = requires(Queue & q) { q.launch_gathered(); };
  static constexpr bool selects = requires { Plan::selects; };
  static constexpr std::uint32_t summary_bytes =
      selects ? packed_summary_bytes(max_lines, max_summary_photons, max_summary_hits) +
                    packed_payload_bytes(max_lines)
              : 0;

public:
  /// Calls make_queue() for each frame, and for each restart. `parts` owns objects that must
  /// outlive the queues, such as a thread pool.
  template <class MakeQueue>
  basic_engine(std::string_view name, const engine_limits& limits, MakeQueue make_queue,
               std::shared_ptr<void> parts = nullptr, Plan plan = Plan())
      : parts_(std::move(parts)), make_queue_(std::move(make_queue)), plan_(std::move(plan)),
        output_bytes_(largest_output(limits.batch, summary_bytes)) {
    if (has_device && !limits.own_input) std::abort(); // a device reads the engine's memory only
    name_ = name;
    for (std::uint32_t i = 0; i < limits.frames; ++i) {
      owned_.push_back(std::make_unique<own_frame>(plan_, limits, output_bytes_, make_queue_()));
      owned_.back()->index = limits.first_index + i * limits.index_step;
      frames_.push_back(owned_.back().get());
    }
    memory_plan_ = plan_memory(limits, plan_);
    if constexpr (has_device) {
      for (const auto& f : owned_) warm_up(*f);
    }
    if constexpr (gathers) {
      kernels_are_loaded_ = true;
      for (const auto& f : owned_) warm_up(*f); // creates the graphs
    }
  }

  /// The memory that the frames of such an engine will take.
  [[nodiscard]] static std::vector<memory_use> plan_memory(const engine_limits& limits,
                                                           const Plan& plan) {
    const std::size_t frames = limits.frames;
    const std::size_t of_frame = largest_output(limits.batch, summary_bytes);
    const std::size_t host = frames * own_frame::host_bytes(plan, limits, of_frame);
    const std::size_t arena = frames * own_frame::arena_bytes(plan, limits);
    const std::size_t input = limits.own_input ? frames * limits.batch.bytes : 0;
    const std::size_t output = frames * of_frame;
    std::size_t histograms = 0;
    if constexpr (selects) histograms = frames * max_frame_spills * plan.histogram_bytes();
    std::vector<memory_use> all{{"frames: input", input},
                                {"frames: output", output},
                                {"frames: tables and results", host - input - output - histograms},
                                {has_device ? "frames: device memory" : "frames: columns", arena}};
    if (histograms != 0) all.push_back({"frames: histograms", histograms});
    if constexpr (selects) all.push_back({"selection: tables", plan.table_bytes()});
    return all;
  }

  void start(frame& f) override {
    auto& own = static_cast<own_frame&>(f);
    own.forget_results();
    own.give_extents();
    if constexpr (selects) own.look_at_spills(plan_.histograms(own.parts.areas_end()));
    own.hand_over();
    if constexpr (has_device && selects) fetch_tables_once_a_spill(own);
    if constexpr (gathers) {
      if (kernels_are_loaded_) own.queue->gather();
    }
    if constexpr (selects) {
      plan_.run(*own.queue, own.batch, own.columns, own.counted, own.extents);
    } else {
      plan_.run(*own.queue, own.batch, own.columns, own.extents);
    }
    if constexpr (gathers) own.queue->launch_gathered();
    if constexpr (has_device) own.queue->submit();
  }

  [[nodiscard]] frame_outcome wait_for(frame& f,
                                       [[maybe_unused]] std::chrono::nanoseconds limit) override {
    auto& own = static_cast<own_frame&>(f);
    if constexpr (has_device) {
      if (!own.queue->finish_for(limit, f.error)) return frame_outcome::not_yet;
      if (!f.error.empty()) {
        if (own.queue->is_lost()) lost_ = true;
        return frame_outcome::failed;
      }
    }
    f.results = {own.host.results.data(), f.input.used_events};
    if constexpr (selects) {
      f.summaries = {own.host.summaries.data(), f.input.used_events};
      own.show_histograms();
    }
    f.output = f.output_memory.first(own.end_of_extents);
    if constexpr (has_device && selects) {
      if (std::exchange(own.fetches_tables, false) && plan_.tables().differ()) {
        f.error = "the selection's tables changed in the device's memory";
        return frame_outcome::wrong;
      }
    }
    return frame_outcome::done;
  }

  [[nodiscard]] bool at_rest([[maybe_unused]] const frame& f) const override {
    if constexpr (has_device) {
      const auto& own = static_cast<const own_frame&>(f);
      return own.queue->at_rest();
    }
    return true;
  }

  [[nodiscard]] bool reads_input([[maybe_unused]] const frame& f) const override {
    if constexpr (has_device) return !static_cast<const own_frame&>(f).queue->is_past_mark();
    return false;
  }

  [[nodiscard]] bool lost() const override { return lost_; }

  /// Creates a new queue and keeps the memory: work on a frame never reads what earlier work wrote
  /// there, except the selection's tables, which are sent again; and releasing device memory would
  /// wait for all work of the device.
  [[nodiscard]] bool restart([[maybe_unused]] frame& f) override {
    if constexpr (has_device) {
      auto& own = static_cast<own_frame&>(f);
      try {
        Queue made = make_queue_(); // before the old one is released: a frame always has a queue
        own.queue.emplace(std::move(made));
        if constexpr (selects) {
          plan_.tables().send(*own.queue);
          seen_spill_ = no_spill;
        }
      } catch (const std::runtime_error& e) {
        if (dynamic_cast<const lost_device*>(&e) != nullptr) lost_ = true;
        f.error = e.what();
        return false;
      }
    }
    return true;
  }

private:
  struct own_frame : frame {
    own_frame(const Plan& plan, const engine_limits& limits, std::size_t output_bytes, Queue q)
        : queue(std::move(q)) {
      const batch_capacity& c = limits.batch;
      const batch_capacity lying_here = host_capacity(limits);
      const std::uint32_t summary_rows = selects ? c.events : 0;
      const std::size_t area = area_bytes(plan);
      host_memory = Queue::memory::allocate(host_bytes(plan, limits, output_bytes));
      region here(host_memory);
      host = frame_parts::take(here, lying_here, output_bytes, summary_rows, area, has_device);

      const std::size_t arena = arena_bytes(plan, limits);
      if constexpr (has_device) {
        arena_memory = Queue::memory::allocate_on_device(arena);
      } else {
        arena_memory = Queue::memory::allocate(arena);
      }
      region there(arena_memory);
      parts = host;
      if constexpr (has_device) parts = frame_parts::take_on_device(there, c, summary_rows, area);
      columns = columns_of(plan, there, limits, parts.results, parts.summaries);
      if constexpr (has_device) {
        mapped_areas_end = Queue::memory::on_device(host.areas_end());
        parts.output = Queue::memory::on_device(host.output);
      }

      input.bytes = {host.input, lying_here.bytes};
      input.events = {host.events.data(), c.events};
      input.fragments = {host.fragments.data(), c.fragments};
      input.pieces = {host.pieces.data(), c.pieces};
      input.boards = {host.boards.data(), c.boards};
      output_memory = {host.output, output_bytes};
    }

    [[nodiscard]] static std::size_t host_bytes(const Plan& plan, const engine_limits& limits,
                                                std::size_t output_bytes) {
      region counting;
      (void)frame_parts::take(counting, host_capacity(limits), output_bytes,
                              selects ? limits.batch.events : 0, area_bytes(plan), has_device);
      return counting.used();
    }

    [[nodiscard]] static std::size_t arena_bytes(const Plan& plan, const engine_limits& limits) {
      const batch_capacity& c = limits.batch;
      const std::uint32_t summary_rows = selects ? c.events : 0;
      region counting;
      if constexpr (has_device)
        (void)frame_parts::take_on_device(counting, c, summary_rows, area_bytes(plan));
      (void)columns_of(plan, counting, limits, {nullptr, c.events}, {nullptr, summary_rows});
      return counting.used();
    }

    [[nodiscard]] static batch_capacity host_capacity(const engine_limits& limits) {
      batch_capacity here = limits.batch;
      if (!limits.own_input) here.bytes = 0;
      return here;
    }

    [[nodiscard]] static std::size_t area_bytes([[maybe_unused]] const Plan& plan) {
      if constexpr (selects) return plan.histogram_bytes();
      return 0;
    }

    /// Gives the events their extents, which kernels could leave if the tables were wrong.
    void give_extents() {
      const auto end = l3::give_extents({input.events.data(), input.used_events},
                                        {input.fragments.data(), input.used_fragments},
                                        summary_bytes, host.starts.data());
      if (!end || *end > output_memory.size()) std::abort();
      end_of_extents = *end;
    }

    /// Sets the batch and the extents for the kernels. A CPU reads the host's tables. For a device
    /// they are appended to the input in the order of frame_parts, so that one copy brings both.
    void hand_over() {
      std::size_t end = input.used_bytes;
      const auto table = [&]<class T>(const T* rows, std::uint32_t n) {
        if constexpr (has_device) {
          end = round_up(end, region::alignment);
          if (n != 0) std::memcpy(host.input + end, rows, n * sizeof(T));
          rows = reinterpret_cast<const T*>(parts.input + end);
          end += n * sizeof(T);
        }
        return column<const T>(rows, n);
      };
      batch.input = has_device ? parts.input : input.bytes.data();
      batch.events = table(input.events.data(), input.used_events);
      extents = {parts.output, table(std::as_const(host).starts.data(), input.used_events)};
      batch.fragments = table(input.fragments.data(), input.used_fragments);
      batch.pieces = table(input.pieces.data(), input.used_pieces);
      batch.boards = table(input.boards.data(), input.used_boards);
      batch.homes = {parts.homes.data(), input.used_boards};
      if constexpr (has_device) {
        extents.head = parts.head(counted.spills);
        extents.head_there = mapped_areas_end - counted.spills * host.area_bytes;
        extents.head_bytes = host.head_bytes(counted.spills, input.used_events);
        stage(*queue, "copy in");
        queue->copy_in(parts.input, host.input, end);
        queue->mark();
      }
    }

    void forget_results() {
      results = {};
      summaries = {};
      histograms = {};
      output = {};
    }

    /// Assigns areas to the spills of the batch if there are histograms.
    void look_at_spills(const histogram_view& of_none) {
      counted = of_none;
      if (counted.inputs == 0) return;
      for (const event_entry& e : input.events.first(input.used_events)) counted.add(e.spill);
    }

    void show_histograms() {
      histogram_view here = counted;
      here.end = host.areas_end();
      for (std::uint32_t k = 0; k < here.spills; ++k)
        shown[k] = {here.spill[k], {here.channels(k), here.inputs}, {here.counts(k), event_counts}};
      histograms = {shown.data(), here.spills};
    }

    static typename Plan::columns columns_of(const Plan& plan, region& from,
                                             const engine_limits& limits,
                                             column<event_result> results,
                                             column<event_summary> summary_column) {
      if constexpr (selects) {
        return plan.take(from, limits.batch, results, summary_column, limits.codec);
      } else {
        return Plan::columns::take(from, limits.batch, results, limits.codec, has_device);
      }
    }

    buffer host_memory;
    buffer arena_memory;
    frame_parts host;
    frame_parts parts; ///< for the kernels: those of the host, or their copies on the device, with
                       ///< the host's output by its device address
    std::byte* mapped_areas_end = nullptr; ///< of the host, by its device address
    std::size_t end_of_extents = 0;
    batch_view batch;    ///< for the kernels
    output_view extents; ///< likewise
    bool fetches_tables = false;
    histogram_view counted; ///< in the memory of `parts`, with the spills of the batch
    std::array<frame_histograms, max_frame_spills> shown;
    typename Plan::columns columns;
    /// The last member: its destructor waits for pending work before the memory is released. Never
    /// empty; std::optional because a queue cannot be assigned.
    std::optional<Queue> queue;
  };

  /// A bit that flips in the tables makes every later decision doubtful, and few samples show it.
  void fetch_tables_once_a_spill(own_frame& f) {
    f.fetches_tables = f.input.used_events != 0 &&
                       seen_spill_.exchange(f.input.events[0].spill) != f.input.events[0].spill;
    if (f.fetches_tables) plan_.tables().fetch(*f.queue);
  }

  /// Computes one event with one empty fragment, so that every kernel runs a block. The first
  /// launch of a kernel loads it, which allocates memory and waits; this moves that to the start.
  /// The zeroed tables describe such an event except for the numbers of fragments and boards.
  void warm_up(own_frame& f) {
    input_batch& in = f.input;
    const auto one_of = [](auto table) {
      return std::min<std::uint32_t>(1, static_cast<std::uint32_t>(table.size()));
    };
    in.used_events = one_of(in.events);
    in.used_fragments = one_of(in.fragments);
    in.used_boards = one_of(in.boards);
    for (event_entry& e : in.events.first(in.used_events)) {
      e.fragments = in.used_fragments;
      e.boards = in.used_boards;
    }
    const auto fragments = in.fragments.first(in.used_fragments);
    for (fragment_entry& e : fragments) e.boards = static_cast<std::uint16_t>(in.used_boards);
    start(f);
    if (!wait(f)) throw std::runtime_error("the device cannot compute: " + f.error);
    for (event_entry& e : in.events.first(in.used_events)) e = {};
    for (fragment_entry& e : fragments) e = {};
    in.clear();
    f.forget_results();
  }

  std::shared_ptr<void> parts_;
  std::function<Queue()> make_queue_;
  Plan plan_;
  std::size_t output_bytes_;
  std::atomic<bool> lost_ = false;
  static constexpr std::uint64_t no_spill = ~std::uint64_t{0};
  std::atomic<std::uint64_t> seen_spill_ = no_spill; ///< in which the tables were fetched
  bool kernels_are_loaded_ = false; ///< by the first launch of each, which must not be gathered
  std::vector<std::unique_ptr<own_frame>> owned_;
};

} // namespace l3
