// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine_check.hpp"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "daemon/memory_plan.hpp"
#include "daemon/monitor/ledger_place.hpp"
#include "daemon/node.hpp"
#include "daemon/size_in_words.hpp"
#include "monitor/http_server.hpp"
#include "tests/transport/output/spool_blocks.hpp"
#include "transport/output/spool.hpp"
#include "transport/output/spool_backlog.hpp"

namespace l3 {
namespace {

daemon_settings small() {
  daemon_settings s;
  s.udp.bind.clear();
  s.tcp.port = 0;
  s.forward.to = "tcp://127.0.0.1:1";
  s.spool.folder.clear();
  s.compute.dumps.clear();
  s.compute.where = backend::serial;
  s.building.max_events_per_spill = 1000;
  s.frames.count = 2;
  s.frames.events = 4;
  s.outbox.memory = mebibytes(16);
  return s;
}

void expect_what_a_node_takes(const daemon_settings& s) {
  const auto planned = memory_plan_of(s, {});
  const auto taken = node(s, "").memory_plan();
  ASSERT_EQ(planned.size(), taken.size());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(planned[i].what, taken[i].what);
    EXPECT_EQ(planned[i].bytes, taken[i].bytes) << taken[i].what;
  }
}

TEST(machine_check, knows_the_memory_of_a_node_before_it_is_made) {
  daemon_settings s = small();
  expect_what_a_node_takes(s);
  s.outbox.codec = codec_id::strong;
  expect_what_a_node_takes(s);
}

TEST(machine_check, knows_the_memory_of_selection_shadow_histograms_and_spool) {
  daemon_settings s = small();
  const std::string deploy = L3_SOURCE_DIR "/deploy/";
  s.selection.lines = deploy + "selection-suppressed.toml";
  s.selection.detector = deploy + "detector.toml";
  s.selection.shadow = deploy + "selection.toml";
  const auto folder = std::filesystem::path(testing::TempDir()) / "memory_plan_spool";
  std::filesystem::remove_all(folder);
  s.spool.folder = folder;
  s.spool.floor = {};
  expect_what_a_node_takes(s);
}

TEST(machine_check, does_not_know_what_an_earlier_daemon_left_on_disk_and_the_node_does) {
  daemon_settings s = small();
  const auto folder = std::filesystem::path(testing::TempDir()) / "memory_plan_found";
  std::filesystem::remove_all(folder);
  s.spool.folder = folder;
  s.spool.floor = {};
  constexpr std::size_t payload = 32 << 20;
  {
    spool disk(s.spool);
    ASSERT_FALSE(disk.append(test::spool_block(1, 1, payload)));
  }
  const auto bytes_of = [](const std::vector<memory_use>& plan) {
    return std::ranges::find(plan, "blocks on their way to and from disk", &memory_use::what)
        ->bytes;
  };
  const auto taken = node(s, "").memory_plan();
  const std::size_t own = s.outbox.block.bytes + largest_packed_event(s.building.crates) +
                          decided_by(s, std::nullopt).size();
  EXPECT_EQ(bytes_of(taken) - bytes_of(memory_plan_of(s, {})),
            spool_backlog::buffers * (payload - own));
}

TEST(machine_check, counts_the_tables_of_event_building) {
  daemon_settings s = small();
  const std::uint64_t few = sum_of(memory_plan_of(s, {}));
  s.building.max_events_per_spill = 16'777'216;
  EXPECT_GE(sum_of(memory_plan_of(s, {})), few + std::uint64_t{3'000'000'000});
  const std::string wrong = wrong_with_memory(s, {}, {1'000'000'000, "this machine"});
  EXPECT_TRUE(wrong.ends_with("lower building.max_events_per_spill")) << wrong;
}

TEST(machine_check, counts_host_memory_for_each_device_and_no_memory_of_devices) {
  const daemon_settings s = small();
  const std::uint64_t on_cpu = sum_of(memory_plan_of(s, {}));
  EXPECT_LT(sum_of(memory_plan_of(s, {1, "", 0, 0})), on_cpu);
  EXPECT_GT(sum_of(memory_plan_of(s, {2, "", 0, 0})), on_cpu);
}

TEST(machine_check, names_what_takes_most) {
  daemon_settings s;
  const std::uint64_t needed = sum_of(memory_plan_of(s, {}));
  EXPECT_EQ(wrong_with_memory(s, {}, {needed, "this machine"}), "");
  const std::string few = wrong_with_memory(s, {}, {needed - 1, "this machine"});
  EXPECT_TRUE(few.ends_with("lower frames.count and frames.events")) << few;
  EXPECT_NE(few.find("and this machine has " + size_in_words(needed - 1)), few.npos) << few;
  s.outbox.memory = mebibytes(1024 * 1024);
  const std::string much = wrong_with_memory(s, {}, {16'000'000'000, "the control group /a"});
  EXPECT_TRUE(much.ends_with("lower outbox.memory")) << much;
  EXPECT_NE(much.find("needs 1121"), much.npos) << much;
}

TEST(machine_check, doubts_a_segment_above_a_quarter_of_the_spool) {
  daemon_settings s = small();
  s.spool.folder = testing::TempDir();
  s.spool.floor = {};
  s.spool.size = mebibytes(64);
  const auto told = [&] {
    const auto all = outlook_of_start(s).doubts;
    return std::ranges::count(all, "spool.segment: 17.8 MB is more than a quarter of spool.size, "
                                   "67.1 MB: files get 16.8 MB");
  };
  s.spool.segment = mebibytes(16);
  EXPECT_EQ(told(), 0);
  s.spool.segment = mebibytes(17);
  EXPECT_EQ(told(), 1);
  EXPECT_EQ(spool::segment_bytes(s.spool), mebibytes(16).bytes);
  s.spool.segment = spool_settings{}.segment; // the default is told of to no user
  EXPECT_EQ(told(), 0);
}

TEST(machine_check, doubts_addresses_of_other_machines) {
  daemon_settings s = small();
  s.tcp.bind = "203.0.113.1";
  s.forward.from = {{"127.0.0.1", {}}, {"203.0.113.2", {}}, {"2001:db8::1", {}}};
  s.monitor.bind.clear();
  const start_outlook found = outlook_of_start(s);
  ASSERT_GE(found.doubts.size(), 3U);
  EXPECT_TRUE(found.doubts[0].starts_with("tcp.bind: 203.0.113.1 port 0: ")) << found.doubts[0];
  EXPECT_EQ(found.doubts[1], "forward.from: no network card of this machine has 203.0.113.2");
  EXPECT_EQ(found.doubts[2], "forward.from: no network card of this machine has 2001:db8::1");
  EXPECT_TRUE(found.refused.empty());
}

TEST(machine_check, doubts_a_name_without_an_address) {
  daemon_settings s;
  s.udp.bind = "no such name"; // a blank: no name server is asked
  const auto doubts = outlook_of_start(s).doubts;
  ASSERT_FALSE(doubts.empty());
  EXPECT_TRUE(doubts[0].starts_with("udp.bind: no such name has no address here: ")) << doubts[0];
}

TEST(machine_check, doubts_a_receiver_whose_name_has_no_address) {
  daemon_settings s = small();
  const std::string name(64, 'x'); // one more than DNS knows: no name server is asked
  s.forward.to = "tcp://" + name + ":42200";
  const auto doubts = outlook_of_start(s).doubts;
  const std::string said = "forward.to: the name " + name + " has no address here: ";
  EXPECT_TRUE(std::ranges::any_of(doubts, [&](const auto& d) { return d.starts_with(said); }));
  s.forward.from = {{"127.0.0.1", {}}, {"127.0.0.2", {}}};
  EXPECT_EQ(std::ranges::count_if(outlook_of_start(s).doubts,
                                  [&](const auto& d) { return d.starts_with(said); }),
            1)
      << "however many connections go there";
  s.forward.to = "tcp://127.0.0.1:1";
  s.forward.from = {{"127.0.0.1", "tcp://" + name + ":42200"}};
  const std::string of_way = "forward.from: the name " + name + " has no address here: ";
  EXPECT_TRUE(std::ranges::any_of(outlook_of_start(s).doubts,
                                  [&](const auto& d) { return d.starts_with(of_way); }));
}

TEST(machine_check, doubts_a_receiver_at_all_addresses) {
  daemon_settings s = small();
  for (const char* host : {"0.0.0.0", "[::]"}) {
    s.forward.to = fmt::format("tcp://{}:42200", host);
    const auto doubts = outlook_of_start(s).doubts;
    const std::string said =
        fmt::format("forward.to: {} stands for all addresses of this machine", host);
    EXPECT_TRUE(std::ranges::any_of(doubts, [&](const auto& d) { return d.starts_with(said); }));
  }
}

/// Each is refused with the words of the start, which ends with it.
class what_a_start_refuses : public testing::Test {
protected:
  what_a_start_refuses() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "file") << "no folder";
    std::filesystem::create_symlink("nowhere", folder_ / "link");
    s_.run.ledger = at("ledgers/");
    s_.monitor.bind.clear();
  }
  ~what_a_start_refuses() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string at(const std::string& name) const { return folder_ / name; }
  /// The one sentence of the check; the start's is the same, but for the key.
  void expect_refused(const std::string& why, const std::function<void()>& start) const {
    const start_outlook found = outlook_of_start(s_);
    ASSERT_EQ(found.refused.size(), 1U) << why;
    EXPECT_NE(found.refused[0].find(why), std::string::npos) << found.refused[0];
    try {
      start();
      ADD_FAILURE() << "it starts, although " << why;
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    }
  }
  void start_node() const { const node started(s_, ""); }
  void take_ledgers() const { ledger_place(s_.run.ledger, s_.run.node).prepare(); }
  void serve_control() const { const http_server control(s_.run.control, {}, http_actions{}); }

  const std::string too_long_ = std::string(NAME_MAX + 1, 'x');
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / "what_a_start_refuses";
  daemon_settings s_ = small();
};

TEST_F(what_a_start_refuses, a_device_that_was_asked_for_and_is_not_there) {
  const auto start = [&] { start_node(); };
  for (const auto& [which, name] :
       {std::pair{backend::cuda, "cuda"}, {backend::hip, "hip"}, {backend::sycl, "sycl"}}) {
    s_.compute.where = which;
    if (why_no_device(s_.compute).empty()) continue; // it is there
    expect_refused("backend " + std::string(name) + " was asked for, but ", start);
  }
}

TEST_F(what_a_start_refuses, a_spool_whose_name_something_else_has) {
  const auto start = [&] { start_node(); };
  s_.spool.folder = at("file");
  expect_refused(at("file") + " is no folder", start);
  s_.spool.folder = at("file/new");
  expect_refused(at("file") + " is no folder", start);
  s_.spool.folder = at("link");
  expect_refused(at("link") + " is a link that leads nowhere", start);
  std::filesystem::create_directory(folder_ / "store");
  std::ofstream(folder_ / "store/blocks-000001.kl3") << "KL3S";
  s_.spool.folder = at("store");
  expect_refused("it is a store, of which blocks-000001.kl3 is a file", start);
  s_.spool.folder = at(too_long_ + "/spool");
  expect_refused("File name too long", start);
}

TEST_F(what_a_start_refuses, ledgers_without_a_place) {
  const auto start = [&] { take_ledgers(); };
  for (const char* name : {"file/", "file/ledger.json"}) {
    s_.run.ledger = at(name);
    expect_refused(at("file") + " is no folder", start);
  }
  for (const char* name : {"none/ledgers/", "none/ledger.json"}) {
    s_.run.ledger = at(name);
    expect_refused("there is no folder " + at("none"), start);
  }
  s_.run.ledger = folder_; // the ledger could not take its place at the end of the run
  expect_refused("it is a folder; with \"/\" at its end, each run has a file of its own", start);
  for (const char* name : {"released.kl3r", "spool-000002.kl3",
                           "blocks-000001-run000007-node0.json", "manifest.kl3m"}) {
    s_.run.ledger = at(name);
    expect_refused("a file of a store or a spool may get this name", start);
  }
  s_.run.ledger = at("pipe");
  ASSERT_EQ(::mkfifo(s_.run.ledger.c_str(), 0600), 0);
  expect_refused("it is no regular file", start);
  s_.run.ledger = at("notes");
  std::ofstream(s_.run.ledger) << "of the shift";
  expect_refused("it is there already, and no daemon wrote it: it stays as it is", start);
  for (const std::string& name :
       {too_long_ + "/", too_long_, too_long_.substr(0, NAME_MAX - 2)}) { // ".trial" is longer
    s_.run.ledger = at(name);
    expect_refused("File name too long", start);
  }
}

TEST_F(what_a_start_refuses, a_socket_without_a_place) {
  const auto start = [&] { serve_control(); };
  s_.run.control = at("none/control.sock");
  expect_refused("there is no folder " + at("none"), start);
  s_.run.control = at("file/control.sock");
  expect_refused(at("file") + " is no folder", start);
  s_.run.control = at("file");
  expect_refused("there is a file of this name", start);
  s_.run.control = folder_;
  expect_refused("there is a folder of this name", start);
  s_.run.control = at(std::string(108, 'x'));
  expect_refused("and that of a socket 107 at most", start);
}

TEST_F(what_a_start_refuses, an_outbox_without_room_for_two_events) {
  s_.outbox.memory = mebibytes(1);
  s_.outbox.block = kibibytes(4);
  expect_refused("outbox.memory is too small: it must hold two events", [&] { start_node(); });
}

TEST_F(what_a_start_refuses, but_not_what_comes_with_the_service) {
  s_.run.control = "/run/koto-l3-of-a-test/control.sock";
  s_.run.ledger = "/var/lib/koto-l3-of-a-test/ledgers/";
  const start_outlook found = outlook_of_start(s_);
  EXPECT_TRUE(found.refused.empty()) << found.refused.front();
  ASSERT_EQ(found.doubts.size(), 2U);
  EXPECT_NE(found.doubts[0].find("there is no folder /var/lib/koto-l3-of-a-test"),
            std::string::npos);
  EXPECT_NE(found.doubts[1].find("there is no folder /run/koto-l3-of-a-test"), std::string::npos);
  s_.run.control = "/var/run/koto-l3-of-a-test/control.sock"; // a link to /run
  EXPECT_TRUE(outlook_of_start(s_).refused.empty());
}

TEST_F(what_a_start_refuses, what_no_service_manager_makes) {
  s_.run.control = "/run/koto-l3-of-a-test/" + std::string(108, 'x');
  s_.run.ledger = "/var/lib/koto-l3-of-a-test/2026/ledgers/"; // two folders are missing
  EXPECT_EQ(outlook_of_start(s_).refused.size(), 2U);
}

TEST_F(what_a_start_refuses, but_not_a_relative_name_which_another_folder_may_have) {
  s_.run.ledger = "none of a test/ledgers/";
  s_.run.control = "none of a test/control.sock";
  const start_outlook found = outlook_of_start(s_);
  EXPECT_TRUE(found.refused.empty()) << found.refused.front();
  ASSERT_EQ(found.doubts.size(), 2U);
  EXPECT_NE(found.doubts[0].find("there is no folder none of a test"), std::string::npos);
}

} // namespace
} // namespace l3
