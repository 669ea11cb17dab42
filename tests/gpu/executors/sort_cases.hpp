// SPDX-License-Identifier: Apache-2.0
// sort_block must give the result of std::sort on every executor, and touch nothing behind the
// keys. A program that includes this header names the executors it tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/executors/sort.hpp"
#include "tests/gpu/decode/decode_memory.hpp"
#include "tests/gpu/executors/on_executor.hpp"

namespace l3::test {

/// Sorts each segment by one block; segments have equal length. Copies back all of the space.
template <std::uint32_t capacity>
struct sort_segments {
  static constexpr std::uint32_t width = 128;
  struct shared {
    sort_space<capacity> space;
  };
  template <block B>
  L3_FN void operator()(const B& b, shared& s, column<const std::uint64_t> in,
                        column<std::uint64_t> out, std::uint32_t n) const {
    for_each(b, capacity, [&](std::uint32_t i) { s.space.keys[i] = in[b.index() * capacity + i]; });
    b.sync();
    sort_block(b, s.space, n);
    for_each(b, capacity,
             [&](std::uint32_t i) { out[b.index() * capacity + i] = s.space.keys[i]; });
  }
};

template <class Executor>
class block_sort : public on_executor<Executor> {
protected:
  using keys = std::vector<std::uint64_t>;

  /// The first n keys of each segment must be sorted, the others unchanged.
  template <std::uint32_t capacity>
  static void expect_sorted(const keys& in, std::uint32_t n) {
    const auto segments = static_cast<std::uint32_t>(in.size() / capacity);
    keys expected = in;
    for (std::uint32_t s = 0; s < segments; ++s) {
      const auto first = expected.begin() + s * capacity;
      std::sort(first, first + n);
    }
    auto queue = Executor::make();
    const std::size_t size = in.size() * sizeof in[0];
    lent_memory<decltype(queue)> from(queue, size);
    lent_memory<decltype(queue)> to(queue, size);
    from.write(in.data(), size);
    const auto count = static_cast<std::uint32_t>(in.size());
    queue.run(sort_segments<capacity>{}, segments,
              column<const std::uint64_t>(
                  reinterpret_cast<const std::uint64_t*>(from.bytes().data()), count),
              column<std::uint64_t>(reinterpret_cast<std::uint64_t*>(to.bytes().data()), count), n);
    keys found(in.size());
    to.read(found.data());
    ASSERT_EQ(found, expected) << n << " of " << capacity;
  }

  /// Segments with the orders that are hard for some sort.
  template <std::uint32_t capacity>
  static keys hard_segments(std::uint32_t n, randomness& r) {
    static constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
    keys all;
    const auto segment = [&](auto&& key) {
      for (std::uint32_t i = 0; i < capacity; ++i) all.push_back(i < n ? key(i) : r());
    };
    segment([&](std::uint32_t) { return r(); });
    segment([&](std::uint32_t) { return below(r, 4); }); // few that differ
    segment([](std::uint32_t i) { return std::uint64_t{i}; });
    segment([&](std::uint32_t i) { return std::uint64_t{n - i} << 32; });
    segment([](std::uint32_t) { return std::uint64_t{7}; });
    segment([](std::uint32_t) { return largest; });
    segment([](std::uint32_t i) { return i % 2 == 0 ? std::uint64_t{0} : largest; });
    segment(
        [&](std::uint32_t i) { return std::uint64_t{i < n / 2 ? n + i : i}; }); // swapped halves
    segment(
        [&](std::uint32_t i) { return i + 1 == n ? 0 : std::uint64_t{i} + 1; }); // last is first
    return all;
  }
};
TYPED_TEST_SUITE_P(block_sort);

TYPED_TEST_P(block_sort, gives_what_the_library_gives) {
  constexpr std::uint32_t capacity = 300;
  randomness r(1);
  for (std::uint32_t n = 0; n <= capacity; n += TypeParam::slow && n > 2 ? 41 : 1) {
    this->template expect_sorted<capacity>(this->template hard_segments<capacity>(n, r), n);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST_P(block_sort, fills_its_space) {
  constexpr std::uint32_t large = 2048;
  constexpr std::uint32_t odd = 1025;
  randomness r(2);
  this->template expect_sorted<large>(this->template hard_segments<large>(large, r), large);
  this->template expect_sorted<large>(this->template hard_segments<large>(large - 1, r), large - 1);
  this->template expect_sorted<odd>(this->template hard_segments<odd>(odd, r), odd);
  this->template expect_sorted<1>(this->template hard_segments<1>(1, r), 1);
}

REGISTER_TYPED_TEST_SUITE_P(block_sort, gives_what_the_library_gives, fills_its_space);

} // namespace l3::test
