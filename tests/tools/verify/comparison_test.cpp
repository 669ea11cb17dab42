// SPDX-License-Identifier: Apache-2.0
// `verify` and `extract` on stores that hold the sent events, or almost.
#include "tools/verify/comparison.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

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

  [[nodiscard]] comparison verdict(std::uint32_t loops = 1,
                                   const expected_events& expected = {}) const {
    return compare(sent(), folder.path(), event_index(folder.path()), loops, expected, false,
                   nullptr);
  }
  [[nodiscard]] comparison verdict_on(const std::vector<expected_event>& expected) const {
    return verdict(1, {{test::usual_run, expected}});
  }
};

/// A store of events of one key and one length, each in a session of its own.
void fill_with_one_key(const std::string& folder, std::uint32_t count) {
  store_writer writer({folder});
  packed_event e;
  e.bytes = sizeof e;
  e.spill = e.number = 1;
  for (std::uint64_t session = 1; session <= count; ++session) {
    ++e.reference_time;
    test::bytes packed(sizeof e);
    l3::store(packed.data(), e);
    const auto block = test::make_block({packed}, session, 1);
    block_header header;
    ASSERT_EQ(check_block(block, header), block_fault::none);
    ASSERT_FALSE(writer.append(block, header));
  }
}

// A program that compares each with all others does not end before CTest ends it.
TEST(extraction, takes_very_many_events_of_one_key) {
  constexpr std::uint32_t many = 60'000;
  const test::scratch_folder folder;
  fill_with_one_key(folder.path(), many);
  const event_index stored(folder.path());
  EXPECT_EQ(stored.sessions().size(), many);
  const auto done = extract(folder.path(), stored, folder.path() + "/out", nullptr);
  EXPECT_EQ(done.events, many);
  EXPECT_EQ(done.repeats, 0U);
}

TEST(comparison, holds_if_everything_is_stored_in_any_order) {
  trial t(6);
  t.send();
  auto packed = t.all();
  std::swap(packed[0], packed[5]);
  t.store(packed);
  const auto c = t.verdict();
  EXPECT_TRUE(c.holds());
  EXPECT_EQ(c.sent, 6U);
  EXPECT_EQ(c.equal, 6U);
  EXPECT_EQ(c.stored, 6U);
}

TEST(comparison, finds_a_missing_event) {
  trial t(6);
  t.send();
  auto packed = t.all();
  packed.erase(packed.begin() + 3);
  t.store(packed);
  const auto c = t.verdict();
  EXPECT_FALSE(c.holds());
  EXPECT_EQ(c.missing, 1U);
  EXPECT_EQ(c.equal, 5U);
  ASSERT_EQ(c.examples.size(), 1U);
  EXPECT_EQ(c.examples[0], "spill 1 event 4: missing");
}

TEST(comparison, finds_an_extra_event) {
  trial t(6);
  const auto packed = t.all();
  t.events.pop_back();
  t.send();
  t.store(packed);
  const auto c = t.verdict();
  EXPECT_FALSE(c.holds());
  EXPECT_EQ(c.extra, 1U);
  EXPECT_EQ(c.equal, 5U);
}

TEST(comparison, finds_one_byte_that_differs) {
  trial t(6);
  t.store(t.all());
  auto& fragment = t.events[2].fragments[1];
  fragment[fragment.size() / 2] ^= std::byte{1};
  t.send();
  const auto c = t.verdict();
  EXPECT_FALSE(c.holds());
  EXPECT_EQ(c.different, 1U);
  EXPECT_EQ(c.equal, 5U);
}

TEST(comparison, finds_a_missing_fragment) {
  trial t(2);
  t.store(t.all());
  t.events[1].fragments.push_back(t.events[1].fragments[0]);
  t.events[1].fragments.erase(t.events[1].fragments.begin(), t.events[1].fragments.begin() + 2);
  t.send();
  EXPECT_EQ(t.verdict().different, 1U);
}

TEST(comparison, tells_duplicates_from_repeats) {
  trial t(4);
  t.send();
  t.store(t.all());
  t.store({t.events[0].packed}, 2, 1); // sent again to another start of the daemon
  auto c = t.verdict();
  EXPECT_TRUE(c.holds());
  EXPECT_EQ(c.repeated, 1U);
  EXPECT_EQ(c.stored, 5U);
  t.store({t.events[1].packed}); // the same daemon forwarded it twice
  c = t.verdict();
  EXPECT_FALSE(c.holds());
  EXPECT_EQ(c.duplicated, 1U);
  EXPECT_EQ(c.equal, 4U);
}

TEST(comparison, finds_damage_in_the_store_and_in_the_file) {
  trial t(4);
  t.send();
  auto packed = t.all();
  packed[1][20] ^= std::byte{0xFF}; // still an event: another reference time
  packed[2][16] = std::byte{0xFF};  // no longer an event
  t.store(packed);
  auto c = t.verdict();
  EXPECT_EQ(c.damaged, 1U);
  EXPECT_EQ(c.missing, 1U);
  EXPECT_FALSE(c.holds());

  std::filesystem::resize_file(t.sent(), std::filesystem::file_size(t.sent()) - 5);
  c = t.verdict();
  EXPECT_EQ(c.sent_damage.find("ends within a record, at offset "), 0U) << c.sent_damage;
  EXPECT_FALSE(c.holds());
}

TEST(comparison, judges_nothing_by_a_file_of_another_kind) {
  trial t(1);
  t.store(t.all());
  for (const char* text : {"", "short", "longer than the header of a record, and none"}) {
    std::ofstream(t.sent()) << text;
    try {
      (void)t.verdict();
      FAIL() << text;
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(e.what(), t.sent() + " is not an .l2raw file");
    }
  }
}

/// The decisions of a selection that rejected these events.
std::vector<expected_event> said_of(const trial& t, const std::vector<std::size_t>& rejected) {
  std::vector<expected_event> expected;
  for (const auto& e : t.events) {
    const auto summary = packed_event_view::parse(e.packed)->summary();
    expected.push_back({true, {summary.begin(), summary.end()}});
  }
  for (const std::size_t i : rejected) expected[i] = {false, {}};
  return expected;
}

/// All events but these, packed.
std::vector<test::bytes> without(const trial& t, const std::vector<std::size_t>& left_out) {
  std::vector<test::bytes> packed;
  for (std::size_t i = 0; i < t.events.size(); ++i)
    if (std::find(left_out.begin(), left_out.end(), i) == left_out.end())
      packed.push_back(t.events[i].packed);
  return packed;
}

TEST(comparison, expects_no_event_that_the_selection_rejected) {
  trial t(6);
  t.send();
  t.store(without(t, {0, 4}));
  const auto c = t.verdict_on(said_of(t, {0, 4}));
  EXPECT_TRUE(c.holds());
  EXPECT_EQ(c.rejected, 2U);
  EXPECT_EQ(c.equal, 4U);
  EXPECT_EQ(c.missing, 0U);
  EXPECT_EQ(t.verdict().missing, 2U); // without a selection nothing may be missing
  EXPECT_EQ(t.verdict().rejected, 0U);
}

TEST(comparison, finds_an_event_that_the_selection_kept_and_that_is_missing) {
  trial t(6);
  t.send();
  t.store(without(t, {0, 4}));
  const auto c = t.verdict_on(said_of(t, {0}));
  EXPECT_FALSE(c.holds());
  EXPECT_EQ(c.rejected, 1U);
  EXPECT_EQ(c.missing, 1U);
  ASSERT_EQ(c.examples.size(), 1U);
  EXPECT_EQ(c.examples[0], "spill 2 event 1: missing");
}

TEST(comparison, finds_an_event_that_is_stored_though_it_was_rejected) {
  trial t(6);
  t.send();
  t.store(without(t, {0}));
  const auto c = t.verdict_on(said_of(t, {0, 4}));
  EXPECT_FALSE(c.holds());
  EXPECT_EQ(c.rejected, 1U);
  EXPECT_EQ(c.extra, 1U);
  EXPECT_EQ(c.equal, 4U);
  ASSERT_EQ(c.examples.size(), 1U);
  EXPECT_EQ(c.examples[0], "spill 2 event 1: extra");
}

TEST(comparison, finds_an_event_of_which_the_selection_said_something_else) {
  trial t(6);
  t.send();
  t.store(t.all());
  auto expected = said_of(t, {});
  expected[2].summary.resize(expected[2].summary.size() + 8); // one word more
  auto c = t.verdict_on(expected);
  EXPECT_FALSE(c.holds());
  EXPECT_EQ(c.different, 1U);
  EXPECT_EQ(c.equal, 5U);
  ASSERT_EQ(c.examples.size(), 1U);
  EXPECT_EQ(c.examples[0], "spill 1 event 3: its summary differs from the selection's");

  expected = said_of(t, {});
  const auto said = std::find_if(expected.begin(), expected.end(),
                                 [](const expected_event& e) { return !e.summary.empty(); });
  ASSERT_NE(said, expected.end());
  said->summary.back() ^= std::byte{1};
  EXPECT_EQ(t.verdict_on(expected).different, 1U);
}

/// Spill 1 came in run 7, and spill 2 in run 8: the runs reject one event of each, and not the
/// same.
class a_file_that_was_sent_over_two_runs : public testing::Test {
protected:
  a_file_that_was_sent_over_two_runs() : t(6) {
    t.send();
    expected = {{7, said_of(t, {0, 4})}, {8, said_of(t, {1, 5})}};
    of_run_7 = {t.events[1].packed, t.events[2].packed, t.events[3].packed};
    of_run_8 = {t.events[4].packed};
  }

  [[nodiscard]] comparison verdict() {
    t.store(of_run_7, 1, 1, 7);
    t.store(of_run_8, 2, 1, 8);
    return t.verdict(1, expected);
  }

  trial t;
  expected_events expected;
  std::vector<test::bytes> of_run_7;
  std::vector<test::bytes> of_run_8;
};

TEST_F(a_file_that_was_sent_over_two_runs, is_decided_by_the_run_of_each_event) {
  const auto c = verdict();
  EXPECT_TRUE(c.holds()) << c.examples.front();
  EXPECT_EQ(c.equal, 4U);
  EXPECT_EQ(c.rejected, 2U);
}

TEST_F(a_file_that_was_sent_over_two_runs, lacks_an_event_that_its_run_kept) {
  of_run_7.pop_back();
  const auto c = verdict();
  EXPECT_EQ(c.missing, 1U);
  EXPECT_EQ(c.rejected, 2U);
  EXPECT_EQ(c.examples, (std::vector<std::string>{"spill 1 event 4: missing"}));
}

TEST_F(a_file_that_was_sent_over_two_runs, has_an_event_more_that_its_run_rejected) {
  of_run_8.push_back(t.events[5].packed);
  const auto c = verdict();
  EXPECT_EQ(c.extra, 1U);
  EXPECT_EQ(c.rejected, 1U);
  EXPECT_EQ(c.examples, (std::vector<std::string>{"spill 2 event 2: extra"}));
}

TEST_F(a_file_that_was_sent_over_two_runs, lacks_what_one_run_kept_of_a_spill_that_is_not_stored) {
  t.events.push_back(t.events[0]);
  t.events.push_back(t.events[0]);
  t.events.push_back(t.events[0]); // the first of spill 3
  t.send();
  for (auto& [run, said] : expected) said.resize(9, {false, {}, {}});
  expected[7][8].kept = true;
  const auto c = verdict();
  EXPECT_EQ(c.missing, 1U);
  EXPECT_EQ(c.rejected, 4U);
  EXPECT_EQ(c.examples, (std::vector<std::string>{"spill 3 event 1: missing"}));
}

TEST_F(a_file_that_was_sent_over_two_runs, may_have_spills_in_both) {
  of_run_7.push_back(t.events[4].packed); // which run 7 rejects
  of_run_8.push_back(t.events[1].packed); // which run 8 rejects
  const auto c = verdict();
  EXPECT_EQ(c.equal, 4U);
  EXPECT_EQ(c.rejected, 0U);
  EXPECT_EQ(c.examples,
            (std::vector<std::string>{"spill 1 event 1: missing", "spill 2 event 2: missing",
                                      "spill 1 event 2: extra", "spill 2 event 1: extra"}));
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
  t.events = two_spills_from(3);
  auto second = t.all();
  t.store(second);
  const auto c = t.verdict(2);
  EXPECT_TRUE(c.holds());
  EXPECT_EQ(c.sent, 12U);
  EXPECT_EQ(c.equal, 12U);
  EXPECT_EQ(t.verdict(1).extra, 6U);
  EXPECT_EQ(t.verdict(3).missing, 6U);
}

TEST(comparison, finds_one_byte_that_differs_in_a_later_loop) {
  trial t(0);
  t.events = two_spills_from(1);
  t.send();
  t.store(t.all());
  t.events = two_spills_from(3);
  auto second = t.all();
  second[2][20] ^= std::byte{1}; // another reference time
  t.store(second);
  EXPECT_EQ(t.verdict(2).different, 1U);
}

TEST(comparison, does_not_judge_loops_in_which_spill_numbers_wrapped) {
  trial t(0);
  t.events = two_spills_from(1);
  t.send();
  t.store(t.all());
  EXPECT_EQ(t.verdict(256).sent, 6U * 256);
  EXPECT_THROW((void)t.verdict(257), std::runtime_error);
}

TEST(extraction, keeps_events_whose_spill_number_came_round_again) {
  trial t(3);
  t.store(t.all());
  t.store({t.events[0].packed}); // after 512 spills, by the same daemon
  const std::string out = t.folder.path() + "/out.bin";
  const auto done = extract(t.folder.path(), event_index(t.folder.path()), out, nullptr);
  EXPECT_EQ(done.events, 4U);
  EXPECT_EQ(done.repeats, 0U);
}

TEST(extraction, keeps_an_event_of_the_same_name_with_other_bytes) {
  trial t(3);
  t.store(t.all());
  auto other = t.events[0].packed;
  other[20] ^= std::byte{0xFF}; // another reference time
  t.store({other}, 8);
  const std::string out = t.folder.path() + "/out.bin";
  const auto done = extract(t.folder.path(), event_index(t.folder.path()), out, nullptr);
  EXPECT_EQ(done.events, 4U);
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
  const std::string out = t.folder.path() + "/out.bin";
  const auto done = extract(t.folder.path(), event_index(t.folder.path()), out, nullptr);
  RC_ASSERT(done.events == count);
  RC_ASSERT(done.repeats == 1U);
  RC_ASSERT(done.bytes == expected.size());
  std::ifstream in(out, std::ios::binary);
  const std::string got{std::istreambuf_iterator<char>(in), {}};
  const auto wanted = reinterpret_cast<const char*>(expected.data());
  RC_ASSERT(got == std::string(wanted, wanted + expected.size()));
}

TEST(extraction, says_that_it_cannot_write) {
  trial t(1);
  t.store(t.all());
  const event_index stored(t.folder.path());
  EXPECT_THROW((void)extract(t.folder.path(), stored, t.folder.path() + "/none/out.bin", nullptr),
               std::runtime_error);
  EXPECT_THROW((void)extract(t.folder.path(), stored, "/dev/full", nullptr), std::runtime_error);
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(extraction, leaves_the_file_alone_if_the_folder_holds_no_store) {
  test::scratch_folder folder;
  const std::string out = folder.path() + "/out.bin";
  std::ofstream(out) << "dear";
  const event_index stored(folder.path());
  EXPECT_THROW((void)extract(folder.path(), stored, out, nullptr), std::runtime_error);
  EXPECT_EQ(text_of(out), "dear");
}

TEST(extraction, does_not_overwrite_the_store) {
  trial t(1);
  t.store(t.all());
  const std::string file = t.folder.path() + "/blocks-000001.kl3";
  const auto before = text_of(file);
  const event_index stored(t.folder.path());
  EXPECT_THROW((void)extract(t.folder.path(), stored, file, nullptr), std::invalid_argument);
  EXPECT_EQ(text_of(file), before);
}

TEST(extraction, replaces_a_file_only_when_all_is_written) {
  trial t(3);
  t.store(t.all());
  const std::string out = t.folder.path() + "/out.bin";
  const std::string dear("<\0\0\1dear", 8); // begins as a fragment
  std::ofstream(out) << dear;
  const event_index stored(t.folder.path());
  const auto interrupt = [](std::uint64_t events) {
    if (events == 2) throw std::runtime_error("stopped");
  };
  EXPECT_THROW((void)extract(t.folder.path(), stored, out, interrupt), std::runtime_error);
  EXPECT_EQ(text_of(out), dear);
  EXPECT_FALSE(std::filesystem::exists(out + ".new"));
  const auto done = extract(t.folder.path(), stored, out, nullptr);
  EXPECT_EQ(text_of(out).size(), done.bytes);
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
