// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/pfr.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gpu/columns/collection.hpp"
#include "tests/gpu/columns/columns_cases.hpp"
#include "tests/gpu/executors/cpu_executors.hpp"

namespace l3::test {
namespace {

using view = probes::view;
using const_view = probes::const_view;

// Views go to kernels by value.
static_assert(std::is_trivially_copyable_v<view> && std::is_trivially_copyable_v<const_view>);
static_assert(std::is_trivially_destructible_v<view>);
// They hold pointers and lengths: 16 bytes a column, 8 a scalar, 8 for the view.
static_assert(sizeof(view) <= 6 * 16 + 8 + 8 && sizeof(const_view) == sizeof(view));
static_assert(sizeof(probes::checked::view) == sizeof(view));

// Writable views convert to read-only ones, never the other way round.
static_assert(std::is_convertible_v<view, const_view>);
static_assert(!std::is_constructible_v<view, const_view>);
static_assert(!std::is_assignable_v<view&, const_view>);
static_assert(!std::is_constructible_v<probes::columns, probes::const_columns>);
static_assert(!std::is_constructible_v<probes::row, probes::value>);

/// A view allows it, and a read-only view does not.
template <class F>
constexpr bool only_views_allow(F) {
  return std::is_invocable_v<F, view> && !std::is_invocable_v<F, const_view>;
}
static_assert(only_views_allow([](auto v) -> decltype(void(v[0].medium = 1)) { (void)v; }));
static_assert(only_views_allow([](auto v) -> decltype(void(v[0].odd = three_bytes{})) {
  (void)v;
}));
static_assert(only_views_allow([](auto v) -> decltype(void(v[0] = probes::value{})) { (void)v; }));
static_assert(only_views_allow([](auto v) -> decltype(void(v.medium[0] = 1)) { (void)v; }));
static_assert(only_views_allow([](auto v) -> decltype(void(v.position[0][1] = 1)) { (void)v; }));
static_assert(only_views_allow([](auto v) -> decltype(void(v[0].table(1, 1) = 1)) { (void)v; }));
static_assert(only_views_allow([](auto v) -> decltype(void(v.position.lane(1)[0] = 1)) {
  (void)v;
}));
static_assert(only_views_allow([](auto v) -> decltype(void(*v.factor = 1)) { (void)v; }));
static_assert(only_views_allow([](auto v) -> decltype(void(*v.medium.data() = 1)) { (void)v; }));
static_assert(only_views_allow([](auto v) -> decltype(void(*v.position.data() = 1)) { (void)v; }));
static_assert(only_views_allow([](auto v) -> decltype(void(*v.factor.data() = 1)) { (void)v; }));
static_assert(only_views_allow([](auto v) -> decltype(void(v.position[0] = vector_of<float, 3>{})) {
  (void)v;
}));
static_assert(
    std::is_same_v<decltype(std::declval<const host_columns<probes>&>().view()), const_view>);

// Both ways to walk a schema find as many fields.
static_assert(field_count<probe_fields> == boost::pfr::tuple_size_v<probes::declared>);

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

/// The extents of every element of every row, found by different ways of access.
std::vector<extent> elements_of(const view& v) {
  std::vector<extent> all{extent_of(&*v.factor)};
  for (std::uint32_t i = 0; i < v.size(); ++i) {
    all.insert(all.end(), {extent_of(&v[i].small), extent_of(&v.large[i]), extent_of(&v[i].odd),
                           extent_of(&v[i].medium)});
    for (std::uint32_t k = 0; k < 3; ++k) all.push_back(extent_of(&v.position[i][k]));
    for (std::uint32_t r = 0; r < 2; ++r) {
      for (std::uint32_t c = 0; c < 3; ++c) all.push_back(extent_of(&v[i].table(r, c)));
    }
  }
  return all;
}

std::vector<std::uintptr_t> starts_of(const view& v) {
  const auto at = [](const auto* p) { return reinterpret_cast<std::uintptr_t>(p); };
  std::vector<std::uintptr_t> all{at(v.small.data()), at(v.large.data()), at(v.factor.data()),
                                  at(v.odd.data()), at(v.medium.data())};
  for (std::uint32_t k = 0; k < 3; ++k) all.push_back(at(v.position.lane(k).data()));
  for (std::uint32_t k = 0; k < 6; ++k) all.push_back(at(v.table.lane(k).data()));
  return all;
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
  RC_ASSERT(probes::bytes(n) <= first_end - round_up(before, region::alignment));
  const view second = probes::take(from, more);
  RC_ASSERT(from.used() == memory.size());

  for (const view& v : {first, second}) {
    for (const std::uintptr_t p : starts_of(v)) RC_ASSERT(p % region::alignment == 0U);
  }
  std::vector<extent> all = elements_of(first);
  const std::vector<extent> others = elements_of(second);
  all.insert(all.end(), others.begin(), others.end());
  if (before != 0) all.push_back(extent_of(head, before));
  std::ranges::sort(all);
  const extent whole = extent_of(memory.data(), memory.size());
  RC_ASSERT(all.front().begin >= whole.begin);
  RC_ASSERT(all.back().end <= whole.end);
  for (std::size_t k = 1; k < all.size(); ++k) RC_ASSERT(all[k - 1].end <= all[k].begin);
}

RC_GTEST_PROP(columns, keep_what_is_written_by_row_and_by_column, ()) {
  const auto n = *rc::gen::inRange<std::uint32_t>(1, 500);
  host_columns<probes> columns(n);
  const view v = columns.view();
  for (std::uint32_t i = 0; i < n; ++i) {
    if (i % 2 == 0) {
      v[i] = probe(i);
      continue;
    }
    const probes::value p = probe(i);
    v.small[i] = p.small;
    v.large[i] = p.large;
    v.odd[i] = p.odd;
    for (std::uint32_t k = 0; k < 3; ++k) v.position.lane(k)[i] = p.position[k];
    v.table[i] = p.table;
    v.medium[i] = p.medium;
  }
  const const_view read = v;
  for (std::uint32_t i = 0; i < n; ++i) {
    RC_ASSERT(equal(read[i], probe(i)));
    RC_ASSERT(equal(v[i], probe(i)));
    RC_ASSERT(read.position[i] == probe(i).position);
    RC_ASSERT(read.table[i](1, 0) == probe(i).table[3]);
    RC_ASSERT(read.position.lane(2)[i] == probe(i).position[2]);
  }
}

TEST(columns, rows_and_columns_are_used_like_structs_and_arrays) {
  host_columns<probes> columns(100);
  const view v = columns.view();
  fill(v);
  const probes::value first = columns[0];
  columns[0] = columns[1];
  columns[1] = first;
  EXPECT_TRUE(equal(columns[0], probe(1)));
  EXPECT_TRUE(equal(columns[1], probe(0)));
  columns[0].position = columns[1].position;
  EXPECT_EQ(v.position[0][2], 2);
  EXPECT_EQ(*v.factor, 1100U) << "rows leave scalars alone";

  EXPECT_EQ(&v.position[8][1], &v.position[7][1] + 1) << "lanes are neighbours in rows";
  EXPECT_EQ(&v.table[8](1, 2), &v.table[7](1, 2) + 1);
  EXPECT_EQ(v.table.lane(5).data() + 7, &v.table[7](1, 2));

  const const_view some = v.first(40);
  EXPECT_EQ(some.size(), 40U);
  EXPECT_EQ(some.position.size(), 40U);
  EXPECT_TRUE(equal(some[39], probe(39)));
  EXPECT_EQ(*some.factor, 1100U);
  EXPECT_THROW(static_cast<void>(v.first(101)), std::out_of_range);

  const column<std::uint16_t> out = v.medium; // a plain column, and back
  out[3] = 9;
  EXPECT_EQ(columns[3].medium, 9);
  probes::columns others = v.as_columns();
  others.medium = column<std::uint16_t>(out);
  EXPECT_EQ(view(others)[3].medium, 9);

  const host_columns<probes> to = std::move(columns);
  EXPECT_TRUE(equal(to[9], probe(9))) << "columns move with their owner";
}

TEST(columns, over_a_buffer_that_does_not_fit) {
  const buffer memory = host_memory::allocate(4096);
  const std::span<std::byte> all(memory.data(), memory.size());
  const auto needed = probes::bytes(5);
  EXPECT_EQ(probes::over(all.first(needed), 5).size(), 5U);
  EXPECT_THROW(static_cast<void>(probes::over(all.first(needed - 1), 5)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(probes::over(all.subspan(64), 5)), std::invalid_argument);
}

template <template <class> class column>
struct mixed_fields {
  column<std::uint16_t> mine;
  column<std::uint64_t> theirs;
  column<vector_of<float, 3>> place;
  column<scalar<std::uint32_t>> factor;
};
using mixed = soa<mixed_fields>;

TEST(columns, are_put_together_from_several_layouts) {
  host_columns<probes> a(10);
  host_columns<probes> b(10);
  host_columns<probes> c(11);
  fill(a.view());
  fill(b.view());
  const mixed::view m(mixed::columns{.mine = a.view().medium,
                                     .theirs = b.view().large,
                                     .place = b.view().position,
                                     .factor = c.view().factor});
  EXPECT_EQ(m.size(), 10U);
  m[3] = {.mine = 1, .theirs = 2, .place = {3, 4, 5}, .factor = {}};
  *m.factor = 6;
  EXPECT_EQ(a[3].medium, 1);
  EXPECT_EQ(b[3].large, 2U);
  EXPECT_EQ(b.view().position[3][2], 5);
  EXPECT_EQ(*c.view().factor, 6U);

  const mixed::const_view r(mixed::const_columns{.mine = m.mine,
                                                 .theirs = std::as_const(b).view().large,
                                                 .place = m.place,
                                                 .factor = m.factor});
  EXPECT_EQ(r[3].theirs, 2U);
  EXPECT_THROW(mixed::view(mixed::columns{.mine = a.view().medium,
                                          .theirs = c.view().large,
                                          .place = b.view().position,
                                          .factor = c.view().factor}),
               std::out_of_range);
}

TEST(columns, throw_beyond_the_end_if_they_check) {
  using checked = probes::checked;
  host_columns<checked> columns(10);
  const checked::view v = columns.view();
  const checked::const_view r = v;
  v[9].medium = 1;
  v.medium[9] = 2;
  EXPECT_EQ(r[9].medium, 2);
  EXPECT_THROW(static_cast<void>(v[10]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(r[10]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(v.medium[10]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(r.medium[10]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(v.position[10]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(v.position[0][3]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(r.table[0][6]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(v.table[0](0, 3)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(v.table.lane(6)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(v.table.lane(5)[10]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(v.first(3)[3]), std::out_of_range);
}

TEST(columns, do_not_check_unless_asked) {
  using unchecked = soa<probe_fields, range_checks::off>;
  host_columns<unchecked> columns(10);
  EXPECT_NO_THROW(columns.view().first(5).medium[6] = 1); // there, but beyond the view's end
  EXPECT_EQ(columns[6].medium, 1);
#ifdef _GLIBCXX_ASSERTIONS
  static_assert(default_range_checks == range_checks::on);
#else
  static_assert(default_range_checks == range_checks::off);
#endif
}

/// A CPU executor whose queue has a finish() like a device's: its copies and kernels are done on
/// return.
template <class Queue>
struct finished : Queue {
  explicit finished(Queue&& queue) : Queue(std::move(queue)) {}
  static std::string finish() { return {}; }
};
template <class Executor>
struct on_host {
  template <class Layout>
  using here = host_columns<Layout>;
  template <class Layout>
  using there = host_columns<Layout>;
  static auto make() { return finished(Executor::make()); }
};
using host_places =
    testing::Types<on_host<on_serial<1>>, on_host<on_serial<7>>, on_host<on_shuffled<64>>,
                   on_host<on_threaded<4>>, on_host<on_pool<3>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(host, columns_on, host_places);

} // namespace
} // namespace l3::test
