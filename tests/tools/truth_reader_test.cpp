// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/truth_file.hpp"

#include <gtest/gtest.h>

#include "tests/tools/temporary_folder.hpp"

namespace {

using namespace l3;
using namespace std::chrono_literals;

const detector& koto() {
  static const detector d = default_detector();
  return d;
}

/// Every key of a line; figures of three digits, as the file has them.
true_event made_event() {
  true_event e;
  e.type = event_type::two_pi0_lost;
  e.trigger_bits = 0x1001;
  e.vertex_x = 1.5;
  e.vertex_y = -2.25;
  e.vertex_z = 4100.125;
  e.kaon_momentum = 1432.5;
  true_photon in_crystals;
  in_crystals.energy = 512.25;
  in_crystals.deposit = 500.125;
  in_crystals.x = -300.5;
  in_crystals.y = 20;
  in_crystals.time = 0.75;
  in_crystals.hit = true_photon::target::calorimeter;
  true_photon in_counter = in_crystals;
  in_counter.deposit = 0;
  in_counter.hit = true_photon::target::veto;
  in_counter.veto = 2;
  true_photon lost;
  lost.energy = 31;
  e.photons = {in_crystals, in_counter, lost};
  e.hits = {{2, 17, 12.5, 3.25, -1200, false}, {0, 143, 1.125, -14.5, 0, true}};
  return e;
}

std::string line_of(const true_event& e, event_key key) {
  std::string line;
  append_truth(line, koto(), e, key, 5ms);
  return line;
}

class truth : public testing::Test {
protected:
  std::filesystem::path file(const std::string& text) {
    const auto path = folder_ / "truth.jsonl";
    std::ofstream(path) << text;
    return path;
  }

  /// The error of a file with this second line.
  std::string refusal(const std::string& line) {
    const auto path = file(line_of(made_event(), {1, 1}) + line + "\n");
    truth_reader reader(path, koto());
    true_event e;
    event_key key;
    EXPECT_TRUE(reader.next(e, key));
    try {
      (void)reader.next(e, key);
    } catch (const std::runtime_error& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.starts_with(path.string() + ":2: is not a line of truth: ")) << what;
      return what;
    }
    ADD_FAILURE() << "took " << line;
    return "";
  }

  /// The line of an event after an edit.
  static std::string edited(const std::string& from, const std::string& to) {
    std::string line = line_of(made_event(), {1, 2});
    const auto at = line.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    line.replace(at, from.size(), to);
    line.pop_back();
    return line;
  }

  temporary_folder folder_;
};

TEST_F(truth, comes_back_as_it_was_written) {
  const true_event written = made_event();
  true_event plain;
  plain.type = event_type::clock;
  truth_reader reader(file(line_of(written, {511, 70000}) + line_of(plain, {0, 1})), koto());
  true_event e;
  event_key key;
  ASSERT_TRUE(reader.next(e, key));
  EXPECT_EQ(key, (event_key{511, 70000}));
  EXPECT_EQ(e.type, written.type);
  EXPECT_EQ(e.trigger_bits, written.trigger_bits);
  EXPECT_EQ(e.vertex_x, written.vertex_x);
  EXPECT_EQ(e.vertex_y, written.vertex_y);
  EXPECT_EQ(e.vertex_z, written.vertex_z);
  EXPECT_EQ(e.kaon_momentum, written.kaon_momentum);
  ASSERT_EQ(e.photons.size(), written.photons.size());
  for (std::size_t i = 0; i < e.photons.size(); ++i) {
    const auto& is = e.photons[i];
    const auto& was = written.photons[i];
    EXPECT_EQ(is.hit, was.hit);
    EXPECT_EQ(is.energy, was.energy);
    EXPECT_EQ(is.deposit, was.deposit);
    EXPECT_EQ(is.x, was.x);
    EXPECT_EQ(is.y, was.y);
    EXPECT_EQ(is.time, was.time);
    EXPECT_EQ(is.veto, was.veto);
  }
  ASSERT_EQ(e.hits.size(), written.hits.size());
  for (std::size_t i = 0; i < e.hits.size(); ++i) {
    const auto& is = e.hits[i];
    const auto& was = written.hits[i];
    EXPECT_EQ(is.veto, was.veto);
    EXPECT_EQ(is.module, was.module);
    EXPECT_EQ(is.energy, was.energy);
    EXPECT_EQ(is.time, was.time);
    EXPECT_EQ(is.z, was.z);
    EXPECT_EQ(is.accidental, was.accidental);
  }
  ASSERT_TRUE(reader.next(e, key)); // nothing of the one before is left
  EXPECT_EQ(key, (event_key{0, 1}));
  EXPECT_EQ(e.type, event_type::clock);
  EXPECT_EQ(e.vertex_z, 0);
  EXPECT_TRUE(e.photons.empty());
  EXPECT_TRUE(e.hits.empty());
  EXPECT_FALSE(reader.next(e, key));
}

TEST_F(truth, names_the_line_that_is_none) {
  for (const std::string line : {"", "{", "[]", "17", "not json", "{}", "{\"spill\":1}"})
    EXPECT_NE(refusal(line), "") << line;
  const std::string whole = edited("{", "{");
  EXPECT_NE(refusal(whole.substr(0, whole.size() / 2)), ""); // the disk was full
}

TEST_F(truth, says_what_it_does_not_know) {
  EXPECT_NE(refusal(edited("two_pi0_lost", "tau")).find("there is no event type tau"),
            std::string::npos);
  EXPECT_NE(refusal(edited("\"name\":\"" + koto().vetoes()[0].name, "\"name\":\"XY"))
                .find("the detector has no counter XY"),
            std::string::npos);
  EXPECT_NE(refusal(edited("\"hit\":\"CsI\"", "\"hit\":\"PbWO\""))
                .find("the detector has no counter PbWO"),
            std::string::npos);
}

TEST_F(truth, refuses_numbers_that_are_none) {
  refusal(edited("\"module\":17", "\"module\":-1"));
  refusal(edited("\"module\":17", "\"module\":70000"));
  refusal(edited("\"event\":2", "\"event\":\"2\""));
  refusal(edited("\"accidental\":false", "\"accidental\":0"));
  refusal(edited("[1.500,-2.250,4100.125]", "[1.500,-2.250]"));
}

TEST_F(truth, must_be_there) {
  EXPECT_THROW(truth_reader(folder_ / "none", koto()), std::runtime_error);
  truth_reader made_up("/proc/version", koto());
  true_event e;
  event_key key;
  EXPECT_THROW((void)made_up.next(e, key), std::runtime_error) << "its size is 0";
}

} // namespace
