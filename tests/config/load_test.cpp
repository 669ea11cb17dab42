// SPDX-License-Identifier: Apache-2.0
// What users see when a configuration is read: settings, or everything that is wrong with it.
#include "config/load.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/endpoint.hpp"
#include "config/key.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> errors_of(const std::string& toml) {
  std::vector<std::string> texts;
  for (const complaint& e : read_config(toml, "l3.toml").errors) texts.push_back(to_string(e));
  return texts;
}

using texts = std::vector<std::string>;

TEST(load, an_empty_file_gives_the_defaults) {
  const loaded_config c = read_config("", "l3.toml");
  EXPECT_TRUE(c.ok());
  EXPECT_TRUE(c.origins.empty());
  EXPECT_EQ(c.settings.building.crates, readout::koto());
  EXPECT_EQ(c.settings.udp.port, 42000);
}

TEST(load, every_kind_of_value_reaches_its_setting) {
  const loaded_config c = read_config(R"(
[run]
number = 77
ledger = ""
[readout]
crates = ["3: 4 x 125 MHz", "7-8: 2 x 500 MHz"]
[building]
incomplete = "forward"
event_time_limit = "0.25 s"
[udp]
bind = "10.1.2.3:5000"
[tcp]
bind = ""
[compute]
backend = "pool"
[outbox]
memory = "64 MiB"
[forward]
to = "tcp://far.example:9"
insecure = "on"
rate = "unlimited"
)",
                                      "l3.toml");
  ASSERT_TRUE(c.ok()) << to_string(c.errors.front());
  EXPECT_EQ(c.settings.run.number, 77U);
  EXPECT_EQ(c.settings.run.ledger, "");
  ASSERT_EQ(c.settings.building.crates.size(), 3U);
  EXPECT_EQ(c.settings.building.crates.crates[2],
            (crate_readout{8, 2, board_kind::sampling_500_mhz}));
  EXPECT_EQ(c.settings.building.incomplete, incomplete_events::forward);
  EXPECT_EQ(c.settings.building.event_time_limit, 250ms);
  EXPECT_EQ(c.settings.udp.bind, "10.1.2.3");
  EXPECT_EQ(c.settings.udp.port, 5000);
  EXPECT_EQ(c.settings.tcp.bind, "");
  EXPECT_EQ(c.settings.compute.where, backend::pool);
  EXPECT_EQ(c.settings.outbox.memory, mebibytes(64));
  EXPECT_EQ(c.settings.forward.to, "tcp://far.example:9");
  EXPECT_EQ(c.settings.forward.rate, bit_rate{0});
  EXPECT_EQ(c.origins.at("forward.rate").line, 21U);
}

/// A text and a part of the only message about it; nothing if it is taken.
TEST(load, mistakes_are_told_with_place_and_remedy) {
  const std::string link = "forward.insecure = \"on\"\n";
  const std::pair<std::string, std::string> cases[] = {
      {"[spool]\nfolder = \"~/spool\"",
       "l3.toml:2:10: spool.folder = \"~/spool\" begins with \"~\", which only a shell "
       "expands: write the full path, from \"/\" on (default \"koto-l3d-spool\")"},
      {"[run]\nledger = \"$HOME/ledgers/\"",
       "has a variable like \"$HOME\", which only a shell expands"},
      {"[selection]\nlines = \"/home/${USER}/menu.toml\"", "which only a shell expands"},
      {"[spool]\nfolder = \"/data/a~b$/5$\"", ""},
      {"[forward]\nto = \"tcp://*:42200\"",
       ":2:6: forward.to = \"tcp://*:42200\" has no host to send to: name the receiver's machine, "
       "as "
       "in \"tcp://node1:42200\" (default \"tcp://127.0.0.1:42200\")"},
      {"forward.from = [\"10.1.0.2 to tcp://*:42200\"]", "has no host to send to"},
      // Of the wrong kind, or out of range.
      {"\n[frames]\ncount = 1\n",
       ":3:9: frames.count = 1 is out of range 2..64 (default \"auto\")"},
      {"frames.age = \"2 s\"", "is out of range \"100 us\"..\"1 s\" (default \"5 ms\")"},
      {"forward.rate = \"1 b/s\"",
       "out of range \"1 Mb/s\"..\"400 Gb/s\" or \"unlimited\" (default"},
      {"frames.count = \"4\"", ":1:16: frames.count = \"4\" is neither an integer nor \"auto\""},
      {"frames.count = 4.5", "frames.count = 4.5 is neither an integer nor \"auto\""},
      {"[frames.count]\nx = 1", ":1:1: frames.count = {…} is neither an integer nor \"auto\""},
      {"frames.age = 5",
       "is not a duration: write a number and a unit (ns, us, ms, s, min) in quot"},
      {"log.level = \"loud\"",
       "is not one of \"trace\", \"debug\", \"info\", \"warn\", \"error\" (def"},
      {"tcp.bind = \"localhost 80\"", "is not an address like \"127.0.0.1:42000\" or "
                                      "\"node1:42000\" (default \"127.0.0.1:42100\")"},
      {"monitor.bind = \"::1:9420\"", "\"::1:9420\" is not an address like \"127.0.0.1:42000\""},
      {"monitor.bind = \"[::1]:9420\"", ""},
      {"monitor.bind = \"node-1.koto:9420\"", ""},
      {"udp.bind = \"0.0.0.0:0\"", "needs a port in 1..65535 (default \"127.0.0.1:42000\")"},
      {"forward.to = \"tcp://host\"", "is not an endpoint like \"tcp://127.0.0.1:42200\""},
      {"run = 3", ":1:7: run = 3 is not a table; write [run] with its keys below it"},
      {"[udp]\nports = = 3\n", "l3.toml:2:9: this is not TOML: "},
      // Unknown keys.
      {"[forward]\nrat = \"1 Gb/s\"", ":2:1: forward.rat is not a key; did you mean forward.rate?"},
      {"[tcp]\nsocket_buffer = \"1 MiB\"", "is not a key; did you mean udp.socket_buffer?"},
      {"[udp]\nqqqqqqqqqqqq = 1",
       ":2:1: udp.qqqqqqqqqqqq is not a key; there are bind, ports, threads, socket_buffer, allow"},
      {"[forwrad]\nrate = 1\nto = 2", ":1:2: forwrad is not a key; did you mean forward?"},
      // The readout.
      {"readout.crates = [\"0-3: 17 x 125 MHz\"]", "has 17 boards; a crate has 1..16"},
      {"[readout]\ncrates = [\"4: 1 x 125 MHz\",\n \"4: 1 x 125 MHz\"]",
       ":3:2: readout.crates = \"4: 1 x 125 MHz\" names crate 4 a second time"},
      {"readout.crates = [\"0-255: 1 x 125 MHz\"]",
       ":1:18: readout.crates = [\"0-255: 1 x 125 MHz\"] has 256 crates; at most 64 can be read "
       "out"},
      {"readout.crates = []", "readout.crates"},
      // Settings that do not go together.
      {"udp.bind = \"\"\ntcp.bind = \"\"",
       ":1:12: udp.bind and tcp.bind are both \"\": no data could"},
      {"udp.bind = \"127.0.0.1:65530\"",
       "udp.bind = 127.0.0.1:65530 with udp.ports = 8 exceeds port 65535"},
      {"udp.threads = 9", ":1:15: udp.threads = 9 is more than udp.ports = 8"},
      {"tcp.bind = \"0.0.0.0:9420\"",
       ":1:12: monitor.bind and tcp.bind are the same address, 127.0.0.1:9420"},
      {"tcp.bind = \"127.0.0.1:9420\"", "are the same address"},
      {"tcp.bind = \"127.0.0.2:9420\"", ""},
      {"monitor.bind = \"\"\ntcp.bind = \"0.0.0.0:9420\"", ""},
      {"forward.to = \"tcp://127.0.0.1:42100\"", "is this daemon's own tcp.bind"},
      {"selection.mode = \"record\"", "selection.mode = record needs selection.lines"},
      {"selection = { mode = \"record\", lines = \"built-in\" }", ""},
      {"forward.secret_key = \"node.secret\"", "has no effect without forward.receiver_key"},
      {"farm.etcd = [\"http://etcd1:2379\"]", "farm.etcd needs run.control: without it"},
      {"run.control = \"s\"\nfarm.etcd = [\"https://etcd1:2379\"]", "(https is not supported)"},
      {"farm.user = \"l3\"", "farm.user"},
      {"outbox.memory = \"2 MiB\"",
       "outbox.memory = 2 MiB holds fewer than 4 blocks of outbox.block = 1 MiB"},
      {"readout.crates = [\"0-63: 1 x 125 MHz\"]\n[building]\nmax_events_per_spill = 16777216\n"
       "[frames]\nevents = 1\n",
       ""},
      {"frames.events = 4096\nreadout.crates = [\"0-63: 16 x 125 MHz\"]",
       ":1:17: frames.events = 4096 makes frames of "},
      // A link without keys to another machine is asked for by name.
      {"forward.to = \"tcp://[::1]:9\"", ""},
      {"forward.to = \"tcp://localhost:9\"", ""},
      {"forward.to = \"tcp://10.1.0.1:9\"", "has no keys: set forward.secret_key"},
      {"forward.to = \"tcp://[::2]:9\"", "has no keys: set forward.secret_key"},
      {"forward.to = \"tcp://127.example:9\"", "has no keys: set forward.secret_key"},
      {"forward.from = [\"10.1.0.2 to tcp://10.1.0.1:9\"]", "link to tcp://10.1.0.1:9 has no keys"},
      {link + "forward.to = \"tcp://10.1.0.1:9\"", ""},
      {"forward = {to = \"tcp://10.1.0.1:9\", secret_key = \"a\", receiver_key = \"b\"}", ""},
      // Connections to the receiver, networks and prefixes, one by one.
      {"forward.from = [\"::1\"]", "forward.from"}, // to an address of IPv4
      {"forward.from = [\"1.1.1.1\", \"1.1.1.2\", \"1.1.1.3\", \"1.1.1.4\", \"1.1.1.5\"]",
       "forward"},
      {"tcp.allow = \"10.0.0.1\"", "tcp.allow"},
      {"tcp.allow = [\"0.0.0.0/0\", \"::/0\"]", ""},
  };
  for (const auto& [toml, message] : cases) {
    const texts said = errors_of(toml);
    ASSERT_EQ(said.size(), message.empty() ? 0U : 1U) << toml;
    EXPECT_TRUE(message.empty() || said[0].find(message) != std::string::npos) << said[0];
  }
  const auto expect_one = [](const std::string& toml, const std::string& part) {
    const texts said = errors_of(toml);
    ASSERT_EQ(said.size(), 1U) << toml;
    EXPECT_NE(said[0].find(part), std::string::npos) << said[0];
  };
  for (const std::string prefix : {"", "/", "//", "koto/", "/koto", "/ko to/", "/kötö/"})
    expect_one("farm.prefix = \"" + prefix + "\"", "farm.prefix");
  for (const std::string wrong :
       {"10.1.0.2:80", "node7", "", "10.1.0.2 to", "10.1.0.2 to 10.1.0.1:42200", "10.1.0.2;1"})
    expect_one("forward.from = [\"" + wrong + "\"]", "is not a connection like");
  for (const std::string wrong :
       {"10.1.0.1/16", "10.1.0.0/33", "10.1.0.0/", "10.1.0.0/-1", "10.1/16", "10.1.0.0/16 ",
        "2001:db9::/31", "::1/129", "[::1]", "fe80::1%lo", ""})
    expect_one("tcp.allow = [\"10.0.0.1\", \"" + wrong + "\"]", "tcp.allow");
}

TEST(load, processors_are_a_list_or_chosen) {
  const auto processors = [](const std::string& text) {
    return read_config("node.processors = \"" + text + "\"", "l3.toml").settings.node.processors;
  };
  EXPECT_EQ(processors("16,0-2,1"), (std::vector{0, 1, 2, 16}));
  EXPECT_EQ(processors("auto"), std::vector<int>{});
  for (const std::string wrong : {R"("")", R"("all")", R"("0-1024")", R"("3-1")", "[0, 1]"}) {
    const texts found = errors_of("node.processors = " + wrong);
    ASSERT_EQ(found.size(), 1U) << wrong;
    EXPECT_NE(found[0].find(R"(is neither "auto" nor a list like)"), std::string::npos) << found[0];
  }
}

TEST(load, a_removed_key_is_refused_with_its_replacement) {
  for (const gone_key& k : gone_keys()) {
    EXPECT_EQ(errors_of(std::string(k.path) + " = 1"),
              texts{fmt::format("l3.toml:1:{}: {} was removed: {}", k.path.find('.') + 2, k.path,
                                k.advice)});
  }
}

TEST(load, all_errors_are_told_in_the_order_of_the_file) {
  const texts found =
      errors_of("[udp]\nports = 0\nthreads = 99\n[zzz]\n[building]\nchunk_bytes = 8001\n");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0], "l3.toml:2:9: udp.ports = 0 is out of range 1..64 (default 8)");
  EXPECT_EQ(found[1], "l3.toml:3:11: udp.threads = 99 is out of range 1..16 (default 1)");
  EXPECT_EQ(found[2].find("l3.toml:4:2: zzz is not a key; there are run, readout, building, "), 0U);
  EXPECT_EQ(found[3], "l3.toml:6:15: building.chunk_bytes = 8001 is not a multiple of 4");
}

TEST(load, a_file_that_cannot_be_read_is_one_message) {
  const auto only_error = [](const std::string& file) {
    const loaded_config c = load_config(file);
    return c.errors.size() == 1 ? to_string(c.errors[0]) : "not one error";
  };
  EXPECT_EQ(only_error("/nonexistent/l3.toml"),
            "/nonexistent/l3.toml: cannot be read: No such file or directory");
  EXPECT_EQ(only_error("/tmp"), "/tmp: is a folder, not a file");
  EXPECT_EQ(only_error("/dev/zero"), "/dev/zero: is a device, not a regular file");
}

TEST(load, a_file_gives_its_name_to_messages_and_origins) {
  const std::string file = std::filesystem::temp_directory_path() /
                           ("l3-load-test-" + std::to_string(getpid()) + ".toml");
  std::ofstream(file) << "[run]\nnumber = 5\nnode = -1\n";
  const loaded_config c = load_config(file);
  std::filesystem::remove(file);
  ASSERT_EQ(c.errors.size(), 1U);
  EXPECT_EQ(to_string(c.errors[0]),
            file + ":3:8: run.node = -1 is out of range 0..4294967295 (default 0)");
  EXPECT_EQ(c.origins.at("run.number").file, file);
}

TEST(load, connections_to_the_receiver_are_checked_one_by_one) {
  const auto c = read_config("forward.from = [\"10.1.0.2\", \"10.2.0.2 to "
                             "tcp://10.2.0.1:42200\"]\nforward.insecure = \"on\"",
                             "l3.toml");
  ASSERT_TRUE(c.ok());
  const std::vector<link_way> ways{{"10.1.0.2", ""}, {"10.2.0.2", "tcp://10.2.0.1:42200"}};
  EXPECT_EQ(c.settings.forward.from, ways);
}

TEST(load, networks_are_checked_entry_by_entry) {
  const auto c = read_config("udp.allow = [\"10.1.0.0/16\", \"127.0.0.2\"]", "l3.toml");
  ASSERT_TRUE(c.ok());
  const source_list& udp = c.settings.udp.allow;
  EXPECT_TRUE(udp.takes(ip_address::ipv4(0x0a01ffffU)));
  EXPECT_FALSE(udp.takes(ip_address::ipv4(0x0a020000U)));
  EXPECT_TRUE(udp.takes(ip_address::ipv4(0x7f000002U)));
  EXPECT_FALSE(udp.takes(ip_address::ipv4(0x7f000001U)));
  EXPECT_FALSE(udp.takes({0, 0x0a01ffffU})) << "of IPv6, with the same last bits";
  EXPECT_TRUE(c.settings.tcp.allow.takes(ip_address::ipv4(0x7f000001U)))
      << "an empty list takes everybody";
}

TEST(load, networks_are_of_both_families) {
  const auto network = [](const char* text) { return read_network(text).value(); };
  constexpr ip_address documentation{0x2001'0db8'0000'0000, 0};
  EXPECT_TRUE(network("2001:db8::/32").holds({documentation.high | 0xffff'ffff, ~0ULL}));
  EXPECT_FALSE(network("2001:db8::/32").holds({documentation.high + (1ULL << 32), 0}));
  EXPECT_TRUE(network("2001:db8::/96").holds({documentation.high, 0xffff'ffff}));
  EXPECT_FALSE(network("2001:db8::/96").holds({documentation.high, 0x1'0000'0000}));
  EXPECT_TRUE(network("::1").holds({0, 1}));
  EXPECT_FALSE(network("::1").holds({0, 2}));
  EXPECT_TRUE(network("0.0.0.0/0").holds(ip_address::ipv4(7)));
  EXPECT_FALSE(network("0.0.0.0/0").holds({0, 1})) << "every address of IPv4, none of IPv6";
  EXPECT_TRUE(network("::/0").holds(ip_address::ipv4(7))) << "IPv4 is mapped into it";
  EXPECT_EQ(network("::ffff:10.0.0.0/104"), network("10.0.0.0/8")) << "the same network";
  for (const char* text : {"10.1.0.0/16", "10.2.0.7", "0.0.0.0/0", "2001:db8::/32", "::1", "::/0"})
    EXPECT_EQ(show_network(network(text)), text);
}

TEST(load, fragment_ids_must_fit_their_32_bits) {
  daemon_settings s;
  s.building.max_events_per_spill = 0xffffffffU / 18 + 1;
  ASSERT_EQ(conflicts_in(s).size(), 1U);
  s.building.max_events_per_spill = 0xffffffffU / 18;
  EXPECT_TRUE(conflicts_in(s).empty());
}

} // namespace
} // namespace l3
