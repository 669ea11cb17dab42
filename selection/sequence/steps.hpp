// SPDX-License-Identifier: Apache-2.0
// The steps of a sequence for one kind of queue. A step has its kernel and the views of its slots
// in the arena of one frame. The engine creates the steps with the frame; running a step launches
// its kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "selection/packing/stage.hpp"
#include "selection/sequence/plan.hpp"

namespace l3 {

template <class Queue>
class sequence_step {
public:
  virtual ~sequence_step() = default;
  virtual void run(Queue& queue, const selection_frame& f) const = 0;
  /// Returns the promise that the step's output breaks; empty if it keeps all. Only if kernels run
  /// on host memory.
  [[nodiscard]] virtual std::string broken_promise(const selection_frame& f) const = 0;
};

/// The memory of a frame's slots.
class slot_memory {
public:
  /// The slot that the plan hands out is at `handed_out`, all others are in `arena`.
  slot_memory(const sequence_plan& plan, const batch_capacity& capacity, std::byte* arena,
              std::byte* handed_out)
      : plan_(&plan), capacity_(capacity), arena_(arena), handed_out_(handed_out) {}

  template <slot S>
  [[nodiscard]] typename S::columns::view view() const {
    const auto& place = plan_->at(S::name);
    std::byte* const at = place.handed_out ? handed_out_ : arena_ + place.offset;
    region here(buffer(at, place.bytes, [](std::byte*, std::size_t) {}));
    return S::columns::take(here, S::rows(capacity_));
  }

private:
  const sequence_plan* plan_;
  batch_capacity capacity_;
  std::byte* arena_;
  std::byte* handed_out_;
};

namespace sequence_details {

template <slot... S>
auto views_of(slot_list<S...>, const slot_memory& memory) {
  return std::tuple<typename S::columns::view...>(memory.view<S>()...);
}
template <slot... S>
auto const_views_of(slot_list<S...>, const slot_memory& memory) {
  return std::tuple<typename S::columns::const_view...>(memory.view<S>()...);
}

template <class Queue, algorithm A>
class bound_step final : public sequence_step<Queue> {
public:
  explicit bound_step(const slot_memory& memory)
      : arguments_(std::tuple_cat(const_views_of(typename A::reads{}, memory),
                                  views_of(l3::updates_of<A>{}, memory),
                                  views_of(typename A::writes{}, memory))) {}

  void run(Queue& queue, const selection_frame& f) const override {
    stage(queue, A::name.data());
    std::apply([&](const auto&... slots) { queue.run(A{}, blocks_of(f), f, slots...); },
               arguments_);
  }

  [[nodiscard]] std::string broken_promise(const selection_frame& f) const override {
    const char* const what = std::apply(
        [&](const auto&... slots) { return A::broken_promise(f, slots...); }, arguments_);
    return what == nullptr ? std::string() : std::string(A::name) + ": " + what;
  }

private:
  [[nodiscard]] static std::uint32_t blocks_of(const selection_frame& f) {
    switch (A::run_for) {
    case blocks_for::board: return f.batch.boards.size();
    case blocks_for::event: return f.batch.events.size();
    case blocks_for::readout_board: break;
    }
    return f.histograms.spills * (f.histograms.inputs / packet_lanes);
  }

  decltype(std::tuple_cat(const_views_of(typename A::reads{}, std::declval<slot_memory>()),
                          views_of(l3::updates_of<A>{}, std::declval<slot_memory>()),
                          views_of(typename A::writes{}, std::declval<slot_memory>()))) arguments_;
};

} // namespace sequence_details

/// The algorithms that a sequence may use.
template <algorithm... A>
struct algorithm_list {
  [[nodiscard]] static std::vector<algorithm_info> infos() { return {info_of<A>()...}; }

  /// Creates a step for each step of the plan, on the slots of one frame.
  template <class Queue>
  [[nodiscard]] static std::vector<std::unique_ptr<sequence_step<Queue>>>
  bind(const sequence_plan& plan, const slot_memory& memory) {
    using make = std::unique_ptr<sequence_step<Queue>> (*)(const slot_memory&);
    constexpr make makers[] = {[](const slot_memory& m) -> std::unique_ptr<sequence_step<Queue>> {
      return std::make_unique<sequence_details::bound_step<Queue, A>>(m);
    }...};
    std::vector<std::unique_ptr<sequence_step<Queue>>> steps;
    for (const std::size_t i : plan.steps) steps.push_back(makers[i](memory));
    return steps;
  }
};

} // namespace l3
