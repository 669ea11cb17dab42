// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/truth_file.hpp"

#include <array>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/error_of.hpp"
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
    const std::string what = error_of([&] { return reader.next(e, key); });
    EXPECT_TRUE(what.starts_with(path.string() + ":2: is not a line of truth: ")) << line << what;
    return what;
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
  const auto photon = [](const true_photon& p) {
    return std::tuple(p.hit, p.energy, p.deposit, p.x, p.y, p.time, p.veto);
  };
  ASSERT_EQ(e.photons.size(), written.photons.size());
  for (std::size_t i = 0; i < e.photons.size(); ++i)
    EXPECT_EQ(photon(e.photons[i]), photon(written.photons[i]));
  const auto hit = [](const true_hit& h) {
    return std::tuple(h.veto, h.module, h.energy, h.time, h.z, h.accidental);
  };
  ASSERT_EQ(e.hits.size(), written.hits.size());
  for (std::size_t i = 0; i < e.hits.size(); ++i) EXPECT_EQ(hit(e.hits[i]), hit(written.hits[i]));
  ASSERT_TRUE(reader.next(e, key)); // nothing of the one before is left
  EXPECT_EQ(key, (event_key{0, 1}));
  EXPECT_EQ(e.type, event_type::clock);
  EXPECT_EQ(e.vertex_z, 0);
  EXPECT_TRUE(e.photons.empty());
  EXPECT_TRUE(e.hits.empty());
  EXPECT_FALSE(reader.next(e, key));
}

TEST_F(truth, is_refused_with_its_line) {
  std::string whole = line_of(made_event(), {1, 2});
  whole.pop_back();
  for (const std::string& line :
       {std::string(), std::string("{"), std::string("[]"), std::string("17"),
        std::string("not json"), std::string("{}"), std::string("{\"spill\":1}"),
        whole.substr(0, whole.size() / 2)}) // the disk was full
    EXPECT_NE(refusal(line), "") << line;
  const std::string first_veto = koto().vetoes()[0].name;
  const std::array<std::string, 3> edits[] = {
      {"two_pi0_lost", "tau", "there is no event type tau"},
      {"\"name\":\"" + first_veto, "\"name\":\"XY", "the detector has no counter XY"},
      {"\"hit\":\"CsI\"", "\"hit\":\"PbWO\"", "the detector has no counter PbWO"},
      {"\"module\":17", "\"module\":-1", ""},
      {"\"module\":17", "\"module\":70000", ""},
      {"\"event\":2", "\"event\":\"2\"", ""},
      {"\"accidental\":false", "\"accidental\":0", ""},
      {"[1.500,-2.250,4100.125]", "[1.500,-2.250]", ""}};
  for (const auto& [from, to, complaint] : edits) {
    std::string line = whole;
    ASSERT_NE(line.find(from), std::string::npos) << from;
    line.replace(line.find(from), from.size(), to);
    EXPECT_NE(refusal(line).find(complaint), std::string::npos) << to;
  }
}

TEST_F(truth, must_be_there) {
  EXPECT_THROW(truth_reader(folder_ / "none", koto()), std::runtime_error);
  truth_reader made_up("/proc/version", koto());
  true_event e;
  event_key key;
  EXPECT_THROW((void)made_up.next(e, key), std::runtime_error) << "its size is 0";
}

} // namespace
