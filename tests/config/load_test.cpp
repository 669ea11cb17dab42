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

TEST(load, refuses_names_that_only_a_shell_completes) {
  const std::string home =
      R"(begins with "~", which only a shell expands: write the full path, from "/" on)";
  const std::string variable =
      R"(has a variable like "$HOME", which only a shell expands: write the full path, from "/" on)";
  EXPECT_EQ(
      errors_of("[spool]\nfolder = \"~/spool\""),
      texts{"l3.toml:2:10: spool.folder = \"~/spool\" " + home + " (default \"koto-l3d-spool\")"});
  EXPECT_EQ(errors_of("[run]\nledger = \"$HOME/ledgers/\""),
            texts{"l3.toml:2:10: run.ledger = \"$HOME/ledgers/\" " + variable +
                  " (default \"koto-l3d-ledgers/\")"});
  EXPECT_EQ(errors_of("[selection]\nlines = \"/home/${USER}/menu.toml\"").size(), 1U);
  EXPECT_TRUE(errors_of("[spool]\nfolder = \"/data/a~b$/5$\"").empty());
}

TEST(load, refuses_a_receiver_that_is_everywhere) {
  const std::string why = "has no host to send to: name the receiver's machine, as in "
                          "\"tcp://node1:42200\"";
  EXPECT_EQ(errors_of("[forward]\nto = \"tcp://*:42200\""),
            texts{"l3.toml:2:6: forward.to = \"tcp://*:42200\" " + why +
                  " (default \"tcp://127.0.0.1:42200\")"});
  const auto of_way = errors_of("[forward]\nfrom = [\"10.1.0.2 to tcp://*:42200\"]");
  ASSERT_EQ(of_way.size(), 1U);
  EXPECT_TRUE(of_way[0].ends_with(why)) << of_way[0];
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

TEST(load, a_value_out_of_range_is_told_with_place_range_and_default) {
  EXPECT_EQ(errors_of("\n[frames]\ncount = 1\n"),
            texts{"l3.toml:3:9: frames.count = 1 is out of range 2..64 (default \"auto\")"});
  EXPECT_EQ(
      errors_of("[frames]\nage = \"2 s\"\n"),
      texts{R"(l3.toml:2:7: frames.age = "2 s" is out of range "100 us".."1 s" (default "5 ms"))"});
  EXPECT_EQ(
      errors_of("[forward]\nrate = \"1 b/s\"\n"),
      texts{
          R"(l3.toml:2:8: forward.rate = "1 b/s" is out of range "1 Mb/s".."400 Gb/s" or "unlimited" (default "4 Gb/s"))"});
}

TEST(load, a_value_of_the_wrong_kind_is_told_with_what_is_taken) {
  EXPECT_EQ(
      errors_of("frames.count = \"4\""),
      texts{
          R"(l3.toml:1:16: frames.count = "4" is neither an integer nor "auto" (default "auto"))"});
  EXPECT_EQ(
      errors_of("frames.count = 4.5"),
      texts{
          R"(l3.toml:1:16: frames.count = 4.5 is neither an integer nor "auto" (default "auto"))"});
  EXPECT_EQ(errors_of("frames.age = 5"),
            texts{"l3.toml:1:14: frames.age = 5 is not a duration: write a number and a unit (ns, "
                  "us, ms, s, min) in quotes (default \"5 ms\")"});
  EXPECT_EQ(
      errors_of("log.level = \"loud\""),
      texts{
          R"(l3.toml:1:13: log.level = "loud" is not one of "trace", "debug", "info", "warn", "error" (default "info"))"});
  EXPECT_EQ(
      errors_of("tcp.bind = \"localhost 80\""),
      texts{
          R"(l3.toml:1:12: tcp.bind = "localhost 80" is not an address like "127.0.0.1:42000" or "node1:42000" (default "127.0.0.1:42100"))"});
  EXPECT_EQ(errors_of("monitor.bind = \"[::1]:9420\""), texts{}) << "of IPv6";
  EXPECT_EQ(errors_of("monitor.bind = \"node-1.koto:9420\""), texts{}) << "a name";
  EXPECT_EQ(
      errors_of("monitor.bind = \"::1:9420\""),
      texts{
          R"(l3.toml:1:16: monitor.bind = "::1:9420" is not an address like "127.0.0.1:42000" or "node1:42000" (default "127.0.0.1:9420"))"});
  EXPECT_EQ(
      errors_of("udp.bind = \"0.0.0.0:0\""),
      texts{
          R"(l3.toml:1:12: udp.bind = "0.0.0.0:0" needs a port in 1..65535 (default "127.0.0.1:42000"))"});
  EXPECT_EQ(
      errors_of("forward.to = \"tcp://host\""),
      texts{
          R"(l3.toml:1:14: forward.to = "tcp://host" is not an endpoint like "tcp://127.0.0.1:42200" (default "tcp://127.0.0.1:42200"))"});
  EXPECT_EQ(errors_of("run = 3"),
            texts{"l3.toml:1:7: run = 3 is not a table; write [run] with its keys below it"});
  EXPECT_EQ(
      errors_of("[frames.count]\nx = 1"),
      texts{
          R"(l3.toml:1:1: frames.count = {…} is neither an integer nor "auto" (default "auto"))"});
}

TEST(load, an_unknown_key_is_told_with_the_nearest_name) {
  EXPECT_EQ(errors_of("[forward]\nrat = \"1 Gb/s\"\n"),
            texts{"l3.toml:2:1: forward.rat is not a key; did you mean forward.rate?"});
  EXPECT_EQ(errors_of("[tcp]\nsocket_buffer = \"1 MiB\"\n"),
            texts{"l3.toml:2:1: tcp.socket_buffer is not a key; did you mean udp.socket_buffer?"});
  EXPECT_EQ(errors_of("[udp]\nqqqqqqqqqqqq = 1\n"),
            texts{"l3.toml:2:1: udp.qqqqqqqqqqqq is not a key; there are bind, ports, threads, "
                  "socket_buffer, allow"});
  EXPECT_EQ(errors_of("[forwrad]\nrate = 1\nto = 2\n"),
            texts{"l3.toml:1:2: forwrad is not a key; did you mean forward?"});
}

TEST(load, a_removed_key_is_refused_with_its_replacement) {
  for (const gone_key& k : gone_keys()) {
    EXPECT_EQ(errors_of(std::string(k.path) + " = 1"),
              texts{fmt::format("l3.toml:1:{}: {} was removed: {}", k.path.find('.') + 2, k.path,
                                k.advice)});
  }
}

TEST(load, a_wrong_readout_is_told_entry_by_entry) {
  EXPECT_EQ(
      errors_of("[readout]\ncrates = [\"0-3: 17 x 125 MHz\",\n \"4: 1 x 125 MHz\", \"4: 1 x 125 "
                "MHz\"]\n"),
      (texts{
          R"(l3.toml:2:11: readout.crates = "0-3: 17 x 125 MHz" has 17 boards; a crate has 1..16)",
          R"(l3.toml:3:20: readout.crates = "4: 1 x 125 MHz" names crate 4 a second time)"}));
  EXPECT_EQ(errors_of("readout.crates = [\"0-255: 1 x 125 MHz\"]")
                .at(0)
                .find("l3.toml:1:18: readout.crates = [\"0-255: 1 x 125 MHz\"] has 256 crates; at "
                      "most 64 can be read out"),
            0U);
  EXPECT_EQ(errors_of("readout.crates = []").size(), 1U);
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

TEST(load, what_is_not_toml_is_one_message) {
  const texts found = errors_of("[udp]\nports = = 3\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].find("l3.toml:2:9: this is not TOML: "), 0U) << found[0];
}

TEST(load, a_file_that_cannot_be_read_is_one_message) {
  const auto only_error = [](const std::string& file) {
    const loaded_config c = load_config(file);
    return c.errors.size() == 1 ? to_string(c.errors[0]) : "not one error";
  };
  EXPECT_EQ(only_error("/nonexistent/l3.toml"),
            "/nonexistent/l3.toml: cannot be read: No such file or directory");
  EXPECT_EQ(only_error("/tmp"), "/tmp: cannot be read: Is a directory");
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

TEST(load, settings_that_do_not_go_together_are_told_where_they_are_set) {
  EXPECT_EQ(errors_of("udp.bind = \"\"\ntcp.bind = \"\"\n"),
            texts{R"(l3.toml:1:12: udp.bind and tcp.bind are both "": no data could come in)"});
  EXPECT_EQ(
      errors_of("udp.bind = \"127.0.0.1:65530\""),
      texts{"l3.toml:1:12: udp.bind = 127.0.0.1:65530 with udp.ports = 8 exceeds port 65535"});
  EXPECT_EQ(errors_of("udp.threads = 9"),
            texts{"l3.toml:1:15: udp.threads = 9 is more than udp.ports = 8"});
  EXPECT_EQ(errors_of("tcp.bind = \"0.0.0.0:9420\""),
            texts{"l3.toml:1:12: monitor.bind and tcp.bind are the same address, 127.0.0.1:9420"});
  EXPECT_EQ(errors_of("tcp.bind = \"127.0.0.1:9420\"").size(), 1U);
  EXPECT_EQ(errors_of("tcp.bind = \"127.0.0.2:9420\"").size(), 0U);
  EXPECT_EQ(errors_of("monitor.bind = \"\"\ntcp.bind = \"0.0.0.0:9420\"").size(), 0U);
  EXPECT_EQ(
      errors_of("forward.to = \"tcp://127.0.0.1:42100\""),
      texts{"l3.toml:1:14: forward.to = tcp://127.0.0.1:42100 is this daemon's own tcp.bind"});
  EXPECT_EQ(errors_of("selection.mode = \"record\""),
            texts{"l3.toml:1:18: selection.mode = record needs selection.lines: "
                  "without them every event is kept, and no lines decide"});
  EXPECT_EQ(errors_of("selection = { mode = \"record\", lines = \"built-in\" }"), texts{});
  EXPECT_EQ(errors_of("forward.secret_key = \"node.secret\""),
            texts{"l3.toml:1:22: forward.secret_key = node.secret has no effect without "
                  "forward.receiver_key"});
  EXPECT_EQ(errors_of("farm.etcd = [\"http://etcd1:2379\"]"),
            texts{"l3.toml:1:13: farm.etcd needs run.control: without it a daemon is "
                  "in one run from its start to its end"});
  EXPECT_EQ(errors_of("farm.user = \"l3\"").size(), 1U);
  const texts https = errors_of("run.control = \"s\"\nfarm.etcd = [\"https://etcd1:2379\"]");
  ASSERT_EQ(https.size(), 1U);
  EXPECT_NE(https[0].find("(https is not supported)"), std::string::npos) << https[0];
  for (const char* prefix : {"", "/", "//", "koto/", "/koto", "/ko to/", "/kötö/"})
    EXPECT_EQ(errors_of("farm.prefix = \"" + std::string(prefix) + "\"").size(), 1U) << prefix;
  EXPECT_EQ(
      errors_of("outbox.memory = \"2 MiB\""),
      texts{
          "l3.toml:1:17: outbox.memory = 2 MiB holds fewer than 4 blocks of outbox.block = 1 MiB"});
  EXPECT_EQ(errors_of("readout.crates = [\"0-63: 1 x 125 MHz\"]\n[building]\nmax_events_per_spill "
                      "= 16777216\n[frames]\nevents = 1\n")
                .size(),
            0U);
  const texts frames = errors_of("frames.events = 4096\nreadout.crates = [\"0-63: 16 x 125 MHz\"]");
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].find("l3.toml:1:17: frames.events = 4096 makes frames of "), 0U) << frames[0];
}

TEST(load, a_link_without_keys_to_another_machine_is_asked_for_by_name) {
  for (const char* here : {"tcp://127.0.0.1:9", "tcp://[::1]:9", "tcp://localhost:9"})
    EXPECT_EQ(errors_of("forward.to = \"" + std::string(here) + "\""), texts{});
  for (const char* away : {"tcp://10.1.0.1:9", "tcp://[::2]:9", "tcp://127.example:9"}) {
    const std::string to = "forward.to = \"" + std::string(away) + "\"\n";
    const texts errors = errors_of(to);
    ASSERT_EQ(errors.size(), 1U) << away;
    EXPECT_NE(errors[0].find("has no keys: set forward.secret_key"), errors[0].npos) << errors[0];
    EXPECT_EQ(errors_of(to + "forward.insecure = \"on\""), texts{});
    EXPECT_EQ(errors_of(to + "forward.secret_key = \"a\"\nforward.receiver_key = \"b\""), texts{});
  }
  const texts way = errors_of("forward.from = [\"10.1.0.2 to tcp://10.1.0.1:9\"]");
  ASSERT_EQ(way.size(), 1U);
  EXPECT_NE(way[0].find("the link to tcp://10.1.0.1:9 has no keys"), way[0].npos) << way[0];
}

TEST(load, connections_to_the_receiver_are_checked_one_by_one) {
  const auto c = read_config("forward.from = [\"10.1.0.2\", \"10.2.0.2 to "
                             "tcp://10.2.0.1:42200\"]\nforward.insecure = \"on\"",
                             "l3.toml");
  ASSERT_TRUE(c.ok());
  const std::vector<link_way> ways{{"10.1.0.2", ""}, {"10.2.0.2", "tcp://10.2.0.1:42200"}};
  EXPECT_EQ(c.settings.forward.from, ways);
  for (const char* wrong :
       {"10.1.0.2:80", "node7", "", "10.1.0.2 to", "10.1.0.2 to 10.1.0.1:42200", "10.1.0.2;1"}) {
    const texts errors = errors_of("forward.from = [\"" + std::string(wrong) + "\"]");
    ASSERT_EQ(errors.size(), 1U) << wrong;
    EXPECT_NE(errors[0].find("is not a connection like"), std::string::npos) << errors[0];
  }
  EXPECT_EQ(errors_of("forward.from = [\"::1\"]").size(), 1U) << "to an address of IPv4";
  EXPECT_EQ(errors_of("forward.from = [\"1.1.1.1\", \"1.1.1.2\", \"1.1.1.3\", \"1.1.1.4\", "
                      "\"1.1.1.5\"]")
                .size(),
            1U);
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
  for (const char* wrong :
       {"10.1.0.1/16", "10.1.0.0/33", "10.1.0.0/", "10.1.0.0/-1", "10.1/16", "10.1.0.0/16 ",
        "2001:db9::/31", "::1/129", "[::1]", "fe80::1%lo", ""}) {
    EXPECT_EQ(errors_of("tcp.allow = [\"10.0.0.1\", \"" + std::string(wrong) + "\"]").size(), 1U)
        << wrong;
  }
  EXPECT_EQ(errors_of("tcp.allow = \"10.0.0.1\"").size(), 1U);
  EXPECT_EQ(errors_of("tcp.allow = [\"0.0.0.0/0\", \"::/0\"]").size(), 0U);
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
