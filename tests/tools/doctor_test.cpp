// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/checks.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <linux/ethtool.h>

#include "tests/tools/temporary_folder.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;

/// A machine of files, as a kernel shows them.
class a_doctor : public ::testing::Test {
protected:
  a_doctor() {
    machine_.root = root_.path();
    machine_.card = [this](const std::string&) { return card_; };
    machine_.interfaces = [this](const std::string& bind) {
      const auto names = machine_.names("sys/class/net");
      return bind == "10.0.0.1" ? std::set<std::string>{"eth0"}
                                : std::set<std::string>(names.begin(), names.end());
    };
  }

  void says(const std::string& file, const std::string& text) {
    const fs::path path = root_.path() / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  /// The finding of this name; one that says so if there is none.
  static health_finding named(const findings& all, const std::string& what) {
    for (const health_finding& f : all)
      if (f.what == what) return f;
    return {health::bad, what, "not found", ""};
  }
  /// The finding of this name by all checks of the machine.
  health_finding found(const std::string& what) {
    findings all;
    check_memory(machine_, settings_, all);
    check_processors(machine_, all);
    check_network(machine_, settings_, all);
    return named(all, what);
  }

  temporary_folder root_;
  host machine_;
  card_state card_;
  daemon_settings settings_;
};

TEST_F(a_doctor, sees_that_sockets_get_less_than_they_ask_for) {
  says("proc/sys/net/core/rmem_max", "212992");
  const health_finding f = found("sockets.receive_buffer");
  EXPECT_EQ(f.how, health::warning);
  EXPECT_NE(f.text.find("0.2 MiB of the 16.0 MiB"), std::string::npos) << f.text;
  EXPECT_NE(f.remedy.find("sysctl -w net.core.rmem_max=16777216"), std::string::npos);
  says("proc/sys/net/core/rmem_max", "16777216");
  EXPECT_EQ(found("sockets.receive_buffer").how, health::ok);
  settings_.udp.bind.clear();
  EXPECT_EQ(found("sockets.receive_buffer").text, "not found") << "no UDP, nothing to mend";
}

TEST_F(a_doctor, sees_the_limit_of_locked_memory) {
  says("proc/self/limits", "Limit   Soft   Hard   Units\n"
                           "Max locked memory         8388608              8388608     bytes");
  EXPECT_EQ(found("memory.locked").how, health::warning);
  EXPECT_NE(found("memory.locked").remedy.find("LimitMEMLOCK=infinity"), std::string::npos);
  machine_.privileged = true;
  EXPECT_EQ(found("memory.locked").how, health::ok);
  machine_.privileged = false;
  says("proc/self/limits", "Max locked memory         unlimited            unlimited   bytes");
  EXPECT_EQ(found("memory.locked").how, health::ok);
}

TEST_F(a_doctor, sees_the_control_groups_memory) {
  says("proc/meminfo", "MemTotal:       16000000 kB");
  EXPECT_EQ(found("memory.limit").how, health::ok);
  says("proc/self/cgroup", "0::/a");
  says("sys/fs/cgroup/a/memory.max", "300000000");
  EXPECT_EQ(found("memory.limit").how, health::warning);
  says("sys/fs/cgroup/a/memory.max", "100000000");
  const health_finding f = found("memory.limit");
  EXPECT_EQ(f.how, health::bad);
  EXPECT_NE(f.text.find("the control group /a"), std::string::npos) << f.text;
}

TEST_F(a_doctor, sees_governors_and_pages_that_move_between_numa_nodes) {
  EXPECT_EQ(found("processors.governor").how, health::ok);
  says("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
  says("sys/devices/system/cpu/cpufreq/other", "");
  EXPECT_EQ(found("processors.governor").how, health::ok);
  says("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave");
  const health_finding f = found("processors.governor");
  EXPECT_EQ(f.how, health::warning);
  EXPECT_NE(f.text.find("1 of performance, 1 of powersave"), std::string::npos) << f.text;
  says("sys/devices/system/node/node0/x", "");
  says("proc/sys/kernel/numa_balancing", "1");
  EXPECT_EQ(found("processors.numa").how, health::ok) << "one node";
  says("sys/devices/system/node/node1/x", "");
  EXPECT_EQ(found("processors.numa").how, health::warning);
  says("proc/sys/kernel/numa_balancing", "0");
  EXPECT_EQ(found("processors.numa").how, health::ok);
}

class a_doctor_of_cards : public a_doctor {
protected:
  a_doctor_of_cards() {
    settings_.udp.bind = "0.0.0.0";
    says("sys/class/net/eth0/device/vendor", "0x8086");
    says("sys/class/net/eth0/operstate", "up");
    says("sys/class/net/eth0/mtu", "1500");
    says("sys/class/net/eth0/speed", "1000");
    says("sys/class/net/lo/mtu", "65536");
    says("proc/sys/net/core/netdev_max_backlog", "1000");
    says("proc/sys/net/core/netdev_budget", "300");
    says("proc/sys/net/core/busy_poll", "0");
    says("proc/sys/net/core/busy_read", "0");
    card_.ring = {512, 4096};
    card_.queues = {2, 63};
    card_.spread_by = RXH_IP_SRC | RXH_IP_DST;
    card_.gathers = false;
  }
  void make_good() {
    says("sys/class/net/eth0/mtu", "9000");
    says("sys/class/net/eth0/speed", "40000");
    card_.ring = {4096, 4096};
    card_.queues = {8, 63};
    card_.spread_by = RXH_IP_SRC | RXH_IP_DST | RXH_L4_B_0_1 | RXH_L4_B_2_3;
    card_.gathers = true;
  }
};

TEST_F(a_doctor_of_cards, names_each_setting_that_loses_packets_and_the_command_that_mends_it) {
  const std::map<std::string, std::string> remedies{
      {"network.mtu.eth0", "ip link set dev eth0 mtu 9000"},
      {"network.ring.eth0", "ethtool -G eth0 rx 4096"},
      {"network.queues.eth0", "ethtool -L eth0 combined 8"},
      {"network.spread.eth0", "ethtool -N eth0 rx-flow-hash udp4 sdfn"},
      {"network.gro.eth0", "ethtool -K eth0 gro on"}};
  for (const auto& [what, remedy] : remedies) {
    EXPECT_EQ(found(what).how, health::warning) << what;
    EXPECT_EQ(found(what).remedy, remedy);
  }
  EXPECT_EQ(found("network.speed.eth0").text,
            "eth0 runs at 1 Gb/s, less than the 4 Gb/s of forward.rate");
  make_good();
  for (const auto& [what, remedy] : remedies) EXPECT_EQ(found(what).how, health::ok) << what;
  EXPECT_EQ(found("network.speed.eth0").text, "eth0 runs at 40 Gb/s");
}

TEST_F(a_doctor_of_cards, asks_for_no_more_queues_than_there_are_and_for_no_spreading_over_one) {
  card_.queues = {2, 4};
  EXPECT_EQ(found("network.queues.eth0").remedy, "ethtool -L eth0 combined 4");
  card_.queues = {1, 63};
  EXPECT_EQ(found("network.queues.eth0").how, health::warning);
  EXPECT_EQ(found("network.spread.eth0").text, "not found");
  card_ = {};
  says("sys/class/net/eth0/speed", "-1");
  for (const char* what : {"ring", "queues", "spread", "gro", "speed"})
    EXPECT_EQ(found("network." + std::string(what) + ".eth0").text, "not found") << what;
}

TEST_F(a_doctor_of_cards, checks_the_kernel_for_fast_cards_only) {
  EXPECT_EQ(found("network.netdev_budget").text, "not found");
  make_good();
  EXPECT_EQ(found("network.netdev_max_backlog").how, health::warning);
  EXPECT_NE(found("network.netdev_budget").remedy.find("sysctl -w net.core.netdev_budget=600"),
            std::string::npos);
  EXPECT_NE(found("network.busy_poll").text.find("waits for the card's interrupts"),
            std::string::npos);
  says("proc/sys/net/core/busy_poll", "50");
  EXPECT_NE(found("network.busy_poll").text.find("polls the card"), std::string::npos);
  // The kernel settings that the package installs are enough.
  std::ifstream installed(L3_SOURCE_DIR "/deploy/koto-l3d.sysctl");
  for (std::string line; std::getline(installed, line);) {
    if (!line.starts_with("net.")) continue;
    const std::size_t equals = line.find(" = ");
    std::string file = line.substr(0, equals);
    std::ranges::replace(file, '.', '/');
    says("proc/sys/" + file, line.substr(equals + 3));
  }
  for (const char* what :
       {"network.netdev_max_backlog", "network.netdev_budget", "sockets.receive_buffer"})
    EXPECT_EQ(found(what).how, health::ok) << what;
}

TEST_F(a_doctor_of_cards, looks_only_at_cards_where_data_arrive) {
  EXPECT_EQ(found("network.mtu.lo").text, "not found");
  says("sys/class/net/eth1/device/vendor", "0x8086");
  says("sys/class/net/eth1/mtu", "1500");
  EXPECT_EQ(found("network.mtu.eth1").how, health::warning) << "every address";
  says("sys/class/net/eth1/operstate", "down");
  EXPECT_EQ(found("network.mtu.eth1").text, "not found");
  says("sys/class/net/eth1/operstate", "up");
  settings_.udp.bind = "10.0.0.1";
  EXPECT_EQ(found("network.mtu.eth0").how, health::warning);
  EXPECT_EQ(found("network.mtu.eth1").text, "not found");
  settings_.udp.bind = "127.0.0.1";
  EXPECT_EQ(found("network.mtu.eth0").text, "not found");
  EXPECT_EQ(found("network.cards").how, health::ok);
  settings_.tcp.bind = "10.0.0.1";
  EXPECT_EQ(found("network.ring.eth0").how, health::warning);
  EXPECT_EQ(found("network.mtu.eth0").text, "not found") << "TCP needs no larger packets";
}

TEST_F(a_doctor_of_cards, finds_the_cards_below_a_bond) {
  says("sys/class/net/bond0/lower_eth0/mtu", "1500");
  machine_.interfaces = [](const std::string&) { return std::set<std::string>{"bond0"}; };
  EXPECT_EQ(found("network.mtu.eth0").how, health::warning);
}

TEST_F(a_doctor, sees_ports_that_outgoing_connections_take) {
  says("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999");
  says("proc/sys/net/ipv4/ip_local_reserved_ports", "");
  const health_finding f = found("network.ports");
  EXPECT_EQ(f.how, health::warning);
  EXPECT_NE(f.remedy.find("ip_local_reserved_ports=42000-42007,42100 "), std::string::npos)
      << f.remedy;
  says("proc/sys/net/ipv4/ip_local_reserved_ports", "80,41990-42007,42100");
  EXPECT_EQ(found("network.ports").how, health::ok);
  says("proc/sys/net/ipv4/ip_local_reserved_ports", "42000-42006,42100");
  EXPECT_NE(found("network.ports").remedy.find("=42000-42006,42100,42000-42007 "),
            std::string::npos)
      << "what is reserved stays so";
  says("proc/sys/net/ipv4/ip_local_port_range", "50000 60999");
  EXPECT_EQ(found("network.ports").how, health::ok);
}

TEST_F(a_doctor, sees_a_clock_that_is_not_synchronised) {
  const auto health_with = [&](std::function<std::optional<clock_state>()> clock) {
    machine_.clock = std::move(clock);
    findings all;
    check_clock(machine_, all);
    return all.front().how;
  };
  EXPECT_EQ(health_with(host().clock), health::ok);
  EXPECT_EQ(health_with([] { return clock_state{false, 16}; }), health::warning);
  EXPECT_EQ(health_with([] { return clock_state{true, 0.5}; }), health::warning);
  EXPECT_EQ(health_with([] { return clock_state{true, 0.001}; }), health::ok);
}

TEST_F(a_doctor, sees_whether_there_is_the_device_that_is_wanted) {
  const auto device = [&](backend where, const std::string& why) {
    settings_.compute.where = where;
    machine_.why_no_device = [&] { return why; };
    findings all;
    check_device(machine_, settings_, all);
    return all.front();
  };
  EXPECT_EQ(device(backend::automatic, "none").how, health::ok) << "the processors compute";
  EXPECT_EQ(device(backend::cuda, "none").how, health::bad);
  EXPECT_EQ(device(backend::cuda, "").how, health::ok);
  EXPECT_EQ(device(backend::pool, "none").how, health::ok);
  says("proc/driver/nvidia/version", "NVRM version: NVIDIA 535.1\nGCC version: 12");
  EXPECT_EQ(device(backend::automatic, "busy").how, health::warning) << "a driver without a device";
  EXPECT_EQ(device(backend::cuda, "").text, "a GPU answers; NVRM version: NVIDIA 535.1");
}

TEST_F(a_doctor, sees_that_the_link_of_a_gpu_is_less_than_the_card_can_do) {
  machine_.why_no_device = [] { return std::string(); };
  const auto card = [&](const std::string& address, const char* kind, const char* lanes,
                        const char* speed) {
    const std::string at = "sys/bus/pci/devices/" + address + "/";
    says(at + "vendor", "0x10de");
    says(at + "class", kind);
    says(at + "current_link_width", lanes);
    says(at + "max_link_width", "16");
    says(at + "current_link_speed", speed);
    says(at + "max_link_speed", "16.0 GT/s PCIe");
  };
  card("0000:01:00.0", "0x030000", "16", "16.0 GT/s PCIe");
  card("0000:01:00.1", "0x040300", "4", "2.5 GT/s PCIe"); // its sound
  card("0000:41:00.0", "0x030200", "8", "16.0 GT/s PCIe");
  card("0000:81:00.0", "0x030200", "16", "8.0 GT/s PCIe");
  findings all;
  check_device(machine_, settings_, all);
  EXPECT_EQ(all.size(), 4U) << "the device and three links";
  EXPECT_EQ(named(all, "device.link.0000:01:00.0").how, health::ok);
  const health_finding narrow = named(all, "device.link.0000:41:00.0");
  EXPECT_EQ(narrow.how, health::warning);
  EXPECT_EQ(narrow.text, "the link of GPU 0000:41:00.0 has 8 lanes at 16.0 GT/s PCIe, but the card "
                         "can do 16 at 16.0 GT/s PCIe");
  EXPECT_EQ(named(all, "device.link.0000:81:00.0").how, health::warning);
}

TEST_F(a_doctor, measures_a_disk_and_leaves_nothing_there) {
  const auto found = [&](std::uint64_t wanted, double speed) {
    findings all;
    check_disk({"spool.folder", root_.path() / "not" / "yet", wanted, speed}, all);
    return all;
  };
  const findings good = found(0, 0);
  EXPECT_EQ(named(good, "disk.room.spool.folder").how, health::ok);
  const bool measured = named(good, "disk.speed.spool.folder").text.find("cannot be measured") ==
                        std::string::npos; // not on every file system
  EXPECT_EQ(named(good, "disk.speed.spool.folder").how, measured ? health::ok : health::warning);
  EXPECT_TRUE(fs::is_empty(root_.path()));
  const findings poor = found(std::uint64_t{1} << 62, 1e15);
  EXPECT_EQ(named(poor, "disk.room.spool.folder").how, health::warning);
  EXPECT_EQ(named(poor, "disk.speed.spool.folder").how, health::warning);
}

TEST_F(a_doctor, says_that_a_disk_cannot_be_used_or_measured) {
  findings all;
  check_disk({"store", "/proc/store", 0, 0}, all);
  EXPECT_EQ(named(all, "disk.room.store").how, health::bad);
  check_disk({"spool.folder", "/proc", 0, 0}, all);
  EXPECT_NE(all.back().how, health::ok);
  EXPECT_FALSE(all.back().remedy.empty());
}

} // namespace
} // namespace l3
