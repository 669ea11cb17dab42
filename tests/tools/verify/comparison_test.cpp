// SPDX-License-Identifier: Apache-2.0
// `verify` and `extract` on stores that hold the sent events, or almost.
#include "tools/verify/comparison.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/error_of.hpp"
#include "tests/tools/temporary_folder.hpp"
#include "tests/transport/store/packed_events.hpp"
#include "tools/verify/extraction.hpp"
#include "transport/file/l2raw.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/block.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/store_writer.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using test::packed_and_original;

/// A file of events that were sent, and a store that the test fills as it likes.
struct trial {
  test::scratch_folder folder;
  std::mt19937 random{1};
  std::vector<packed_and_original> events;
  std::uint64_t next_sequence = 1;
  expected_events expected; ///< the decisions of a selection, by run; empty: without one

  explicit trial(std::uint32_t count, std::uint32_t seed = 1) : random(seed) {
    for (std::uint32_t i = 0; i < count; ++i) {
      test::event_recipe recipe;
      recipe.key = {1 + i / 4, 1 + i % 4};
      events.push_back(test::make_event(recipe, random));
    }
  }

  [[nodiscard]] std::string sent() const { return folder.path() + "/sent.l2raw"; }

  void send() const {
    readout crates;
    crates.crates = {{0, 2}, {1, 2}, {2, 2}};
    l2raw_writer file(sent(), 1, crates);
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (i % 4 == 0) file.begin_of_spill(static_cast<std::uint32_t>(1 + i / 4), 2s);
      std::vector<crate_fragment> fragments;
      for (std::uint16_t f = 0; f < events[i].fragments.size(); ++f) {
        fragments.push_back({f, events[i].fragments[f]});
      }
      file.event(static_cast<std::uint32_t>(1 + i % 4), 1ms, fragments);
      if (i % 4 == 3 || i + 1 == events.size()) file.end_of_spill(4s);
    }
    file.close();
  }

  void store(const std::vector<test::bytes>& packed, std::uint64_t session = 1,
             std::uint64_t sequence = 0, std::uint32_t run = test::usual_run) {
    store_writer writer({folder.path()});
    const auto block =
        test::make_block(packed, session, sequence == 0 ? next_sequence++ : sequence, run);
    block_header header;
    ASSERT_EQ(check_block(block, header), block_fault::none);
    ASSERT_FALSE(writer.append(block, header));
  }
  [[nodiscard]] std::vector<test::bytes> all() const {
    std::vector<test::bytes> packed;
    for (const auto& e : events) packed.push_back(e.packed);
    return packed;
  }

  /// All events but these, packed.
  [[nodiscard]] std::vector<test::bytes> without(const std::set<std::size_t>& left_out) const {
    std::vector<test::bytes> packed;
    for (std::size_t i = 0; i < events.size(); ++i)
      if (!left_out.contains(i)) packed.push_back(events[i].packed);
    return packed;
  }
  /// The decisions of a selection that rejected these events.
  [[nodiscard]] std::vector<expected_event> said(const std::set<std::size_t>& rejected) const {
    std::vector<expected_event> all;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const auto summary = packed_event_view::parse(events[i].packed)->summary();
      all.push_back({true, {summary.begin(), summary.end()}});
      if (rejected.contains(i)) all.back() = {false, {}};
    }
    return all;
  }
  void store_two_runs(const std::vector<std::size_t>& of_run_7,
                      const std::vector<std::size_t>& of_run_8) {
    send();
    expected = {{7, said({0, 4})}, {8, said({1, 5})}};
    for (const auto& [run, which] : {std::pair{7U, of_run_7}, {8U, of_run_8}}) {
      std::vector<test::bytes> packed;
      for (const std::size_t i : which) packed.push_back(events[i].packed);
      store(packed, run - 6, 1, run);
    }
  }

  [[nodiscard]] comparison verdict(std::uint32_t loops = 1) const {
    return compare(sent(), folder.path(), event_index(folder.path()), loops, expected, false,
                   nullptr);
  }
  [[nodiscard]] extraction extracted() const {
    return extract(folder.path(), event_index(folder.path()), folder.path() + "/out.bin", nullptr);
  }
};

/// What a comparison counts, without what is 0, and its examples.
std::string told(const comparison& c) {
  std::string text = c.holds() ? "holds:" : "fails:";
  const std::pair<const char*, std::uint64_t> counts[] = {
      {"equal", c.equal},     {"rejected", c.rejected},     {"missing", c.missing},
      {"extra", c.extra},     {"different", c.different},   {"repeated", c.repeated},
      {"damaged", c.damaged}, {"duplicated", c.duplicated}, {"stored", c.stored}};
  for (const auto& [name, count] : counts)
    if (count != 0) text += fmt::format(" {} {}", count, name);
  for (const std::string& example : c.examples) text += "; " + example;
  return text;
}

/// The store of a trial of six events in two spills, made by the row, and the verdict on it.
struct row {
  void (*make)(trial&);
  const char* verdict;
};

const row rows[] = {
    {[](trial& t) {
       t.send();
       auto packed = t.all();
       std::swap(packed[0], packed[5]);
       t.store(packed);
     },
     "holds: 6 equal 6 stored"},
    {[](trial& t) {
       t.send();
       t.store(t.without({3}));
     },
     "fails: 5 equal 1 missing 5 stored; spill 1 event 4: missing"},
    {[](trial& t) {
       t.store(t.all());
       t.events.pop_back();
       t.send();
     },
     "fails: 5 equal 1 extra 6 stored; spill 2 event 2: extra"},
    {[](trial& t) {
       t.store(t.all());
       auto& fragment = t.events[2].fragments[1];
       fragment[fragment.size() / 2] ^= std::byte{1};
       t.send();
     },
     "fails: 5 equal 1 different 6 stored; spill 1 event 3: crate place 1 from byte 2076"},
    {[](trial& t) { // it has one fragment less
       t.store(t.all());
       auto& fragments = t.events[1].fragments;
       fragments.push_back(fragments[0]);
       fragments.erase(fragments.begin(), fragments.begin() + 2);
       t.send();
     },
     "fails: 5 equal 1 different 6 stored; spill 1 event 2: 2 fragments sent, 3 stored"},
    {[](trial& t) { // sent again to another start of the daemon
       t.send();
       t.store(t.all());
       t.store({t.events[0].packed}, 2, 1);
     },
     "holds: 6 equal 1 repeated 7 stored"},
    {[](trial& t) { // the same daemon forwarded it twice
       t.send();
       t.store(t.all());
       t.store({t.events[1].packed});
     },
     "fails: 6 equal 1 duplicated 7 stored; spill 1 event 2: duplicated"},
    {[](trial& t) {
       t.send();
       auto packed = t.all();
       packed[1][20] ^= std::byte{0xFF}; // still an event: another reference time
       packed[2][16] = std::byte{0xFF};  // no longer an event
       t.store(packed);
     },
     "fails: 4 equal 1 missing 1 different 1 damaged 5 stored; spill 1 event 2: crate place 0 from "
     "byte 11; spill 1 event 3: missing"},
    // With the decisions of a selection.
    {[](trial& t) {
       t.send();
       t.store(t.without({0, 4}));
       t.expected[test::usual_run] = t.said({0, 4});
     },
     "holds: 4 equal 2 rejected 4 stored"},
    {[](trial& t) {
       t.send();
       t.store(t.without({0, 4}));
       t.expected[test::usual_run] = t.said({0});
     },
     "fails: 4 equal 1 rejected 1 missing 4 stored; spill 2 event 1: missing"},
    {[](trial& t) {
       t.send();
       t.store(t.without({0}));
       t.expected[test::usual_run] = t.said({0, 4});
     },
     "fails: 4 equal 1 rejected 1 extra 5 stored; spill 2 event 1: extra"},
    {[](trial& t) { // one word more
       t.send();
       t.store(t.all());
       t.expected[test::usual_run] = t.said({});
       auto& summary = t.expected[test::usual_run][2].summary;
       summary.resize(summary.size() + 8);
     },
     "fails: 5 equal 1 different 6 stored; spill 1 event 3: its summary differs from the "
     "selection's"},
    {[](trial& t) { // one bit
       t.send();
       t.store(t.all());
       auto& said = t.expected[test::usual_run] = t.said({});
       const auto one =
           std::ranges::find_if(said, [](const auto& e) { return !e.summary.empty(); });
       one->summary.back() ^= std::byte{1};
     },
     "fails: 5 equal 1 different 6 stored; spill 1 event 1: its summary differs from the "
     "selection's"},
    // Spill 1 came in run 7, and spill 2 in run 8: the runs reject one event of each, and not the
    // same.
    {[](trial& t) {
       t.store_two_runs({1, 2, 3}, {4});
     },
     "holds: 4 equal 2 rejected 4 stored"},
    {[](trial& t) {
       t.store_two_runs({1, 2}, {4});
     },
     "fails: 3 equal 2 rejected 1 missing 3 stored; spill 1 event 4: missing"},
    {[](trial& t) {
       t.store_two_runs({1, 2, 3}, {4, 5});
     },
     "fails: 4 equal 1 rejected 1 extra 5 stored; spill 2 event 2: extra"},
    {[](trial& t) { // one run kept an event of spill 3, of which nothing is stored
       for (int n = 0; n < 3; ++n) t.events.push_back(t.events[0]);
       t.store_two_runs({1, 2, 3}, {4});
       for (auto& [run, said] : t.expected)
         for (const int event : {6, 7, 8}) said[event] = {false, {}, {}};
       t.expected[7][8].kept = true;
     },
     "fails: 4 equal 4 rejected 1 missing 4 stored; spill 3 event 1: missing"},
    {[](trial& t) {
       t.store_two_runs({1, 2, 3, 4}, {4, 1});
     }, // both spills in both runs
     "fails: 4 equal 2 missing 2 extra 2 repeated 6 stored; spill 1 event 1: missing; spill 2 "
     "event 2: "
     "missing; spill 1 event 2: extra; spill 2 event 1: extra"},
};

TEST(comparison, gives_the_verdict_of_each_row) {
  for (const row& r : rows) {
    trial t(6);
    r.make(t);
    EXPECT_EQ(told(t.verdict()), r.verdict);
  }
}

TEST(comparison, finds_damage_in_the_file_and_judges_nothing_by_a_file_of_another_kind) {
  trial t(4);
  t.send();
  t.store(t.all());
  std::filesystem::resize_file(t.sent(), std::filesystem::file_size(t.sent()) - 5);
  const auto c = t.verdict();
  EXPECT_EQ(c.sent_damage.find("ends within a record, at offset "), 0U) << c.sent_damage;
  EXPECT_FALSE(c.holds());
  for (const char* text : {"", "short", "longer than the header of a record, and none"}) {
    std::ofstream(t.sent()) << text;
    EXPECT_EQ(error_of([&] { return t.verdict(); }), t.sent() + " is not an .l2raw file");
  }
}

/// Six events of two spills, the same in every call but for the spills.
std::vector<packed_and_original> two_spills_from(std::uint32_t spill) {
  std::mt19937 random(5);
  std::vector<packed_and_original> events;
  for (std::uint32_t i = 0; i < 6; ++i) {
    test::event_recipe recipe;
    recipe.key = {spill + i / 4, 1 + i % 4};
    recipe.oddities = false;
    events.push_back(test::make_event(recipe, random));
  }
  return events;
}

TEST(comparison, expects_other_spill_numbers_in_every_loop) {
  trial t(0);
  t.events = two_spills_from(1);
  t.send();
  t.store(t.all());
  EXPECT_EQ(t.verdict(256).sent, 6U * 256);
  EXPECT_THROW((void)t.verdict(257), std::runtime_error) << "spill numbers wrapped";
  t.events = two_spills_from(3);
  auto second = t.all();
  second[2][20] ^= std::byte{1}; // another reference time
  t.store(second);
  EXPECT_EQ(t.verdict(1).extra, 6U);
  EXPECT_EQ(t.verdict(2).equal, 11U);
  EXPECT_EQ(t.verdict(2).different, 1U);
  EXPECT_EQ(t.verdict(3).missing, 6U);
}

TEST(extraction, keeps_events_that_have_a_name_in_common_only) {
  trial t(3);
  t.store(t.all());
  t.store({t.events[0].packed}); // after 512 spills, by the same daemon
  auto other = t.events[0].packed;
  other[20] ^= std::byte{0xFF}; // another reference time
  t.store({other}, 8);
  const auto done = t.extracted();
  EXPECT_EQ(done.events, 5U);
  EXPECT_EQ(done.repeats, 0U);
}

RC_GTEST_PROP(extraction, gives_what_was_stored, (std::uint32_t seed)) {
  const auto count = *rc::gen::inRange(1U, 12U);
  trial t(count, seed);
  test::bytes expected;
  for (const auto& e : t.events) {
    for (const auto& f : e.fragments) expected.insert(expected.end(), f.begin(), f.end());
  }
  auto packed = t.all();
  std::shuffle(packed.begin(), packed.end(), t.random);
  const auto cut =
      static_cast<std::ptrdiff_t>(*rc::gen::inRange<std::size_t>(0, packed.size() + 1));
  if (cut > 0) t.store({packed.begin(), packed.begin() + cut});
  t.store({packed.begin() + cut, packed.end()}, 7);
  t.store({packed[0]}, 8); // a repeat in the same run
  const auto done = t.extracted();
  RC_ASSERT(done.events == count);
  RC_ASSERT(done.repeats == 1U);
  RC_ASSERT(done.bytes == expected.size());
  const auto wanted = reinterpret_cast<const char*>(expected.data());
  RC_ASSERT(contents(t.folder.path() + "/out.bin") == std::string(wanted, expected.size()));
}

TEST(extraction, refuses_and_leaves_every_file_alone) {
  trial t(1);
  t.store(t.all());
  const event_index stored(t.folder.path());
  const std::string file = t.folder.path() + "/blocks-000001.kl3";
  const auto before = contents(file);
  for (const std::string& out : {t.folder.path() + "/none/out.bin", std::string("/dev/full"), file})
    EXPECT_NE(error_of([&] { return extract(t.folder.path(), stored, out, nullptr); }), "") << out;
  EXPECT_EQ(contents(file), before) << "of the store";
  const temporary_folder no_store;
  write_file(no_store / "out", std::string("dear"));
  EXPECT_THROW((void)extract(no_store.path(), event_index(no_store.path()), no_store / "out", {}),
               std::runtime_error);
  EXPECT_EQ(contents(no_store / "out"), "dear");
}

TEST(extraction, replaces_a_file_only_when_all_is_written) {
  trial t(3);
  t.store(t.all());
  const std::string out = t.folder.path() + "/out.bin";
  const std::string dear("<\0\0\1dear", 8); // begins as a fragment
  write_file(out, dear);
  const event_index stored(t.folder.path());
  const auto interrupt = [](std::uint64_t events) {
    if (events == 2) throw std::runtime_error("stopped");
  };
  EXPECT_THROW((void)extract(t.folder.path(), stored, out, interrupt), std::runtime_error);
  EXPECT_EQ(contents(out), dear);
  EXPECT_FALSE(std::filesystem::exists(out + ".new"));
  const auto done = extract(t.folder.path(), stored, out, nullptr);
  EXPECT_EQ(contents(out).size(), done.bytes);
  EXPECT_FALSE(std::filesystem::exists(out + ".new"));
}

TEST(a_comparison, excuses_no_more_missing_events_than_damage_can_hold) {
  comparison c;
  c.sent = 10;
  c.stored = c.equal = 7;
  c.missing = 3;
  c.damaged = 1;
  EXPECT_FALSE(c.holds());
  c.skip_damaged = true;
  EXPECT_FALSE(c.holds()) << "no ledger says how many events are there";
  c.unreadable = 2;
  EXPECT_FALSE(c.holds()) << "one is missing elsewhere";
  c.unreadable = 3;
  EXPECT_TRUE(c.holds());
  c.damaged = 0;
  EXPECT_FALSE(c.holds());
}

} // namespace
} // namespace l3
