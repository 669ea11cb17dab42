// SPDX-License-Identifier: Apache-2.0
// The claims of the bench about UDP rates, and its limit: from an iperf3 that the test makes.
#include <gtest/gtest.h>

#include <cstdlib>

#include "bench/pipeline/iperf3.hpp"
#include "bench/pipeline/udp_claim.hpp"
#include "tests/tools/temporary_folder.hpp"
#include "tools/rehearsal/child_process.hpp"

namespace {

using namespace l3;

std::vector<double> broken_rates(std::vector<udp_trial> trials, double must_sustain) {
  std::vector<double> rates;
  for (const auto& t : broken_claims(trials, must_sustain)) rates.push_back(t.rate);
  return rates;
}

TEST(udp_claim, is_the_highest_rate_without_loss) {
  EXPECT_EQ(sustained(std::vector<udp_trial>{{3, 0}, {6, 0}, {9, 5}}), 6);
  EXPECT_EQ(sustained(std::vector<udp_trial>{{3, 1}}), 0);
  EXPECT_EQ(sustained({}), 0);
}

TEST(udp_claim, is_not_broken_by_loss_above_it) {
  EXPECT_EQ(broken_rates({{3, 0}, {6, 0}, {9, 5}}, 6), std::vector<double>{});
}

TEST(udp_claim, is_broken_by_loss_below_a_rate_without) {
  EXPECT_EQ(broken_rates({{3, 1}, {6, 0}, {9, 5}}, 0), std::vector<double>{3});
}

TEST(udp_claim, is_broken_by_loss_up_to_the_rate_that_must_be_sustained) {
  EXPECT_EQ(broken_rates({{3, 0}, {6, 7}, {9, 5}}, 6), std::vector<double>{6});
  EXPECT_EQ(broken_rates({{3, 2}, {6, 7}}, 3), std::vector<double>{3});
}

/// While it lives, PATH is one folder, with or without an iperf3 in it.
class path_of_one {
public:
  path_of_one() : before_(std::getenv("PATH")) { setenv("PATH", folder_.path().c_str(), 1); }
  ~path_of_one() { setenv("PATH", before_.c_str(), 1); }
  path_of_one(const path_of_one&) = delete;
  path_of_one& operator=(const path_of_one&) = delete;

  void make_iperf3(const std::string& server, const std::string& client) const {
    std::ofstream(folder_ / "iperf3")
        << "#!/bin/sh\nif [ $1 = -s ]; then\n" + server + "\nelse\n" + client + "\nfi\n";
    std::filesystem::permissions(folder_ / "iperf3", std::filesystem::perms::owner_all);
  }
  [[nodiscard]] iperf3_result run() const { return run_iperf3(folder_.path()); }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return folder_ / name;
  }

private:
  temporary_folder folder_;
  std::string before_;
};

const char* const waits = "exec /bin/sleep 60";
const char* const answers = R"(echo '{"end":{"sum_received":{"bits_per_second":8e9}}}')";

TEST(iperf3, is_found_in_the_path) {
  const path_of_one path;
  EXPECT_FALSE(find_program("iperf3"));
  std::ofstream(path / "iperf3") << "no program";
  EXPECT_FALSE(find_program("iperf3"));
  path.make_iperf3(waits, answers);
  EXPECT_EQ(find_program("iperf3"), path / "iperf3");
  const auto r = path.run();
  ASSERT_TRUE(r.rate) << r.why_not;
  EXPECT_DOUBLE_EQ(*r.rate, 1e9);
}

TEST(iperf3, that_is_missing_is_told) {
  const path_of_one path;
  const auto r = path.run();
  EXPECT_FALSE(r.rate);
  EXPECT_EQ(r.why_not, "iperf3 is not in PATH");
}

TEST(iperf3, is_asked_again_until_it_listens) {
  const path_of_one path;
  const auto marks = (path / "marks").string();
  path.make_iperf3(waits, "echo x >> " + marks + "\nif [ $(/bin/cat " + marks +
                              " | /usr/bin/wc -l) -lt 3 ]; then echo '{\"error\":\"refused\"}'; "
                              "exit 1; fi\n" +
                              answers);
  const auto r = path.run();
  EXPECT_TRUE(r.rate) << r.why_not;
  EXPECT_EQ(contents(path / "marks"), "x\nx\nx\n");
}

TEST(iperf3, that_fails_is_told) {
  const path_of_one path;
  path.make_iperf3("exit 1", "exit 1");
  const auto r = path.run();
  EXPECT_FALSE(r.rate);
  EXPECT_NE(r.why_not.find("iperf3 failed"), std::string::npos);
}

} // namespace
