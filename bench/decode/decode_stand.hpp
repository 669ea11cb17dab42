// SPDX-License-Identifier: Apache-2.0
// A batch of synthetic events and the decoder on one kind of queue, with techniques added in LHCb's
// order. The output of every step is compared with that of the first one on the serial executor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/decode/decode_batch.hpp"
#include "bench/decode/decoder.hpp"
#include "bench/harness/measure.hpp"
#include "bench/harness/queue_memory.hpp"

namespace l3::bench {

struct decode_step {
  const char* name;
  decode_techniques how;
};
inline constexpr std::array<decode_step, 7> decode_steps{{
    {"none of the techniques", no_technique},
    {"+ table by source", {true, false, false, false, false, false}},
    {"+ zero suppression", {true, true, false, false, false, false}},
    {"+ warp-aggregated atomics", {true, true, true, false, false, false}},
    {"+ big banks first", {true, true, true, true, false, false}},
    {"+ 16-bit registers", {true, true, true, true, true, false}},
    {"+ opportunistic looping", {true, true, true, true, true, true}},
}};

template <class Queue>
class decode_stand {
public:
  /// The queue runs `at_once` blocks at the same time. The batch outlives this object.
  decode_stand(Queue queue, std::uint32_t at_once, const decode_batch& batch,
               std::uint32_t threshold)
      : memory_(std::move(queue)), at_once_(at_once), batch_(batch), threshold_(threshold),
        expected_(decode_on_host(batch, threshold)), input_(memory_.place(batch.bytes())),
        copied_(memory_.allocate(batch.bytes().size())), output_(memory_.allocate(output_bytes())),
        there_(memory_.place(input_, batch.view())) {}

  [[nodiscard]] entrant copy(std::string name) {
    return {std::move(name), [this] { memory_.poison(copied_); },
            [this] { memory_.copy_within(copied_, input_, batch_.bytes().size()); },
            [this] { return memory_.begins_with(copied_, batch_.bytes()); },
            [this] { memory_.finish(); }};
  }

  template <std::size_t i>
  [[nodiscard]] entrant step() {
    const std::vector<std::uint32_t> list = decode_work(batch_.view(), decode_steps[i].how);
    const column<const std::uint32_t> work = memory_.place(
        column<const std::uint32_t>(list.data(), static_cast<std::uint32_t>(list.size())));
    return {decode_steps[i].name, [this] { memory_.poison(output_); },
            [this, work] {
              run_decoder<decode_steps[i].how>(memory_.queue(), there_, work, threshold_,
                                               output_in(output_.data()), at_once_);
            },
            [this] { return is_right(); }, [this] { memory_.finish(); }};
  }

private:
  [[nodiscard]] bool is_right() {
    const std::span<std::byte> made = memory_.read(output_.data(), output_bytes());
    put_in_order(output_in(made.data()), batch_.view());
    return std::memcmp(made.data(), expected_.data(), made.size()) == 0;
  }
  [[nodiscard]] std::size_t output_bytes() const {
    region counted;
    static_cast<void>(take_output(counted));
    return counted.used();
  }
  [[nodiscard]] decoded_batch take_output(region& from) const {
    return decoded_batch::take(from, batch_.view().events.size(), batch_.view().boards.size());
  }
  [[nodiscard]] decoded_batch output_in(std::byte* memory) const {
    region from(buffer(memory, 0, [](std::byte*, std::size_t) {}));
    return take_output(from);
  }

  queue_memory<Queue> memory_;
  std::uint32_t at_once_;
  const decode_batch& batch_;
  std::uint32_t threshold_;
  buffer expected_;
  buffer input_;
  buffer copied_;
  buffer output_;
  batch_view there_;
};

/// The measurement on any executor for the printing program. The first entrant is a copy of the
/// batch's bytes within the same memory; the steps follow.
struct decode_entrants {
  std::string where;
  std::vector<entrant> all;
  std::shared_ptr<void> stand; ///< owns what they use
};

template <class Queue>
decode_entrants make_decode_entrants(std::string where, Queue queue, std::uint32_t at_once,
                                     const decode_batch& batch, std::uint32_t threshold) {
  const auto stand =
      std::make_shared<decode_stand<Queue>>(std::move(queue), at_once, batch, threshold);
  decode_entrants made{std::move(where), {}, stand};
  made.all.push_back(stand->copy(Queue::memory::has_device
                                     ? "copy of the same bytes within the device"
                                     : "memcpy of the same bytes, one core"));
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (made.all.push_back(stand->template step<i>()), ...);
  }
  (std::make_index_sequence<decode_steps.size()>());
  return made;
}

/// On the CUDA device.
[[nodiscard]] decode_entrants make_cuda_decode_entrants(const decode_batch& batch,
                                                        std::uint32_t threshold);

} // namespace l3::bench
