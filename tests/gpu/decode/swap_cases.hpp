// SPDX-License-Identifier: Apache-2.0
// The cases of swap_in (gpu/decode/packet.hpp), of which a device has a form of its own. A program
// that includes this header names the executors it tests.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/decode/packet.hpp"
#include "tests/gpu/executors/lent_memory.hpp"
#include "tests/gpu/executors/on_executor.hpp"

namespace l3::test {

/// A kernel that brings n words into shared memory and writes all of that to `out`.
struct bring_in {
  static constexpr std::uint32_t width = 128;
  static constexpr std::uint32_t room = 2000;

  struct shared {
    alignas(64) std::uint16_t words[room];
  };

  template <block B>
  L3_FN void operator()(const B& b, shared& s, const std::byte* from, std::uint32_t n,
                        column<std::uint16_t> out) const {
    for_each(b, room, [&](std::uint32_t i) { s.words[i] = 0; });
    b.sync();
    swap_in(b, from, s.words, n);
    b.sync();
    for_each(b, room, [&](std::uint32_t i) { out[i] = s.words[i]; });
  }
};

template <class Executor>
class swapping : public on_executor<Executor> {};
TYPED_TEST_SUITE_P(swapping);

TYPED_TEST_P(swapping, brings_words_in_at_any_length) {
  constexpr std::uint32_t room = bring_in::room;
  std::vector<std::uint16_t> from(room + 1);
  std::iota(from.begin(), from.end(), std::uint16_t{0x1234});
  auto queue = TypeParam::make();
  lent_memory input(queue, from.size() * sizeof from[0]);
  input.write(from.data(), from.size() * sizeof from[0]);
  for (const std::uint32_t skipped : {0U, 1U}) { // words, and then nothing lies at multiples of 4
    for (const std::uint32_t n : {0U, 1U, 2U, 255U, 256U, 1036U, 1280U, 1282U, 1999U}) {
      std::vector<std::uint16_t> to(room);
      const lent_memory output(queue, to.size() * sizeof to[0]);
      queue.run(
          bring_in{}, 1U, input.bytes().data() + skipped * sizeof from[0], n,
          column<std::uint16_t>(reinterpret_cast<std::uint16_t*>(output.bytes().data()), room));
      output.read(to.data());
      for (std::uint32_t i = 0; i < room; ++i)
        ASSERT_EQ(to[i], i < n ? swap_bytes(from[i + skipped]) : 0) << i << " of " << n;
    }
  }
}

REGISTER_TYPED_TEST_SUITE_P(swapping, brings_words_in_at_any_length);

} // namespace l3::test
