// SPDX-License-Identifier: Apache-2.0
// The texts made from the key descriptions are true, complete, and those that are checked in are
// current.
#include "config/load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/pfr.hpp>
#include <fstream>
#include <regex>
#include <sstream>

#include "config/key.hpp"

namespace l3 {
namespace {

std::string content_of(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string effective(const daemon_settings& s) { return print_config(s, {}); }

// Every key with a value that is not its default.
const std::string changed = R"(
[run]
control = "control.sock"
number = 9
node = 4
ledger = "a \"quoted\" \\ name"
drain_time_limit = "3 s"
[readout]
crates = ["4: 3 x 125 MHz", "2-3: 16 x 500 MHz"]
[building]
chunk_bytes = 1024
max_events_per_spill = 1000
event_time_limit = "700 ms"
spill_time_limit = "2 s"
incomplete = "forward"
parked_events = 5
[udp]
bind = ""
ports = 3
threads = 2
socket_buffer = "1 MiB"
allow = ["10.1.0.0/16", "10.2.0.7"]
[tcp]
bind = "0.0.0.0:1"
max_connections = 3
threads = 2
allow = ["0.0.0.0/0"]
[frames]
count = 2
events = 7
age = "1500 us"
[compute]
backend = "pool"
devices = [0, 2]
threads = 3
time_limit = "300 ms"
verify_one_in = 10
dumps = "elsewhere"
[selection]
lines = "mine.toml"
detector = "another.toml"
calibration = "run80.csv"
mode = "record"
shadow = "next.toml"
shadow_one_in = 20
[histograms]
one_in = 7
hot_above = 40
reference = "good.json"
[output]
codec = "strong"
[node]
processors = "0-2,9"
[outbox]
memory = "40 MiB"
block = "300 KiB"
block_age = "9 ms"
[spool]
folder = "/var/spool/l3"
use = "always"
size = "100 MiB"
floor = "0 B"
segment = "7 MiB"
sync = "on"
[forward]
to = "tcp://somewhere:4000"
from = ["10.1.0.2", "10.2.0.2 to tcp://10.2.0.1:4000"]
rate = "123456789 b/s"
acknowledge_time_limit = "20 ms"
secret_key = "credential:line"
receiver_key = "receiver.public"
insecure = "on"
[farm]
etcd = ["http://etcd1:2379", "http://[::1]:2380"]
prefix = "/other/"
user = "l3"
password = "credential:etcd"
[monitor]
bind = "127.0.0.1:9"
[log]
level = "warn"
)";

TEST(print, the_effective_configuration_reads_back_to_the_same_settings) {
  const loaded_config first = read_config(changed, "changed.toml");
  ASSERT_TRUE(first.ok()) << to_string(first.errors.front());
  const std::string printed = print_config(first.settings, first.origins);
  const loaded_config again = read_config(printed, "printed.toml");
  ASSERT_TRUE(again.ok()) << to_string(again.errors.front());
  EXPECT_EQ(effective(again.settings), effective(first.settings));
  EXPECT_EQ(again.origins.size(), keys().size());
}

TEST(print, every_key_can_be_changed) {
  const loaded_config c = read_config(changed, "changed.toml");
  for (const key& k : keys()) EXPECT_NE(k.show(c.settings), k.show(daemon_settings{})) << k.path;
}

TEST(print, each_value_says_where_it_comes_from) {
  const loaded_config c = read_config("[run]\nnumber = 9\n", "/etc/koto-l3/l3.toml");
  const std::string printed = print_config(c.settings, c.origins);
  EXPECT_NE(printed.find("number = 9  # /etc/koto-l3/l3.toml:2\n"), std::string::npos) << printed;
  EXPECT_NE(printed.find("node = 0  # default\n"), std::string::npos);
}

TEST(print, the_default_file_is_current_and_gives_the_defaults) {
  EXPECT_EQ(content_of(L3_SOURCE_DIR "/deploy/l3.toml"), default_config_file())
      << "l3-config-reference file > deploy/l3.toml";
  const loaded_config c = load_config(L3_SOURCE_DIR "/deploy/l3.toml");
  ASSERT_TRUE(c.ok()) << to_string(c.errors.front());
  EXPECT_TRUE(c.origins.empty());
}

TEST(print, the_default_file_still_gives_the_defaults_with_every_line_switched_on) {
  const std::string all_on =
      std::regex_replace(default_config_file(), std::regex("\n#([a-z])"), "\n$1");
  const loaded_config c = read_config(all_on, "all-on.toml");
  ASSERT_TRUE(c.ok()) << to_string(c.errors.front());
  EXPECT_EQ(c.origins.size(), keys().size());
  EXPECT_EQ(effective(c.settings), effective(daemon_settings{}));
}

TEST(print, the_reference_page_is_current) {
  EXPECT_EQ(content_of(L3_SOURCE_DIR "/docs/configuration.md"), reference_page())
      << "l3-config-reference page > docs/configuration.md";
}

TEST(print, the_messages_on_the_reference_page_are_what_users_see) {
  const std::string page = reference_page();
  const std::string toml = std::string(10, '\n') + "[forward]\nrat = 1\n" + std::string(27, '\n') +
                           "[frames]\ncount = 1\n";
  for (const complaint& e : read_config(toml, "/etc/koto-l3/l3.toml").errors) {
    EXPECT_NE(page.find(to_string(e) + "\n"), std::string::npos) << to_string(e);
  }
}

// A member that no key sets would be forgotten in silence; addresses take two members in one key,
// tests choose which fault the device has, and the daemon chooses some processors.
TEST(keys, every_setting_has_one) {
  const auto members = [](auto... s) { return (boost::pfr::tuple_size_v<decltype(s)> + ...); };
  const std::size_t addresses = 3;
  const std::size_t fault = 1;
  const std::size_t left_open = 2; // by the word "auto" of a key
  const std::size_t chosen = 1;
  EXPECT_EQ(keys().size(),
            members(run_settings{}, node_settings{}, building_settings{}, udp_settings{},
                    tcp_settings{}, frame_settings{}, compute_settings{}, selection_files{},
                    histogram_settings{}, outbox_settings{}, spool_settings{}, forward_settings{},
                    farm_settings{}, monitor_settings{}, log_settings{}) -
                addresses - fault - left_open - chosen);
  EXPECT_EQ(boost::pfr::tuple_size_v<daemon_settings>, 15U);
}

TEST(keys, each_belongs_to_a_section_and_says_what_it_does) {
  for (const key& k : keys()) {
    const auto name = k.path.substr(0, k.path.find('.'));
    EXPECT_TRUE(std::any_of(sections().begin(), sections().end(), [&](const section& s) {
      return s.name == name;
    })) << k.path;
    EXPECT_TRUE(k.text.ends_with('.')) << k.path;
    EXPECT_EQ(k.text.find('|'), std::string_view::npos) << k.path;
  }
}

} // namespace
} // namespace l3
