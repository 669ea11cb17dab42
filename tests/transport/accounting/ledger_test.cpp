// SPDX-License-Identifier: Apache-2.0
#include "transport/accounting/ledger.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace l3 {
namespace {

ledger arbitrary_ledger() {
  const auto number = [] { return *rc::gen::inRange<std::uint64_t>(0, 1ULL << 53); };
  ledger l;
  l.program = *rc::gen::element<std::string>("koto-l3d", "replay", "receive");
  l.run = *rc::gen::arbitrary<std::uint32_t>();
  if (l.program == "koto-l3d") l.sessions = {number()};
  if (l.program == "receive") l.sessions = *rc::gen::arbitrary<std::vector<std::uint64_t>>();
  l.clean = *rc::gen::arbitrary<bool>();
  l.ended = l.clean || *rc::gen::arbitrary<bool>();
  if (l.program == "koto-l3d" && *rc::gen::arbitrary<bool>()) l.recorded = number();
  if (l.program == "koto-l3d" && l.clean) {
    l.sessions.push_back(number());
    l.spool = {number(), number(), number(), {{number(), number(), number()}, {number(), 0, 0}}};
  }
  l.fragments = {number(), number(), number(), {{"truncated", number()}, {"wrong_slot", 0}},
                 number(), number()};
  l.events = {number(), number(), number(), {{"drain", number()}}, number()};
  l.datagrams = {number(), number(), number(), number(),
                 number(), number(), number(), {{"too_short", number()}}};
  l.bytes = {number(), number(), {{"all", number()}, {"suppressed", number()}}};
  l.spills.push_back({3, number(), number(), number()});
  l.spills.push_back({4, number(), number(), std::nullopt});
  l.earlier_spills = {number(), number(), number()};
  return l;
}

RC_GTEST_PROP(ledger, comes_back_from_json, ()) {
  const ledger l = arbitrary_ledger();
  RC_ASSERT(ledger_from_json(to_json(l)) == l);
}

TEST(ledger, that_is_clean_is_of_a_program_that_ended) {
  ledger l;
  l.program = "koto-l3d";
  l.clean = true;
  EXPECT_THROW((void)ledger_from_json(to_json(l)), std::runtime_error);
  l.ended = true;
  EXPECT_EQ(ledger_from_json(to_json(l)), l);
}

template <class Reason>
void expect_in(const std::string& page) {
  for (const std::string_view name : names_of<Reason>)
    EXPECT_NE(page.find("`" + std::string(name) + "`"), page.npos) << name;
}

TEST(ledger, has_each_reason_on_the_page_of_the_formats) {
  std::ifstream file(L3_SOURCE_DIR "/docs/formats.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  expect_in<refused>(page);
  expect_in<malformed>(page);
  expect_in<shed>(page);
}

/// Counters of a run in which every outcome occurred and was counted.
struct run_counters {
  input_counters inputs[2];
  building_counters building;
  outcome_counters outcomes;

  run_counters() {
    for (auto& input : inputs) {
      input.datagrams.add(50);
      input.bytes.add(4000);
      input.kernel_drops.add(1);
      input.refused.add(refused::too_short, 2);
    }
    building.fragments_seen.add(2, 40);
    building.fragments_admitted.add(2, 30);
    building.fragments_incomplete.add(2, 4);
    building.fragments_malformed.add(2, malformed::wrong_slot, 3);
    building.fragments_late.add(2, 2);
    building.fragments_duplicate.add(2, 1);
    building.fragments_missing.add(2, 4);
    building.events_admitted.add(15);
    outcomes.events_rejected.add(2);
    outcomes.events_shed.add(shed::engine, 1);
    outcomes.packed_bytes.add(event_payload::all, 800);
    outcomes.packed_bytes.add(event_payload::suppressed, 100);
  }

  [[nodiscard]] ledger account(std::uint64_t in_flight) const {
    ledger l;
    l.program = "koto-l3d";
    for (const auto& input : inputs) add_input(l, input);
    set_building(l, building);
    set_crates(l, building, readout::koto());
    set_outcomes(l, outcomes);
    l.events.forwarded = 10;
    l.events.in_flight = in_flight;
    return l;
  }
};

std::string replaced(std::string text, std::string_view part, std::string_view by) {
  EXPECT_NE(text.find(part), text.npos) << part;
  return text.replace(text.find(part), part.size(), by);
}

TEST(ledger, tells_the_crates_apart) {
  ledger l = run_counters().account(2);
  ASSERT_EQ(l.crates.size(), 18U);
  EXPECT_EQ(l.crates[2].crate, 2U);
  EXPECT_EQ(l.crates[2].seen, 40U);
  EXPECT_EQ(l.crates[2].malformed.at("wrong_slot"), 3U);
  EXPECT_EQ(l.crates[2].missing, 4U);
  EXPECT_EQ(l.crates[3].seen, 0U);
  EXPECT_EQ(ledger_from_json(to_json(l)), l);
  const std::string many = std::to_string(std::uint64_t{1} << 60);
  EXPECT_THROW((void)ledger_from_json(
                   replaced(to_json(l), R"("crate":2,"seen":40)", R"("crate":2,"seen":)" + many)),
               std::runtime_error);
}

TEST(ledger, of_another_program_has_no_crates) {
  ledger l = run_counters().account(2);
  l.crates.clear();
  const std::string text = to_json(l);
  EXPECT_EQ(text.find("crates"), std::string::npos);
  EXPECT_EQ(ledger_from_json(text), l);
}

TEST(ledger, is_made_of_the_counters) {
  const ledger l = run_counters().account(2);
  EXPECT_TRUE(l.balanced());
  EXPECT_EQ(l.datagrams.received, 100U);
  EXPECT_EQ(l.datagrams.kernel_drops, 2U);
  EXPECT_EQ(l.datagrams.malformed.at("too_short"), 4U);
  EXPECT_EQ(l.fragments.malformed.at("wrong_slot"), 3U);
  EXPECT_EQ(l.events.shed.at("engine"), 1U);
  EXPECT_EQ(l.bytes.in, 8000U);
  EXPECT_EQ(l.bytes.out, 900U);
}

TEST(ledger, finds_one_event_unaccounted_for) {
  EXPECT_FALSE(run_counters().account(1).balanced());
  EXPECT_FALSE(run_counters().account(3).balanced());
}

TEST(ledger, finds_one_fragment_unaccounted_for) {
  run_counters run;
  run.building.fragments_seen.add(2, 1);
  EXPECT_FALSE(run.account(2).balanced());
}

TEST(ledger, that_says_otherwise_of_its_sums_than_its_figures_is_refused) {
  const std::string good = to_json(run_counters().account(2));
  const std::string bad = replaced(good, R"("admitted":15)", R"("admitted":16)");
  const std::string says_so = R"("balanced": true)";
  const std::string says_not = R"("balanced": false)";
  EXPECT_THROW((void)ledger_from_json(bad), std::runtime_error);
  EXPECT_THROW((void)ledger_from_json(replaced(good, says_so, says_not)), std::runtime_error);
  EXPECT_FALSE(ledger_from_json(replaced(bad, says_so, says_not)).balanced());
}

TEST(ledger, without_another_key_is_refused) {
  EXPECT_THROW(
      (void)ledger_from_json(replaced(to_json(run_counters().account(2)), R"(,"duplicate":1)", "")),
      std::runtime_error);
}

TEST(ledger, refuses_what_is_none) {
  for (const char* text : {"", "{}", "[]", "{\"ledger\": 2}", "not json"}) {
    EXPECT_THROW((void)ledger_from_json(text), std::runtime_error) << text;
  }
}

/// What is said of a ledger; empty if it is taken.
std::string refusal_of(const std::string& text) {
  try {
    (void)ledger_from_json(text);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}
/// The same of a good one with `part` replaced.
std::string refusal_with(const std::string& part, const std::string& by) {
  return refusal_of(replaced(to_json(run_counters().account(2)), part, by));
}

TEST(ledger, of_figures_beyond_any_count_is_refused) {
  // These two would balance what does not: their sum is 2^64.
  const std::string half = "9223372036854775808";
  EXPECT_EQ(refusal_with(R"("admitted":15,"forwarded":10)", R"("admitted":15,"forwarded":)" + half),
            "not a ledger: a figure is greater than 2^53");
  const std::string most = "9007199254740992"; // 2^53
  EXPECT_EQ(refusal_with(R"("kernel_drops":2)", R"("kernel_drops":)" + most), "");
  EXPECT_NE(refusal_with(R"("engine":1)", R"("engine":9007199254740993)"), "");
  for (const char* none : {"-1", "1.5", "1e300", "\"1\"", "null", "[1]", "18446744073709551616"})
    EXPECT_NE(refusal_with(R"("engine":1)", std::string(R"("engine":)") + none), "") << none;
}

TEST(ledger, of_other_words_than_programs_write_is_refused) {
  const auto with_reason = [](const std::string& reason) {
    return refusal_with(R"("engine":1)", '"' + reason + R"(":1)");
  };
  EXPECT_EQ(with_reason("a_reason_of_a_later_version_2"), "");
  EXPECT_EQ(with_reason(std::string(64, 'a')), "");
  for (const std::string& reason : {std::string(), std::string(65, 'a'), std::string("\\u001b[2J"),
                                    std::string("A"), std::string("a b"), std::string("\\u0000")})
    EXPECT_EQ(with_reason(reason), "not a ledger: a reason is not a word of small letters");
  // So many that the list has 256: it has others than the one that is replaced.
  std::string many = R"("engine":1)";
  for (std::size_t k = run_counters().account(2).events.shed.size(); k < 256; ++k)
    many += ",\"r" + std::to_string(k) + "\":0";
  EXPECT_EQ(refusal_with(R"("engine":1)", many), "");
  EXPECT_EQ(refusal_with(R"("engine":1)", many + R"(,"more":0)"),
            "not a ledger: a list has more than 256 reasons");
  EXPECT_EQ(refusal_with("koto-l3d", "\\u001b[2J"),
            "not a ledger: no program that writes ledgers wrote it");
}

TEST(ledger, names_65536_lanes_of_a_spool) {
  ledger l = run_counters().account(2);
  l.sessions = {5, 6};
  l.spool.emplace().lanes.resize(65536);
  const std::string text = to_json(l);
  EXPECT_EQ(refusal_of(text), "");
  const std::string one = R"({"session":"0000000000000007","delivered":0,"damaged":0},)";
  EXPECT_EQ(refusal_of(replaced(text, R"("lanes":[)", R"("lanes":[)" + one)),
            "not a ledger: it has more than 65536 lanes");
}

/// Whatever an account says: blocks on disk may be a hand's.
TEST(ledger, is_written_so_that_its_readers_take_it) {
  constexpr std::uint64_t most = std::uint64_t{1} << 53;
  ledger l = run_counters().account(2);
  l.sessions = {5, 6};
  l.menu = "\u00e9" + std::string(5000, 'm') + " 0123abcd";
  auto& spool = l.spool.emplace();
  spool.gone = std::uint64_t{1} << 63;
  spool.found = most + 1;
  spool.lanes.resize(65537);
  spool.lanes[0] = {7, most + 1, most};
  l.events.forwarded = most + 1;
  const ledger read = ledger_from_json(to_json(l));
  EXPECT_EQ(read.spool->gone, most);
  EXPECT_EQ(read.spool->found, most);
  ASSERT_EQ(read.spool->lanes.size(), 65536U);
  EXPECT_EQ(read.spool->lanes[0], (spool_account::lane{7, most, most}));
  EXPECT_EQ(read.events.forwarded, most);
  EXPECT_EQ(read.menu, l.menu.substr(l.menu.size() - 4096));
}

TEST(ledger, that_is_nested_without_end_is_refused) {
  for (const char* open : {"[", R"({"a":)"}) {
    std::string deep;
    for (int k = 0; k < 100'000; ++k) deep += open;
    EXPECT_NE(refusal_with(R"("ledger": 1)", R"("ledger": 1, "more": )" + deep), "");
  }
  const auto nested = [](std::size_t depth) { // within the ledger, which is the first
    return refusal_with(R"("ledger": 1)", R"("ledger": 1, "more": )" + std::string(depth - 1, '[') +
                                              std::string(depth - 1, ']'));
  };
  EXPECT_EQ(nested(32), "");
  EXPECT_NE(nested(33), "");
}

TEST(ledger, is_read_from_a_regular_file_of_some_length_only) {
  const auto said = [](const std::string& file) -> std::string {
    try {
      (void)read_ledger(file);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  };
  const std::string file =
      std::filesystem::temp_directory_path() / ("l3-ledger-" + std::to_string(::getpid()));
  EXPECT_EQ(said(file), file + " cannot be read: No such file or directory");
  std::ofstream(file).close();
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
  EXPECT_EQ(said(file), file + " has 1099511627776 bytes; at most 67108864 are read");
  std::string text = to_json(run_counters().account(2));
  text.resize(64 << 20, ' ');
  std::ofstream(file) << text;
  EXPECT_EQ(said(file), "");
  std::ofstream(file, std::ios::app) << ' ';
  EXPECT_EQ(said(file), file + " has 67108865 bytes; at most 67108864 are read");
  std::filesystem::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(said(file), file + " is a pipe, not a regular file");
  std::filesystem::remove(file);
  EXPECT_EQ(said("/dev/zero"), "/dev/zero is a device, not a regular file");
  EXPECT_NE(said("/proc/version").find("syntax error"), std::string::npos)
      << "its size is 0, and it is not empty";
}

TEST(ledger, is_written_and_read_as_a_file) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("l3-ledger-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const ledger l = run_counters().account(2);
  write_ledger(folder / "ledger.json", ledger{});
  write_ledger(folder / "ledger.json", l);
  EXPECT_EQ(read_ledger(folder / "ledger.json"), l);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1)
      << "a temporary file stays";
  std::ofstream(folder / "target") << "not yours";
  std::filesystem::create_symlink(folder / "target", folder / "ledger.json.new");
  write_ledger(folder / "ledger.json", l);
  EXPECT_EQ(std::filesystem::file_size(folder / "target"), 9U) << "it wrote where a link leads";
  EXPECT_EQ(read_ledger(folder / "ledger.json"), l);
  EXPECT_THROW(write_ledger(folder / "no such folder" / "ledger.json", l), std::system_error);
  // As root, `--ledger /dev/null` would take the device from all programs, and so would
  // /dev/stdout.
  const auto pipe = folder / "pipe", link = folder / "link";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink(pipe, link);
  EXPECT_THROW(write_ledger(pipe, l), std::system_error);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_THROW(write_ledger(link, l), std::system_error);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_THROW((void)read_ledger(folder / "none.json"), std::runtime_error);
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace l3
