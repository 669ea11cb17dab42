// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/gpu/columns/host_columns.hpp"

namespace l3::test {
namespace {

struct three_bytes {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  [[nodiscard]] bool operator==(const three_bytes&) const = default;
};

template <template <class> class column>
struct probe_fields {
  column<std::uint8_t> small;
  column<std::uint64_t> large;
  column<three_bytes> odd;
  column<std::uint16_t> medium;
};
using probes = soa<probe_fields>;
using view = probes::view;
using const_view = probes::const_view;

/// The value of row i, with a different number in each element.
probes::value probe(std::uint32_t i) {
  const auto byte = [](std::uint32_t n) { return static_cast<std::uint8_t>(n); };
  return {byte(3 * i),
          std::uint64_t{0x1'0000'0001} * i,
          {byte(i), byte(i + 1), byte(i + 2)},
          static_cast<std::uint16_t>(5 * i)};
}
bool equal(const probes::value& a, const probes::value& b) {
  return a.small == b.small && a.large == b.large && a.odd == b.odd && a.medium == b.medium;
}
void fill(const view& v) {
  for (std::uint32_t i = 0; i < v.size(); ++i) v[i] = probe(i);
}

// Views go to kernels by value.
static_assert(std::is_trivially_copyable_v<view> && std::is_trivially_copyable_v<const_view>);
static_assert(std::is_trivially_destructible_v<view>);

// Writable views convert to read-only ones, never the other way round.
static_assert(std::is_convertible_v<view, const_view>);
static_assert(!std::is_constructible_v<view, const_view>);
static_assert(!std::is_assignable_v<view&, const_view>);
static_assert(!std::is_constructible_v<probes::columns, probes::const_columns>);
static_assert(!std::is_constructible_v<probes::row, probes::value>);

template <class V>
concept writes_in_rows = requires(V v) {
  v[0].medium = 1;
};
template <class V>
concept writes_rows = requires(V v) {
  v[0] = probes::value{};
};
template <class V>
concept writes_in_columns = requires(V v) {
  v.medium[0] = 1;
};
template <class V>
concept writes_memory = requires(V v) {
  *v.medium.data() = 1;
};
static_assert(writes_in_rows<view> && !writes_in_rows<const_view>);
static_assert(writes_rows<view> && !writes_rows<const_view>);
static_assert(writes_in_columns<view> && !writes_in_columns<const_view>);
static_assert(writes_memory<view> && !writes_memory<const_view>);

struct extent {
  std::uintptr_t begin;
  std::uintptr_t end;
  auto operator<=>(const extent&) const = default;
};

template <class T>
extent extent_of(const T* p, std::size_t n = 1) {
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  return {begin, begin + n * sizeof(T)};
}

RC_GTEST_PROP(columns, lie_apart_aligned_and_inside_their_buffer, ()) {
  const auto n = *rc::gen::inRange<std::uint32_t>(0, 2000);
  const auto before = *rc::gen::inRange<std::uint32_t>(0, 1000);
  const auto more = *rc::gen::inRange<std::uint32_t>(0, 300);
  region counted;
  static_cast<void>(counted.take_bytes(before, 1));
  const view nowhere = probes::take(counted, n);
  RC_ASSERT(nowhere.size() == n);
  RC_ASSERT(nowhere.large.data() == nullptr);
  const std::size_t first_end = counted.used();
  static_cast<void>(probes::take(counted, more));

  const buffer memory = host_memory::allocate(counted.used());
  region from(memory);
  const auto* const head = static_cast<std::byte*>(from.take_bytes(before, 1));
  const view first = probes::take(from, n);
  RC_ASSERT(from.used() == first_end);
  const view second = probes::take(from, more);
  RC_ASSERT(from.used() == memory.size());

  std::vector<extent> all;
  if (before != 0) all.push_back(extent_of(head, before));
  for (const view& v : {first, second}) {
    for (const extent& e :
         {extent_of(v.small.data(), v.size()), extent_of(v.large.data(), v.size()),
          extent_of(v.odd.data(), v.size()), extent_of(v.medium.data(), v.size())}) {
      RC_ASSERT(e.begin % region::alignment == 0U);
      if (e.begin != e.end) all.push_back(e);
    }
  }
  std::ranges::sort(all);
  const extent whole = extent_of(memory.data(), memory.size());
  for (const extent& e : all) RC_ASSERT(e.begin >= whole.begin && e.end <= whole.end);
  for (std::size_t k = 1; k < all.size(); ++k) RC_ASSERT(all[k - 1].end <= all[k].begin);
}

RC_GTEST_PROP(columns, keep_what_is_written_by_row_and_by_column, ()) {
  const auto n = *rc::gen::inRange<std::uint32_t>(1, 500);
  host_columns<probes> columns(n);
  const view v = columns.view();
  for (std::uint32_t i = 0; i < n; ++i) {
    const probes::value p = probe(i);
    if (i % 2 == 0) {
      v[i] = p;
      continue;
    }
    v.small[i] = p.small;
    v.large[i] = p.large;
    v.odd[i] = p.odd;
    v.medium[i] = p.medium;
  }
  const const_view read = v;
  for (std::uint32_t i = 0; i < n; ++i) {
    RC_ASSERT(equal(read[i], probe(i)));
    RC_ASSERT(equal(v[i], probe(i)));
    RC_ASSERT(read.large[i] == probe(i).large);
  }
}

TEST(columns, rows_are_exchanged_like_structs) {
  host_columns<probes> columns(2);
  const view v = columns.view();
  fill(v);
  const probes::value first = v[0];
  v[0] = v[1];
  v[1] = first;
  EXPECT_TRUE(equal(v[0], probe(1)));
  EXPECT_TRUE(equal(v[1], probe(0)));
}

TEST(columns, convert_to_and_from_plain_columns) {
  host_columns<probes> columns(10);
  const column<std::uint16_t> out = columns.view().medium;
  out[3] = 9;
  EXPECT_EQ(columns.view()[3].medium, 9);
  probes::columns others = columns.view().as_columns();
  others.medium = column<std::uint16_t>(out);
  EXPECT_EQ(view(others)[3].medium, 9);
}

template <template <class> class column>
struct mixed_fields {
  column<std::uint16_t> mine;
  column<std::uint64_t> theirs;
};
using mixed = soa<mixed_fields>;

TEST(columns, are_put_together_from_several_layouts) {
  host_columns<probes> a(10);
  host_columns<probes> b(10);
  host_columns<probes> c(11);
  const mixed::view m(mixed::columns{.mine = a.view().medium, .theirs = b.view().large});
  EXPECT_EQ(m.size(), 10U);
  m[3] = {.mine = 1, .theirs = 2};
  EXPECT_EQ(a.view()[3].medium, 1);
  EXPECT_EQ(b.view()[3].large, 2U);
  const mixed::const_view r(mixed::const_columns{.mine = m.mine, .theirs = b.const_view().large});
  EXPECT_EQ(r[3].theirs, 2U);
  EXPECT_THROW(mixed::view(mixed::columns{.mine = a.view().medium, .theirs = c.view().large}),
               std::out_of_range);
}

#ifdef _GLIBCXX_ASSERTIONS
TEST(columns, throw_beyond_the_end_if_they_check) {
  host_columns<probes> columns(10);
  const view v = columns.view();
  const const_view r = v;
  EXPECT_THROW(static_cast<void>(v[10]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(r[10]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(v.medium[10]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(r.medium[10]), std::out_of_range);
}
#endif

} // namespace
} // namespace l3::test
