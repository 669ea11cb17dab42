// SPDX-License-Identifier: Apache-2.0
#include "daemon/farm/farm_values.hpp"

#include <functional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "daemon/farm/base64.hpp"
#include "daemon/farm/farm_member.hpp"

namespace l3 {
namespace {

const std::string instance = "0123456789abcdef";

farm_member_value member() {
  return {instance, "boot-1-2", "node1", 4711, "running", 12, std::nullopt, 3, "no room", 11};
}

farm_order order() {
  return {4,
          true,
          12,
          true,
          "beam",
          "/etc/m.toml",
          "[clusters]\n",
          "01234567",
          2,
          {{1, instance}, {2, instance}}};
}

std::string complaint(const std::function<void()>& of) {
  try {
    of();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "nothing";
}

std::string with(std::string text, const std::string& what, const std::string& other) {
  const auto at = text.find(what);
  EXPECT_NE(at, text.npos) << what;
  return text.replace(at, what.size(), other);
}

etcd_key key_of(const std::string& name, const std::string& value) {
  return {"/koto-l3/" + name, value, 10, 20};
}

TEST(base64, goes_there_and_back) {
  const std::string words[][2] = {{"", ""},
                                  {"f", "Zg=="},
                                  {"fo", "Zm8="},
                                  {"foo", "Zm9v"},
                                  {"foob", "Zm9vYg=="},
                                  {"fooba", "Zm9vYmE="},
                                  {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : words) {
    EXPECT_EQ(to_base64(plain), coded);
    EXPECT_EQ(from_base64(coded), plain);
  }
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(from_base64(to_base64(all)), all);
  for (const char* none : {"Z", "Zg=", "Zg", "=Zg=", "Z===", "Zg==Zg==", "Zm9\n", "Zm9-", "===="})
    EXPECT_FALSE(from_base64(none)) << none;
}

TEST(a_value_of_a_farm, reads_as_it_was_written) {
  EXPECT_EQ(read_member(written(member())), member());
  farm_member_value older = member();
  older.not_well.reset();
  EXPECT_EQ(read_member(with(written(member()), ",\"not_well\":11", "")), older);
  EXPECT_EQ(read_order(written(order())), order());
  const farm_reply reply{instance, 17, {"the receiver is absent", "a disk"}};
  EXPECT_EQ(read_reply(written(reply)), reply);
}

TEST(a_value_of_a_farm, is_refused_beyond_its_limits) {
  const auto member_with = [](const std::string& what, const std::string& other) {
    return complaint([&] { static_cast<void>(read_member(with(written(member()), what, other))); });
  };
  EXPECT_EQ(member_with("\"version\":1", "\"version\":2"), "it is of another version of koto-l3");
  EXPECT_EQ(member_with("4711", "-1"), "process is no number up to 4294967295");
  EXPECT_EQ(member_with("4711", "4294967296"), "process is no number up to 4294967295");
  EXPECT_EQ(member_with("\"serial\":3", "\"serial\":1000000000001"),
            "serial is no number up to 1000000000000");
  EXPECT_EQ(member_with(instance, "short"), "instance is no instance");
  EXPECT_EQ(member_with("node1", "\\u001b[2J"), "host is no plain text");
  EXPECT_EQ(member_with("node1", std::string(4096, 'x')), "nothing");
  EXPECT_EQ(member_with("node1", std::string(4097, 'x')), "host is no text of at most 4096 bytes");
  const auto of_length = [](std::size_t bytes) {
    std::string text = written(member());
    text.resize(bytes, ' ');
    return complaint([&] { static_cast<void>(read_member(text)); });
  };
  EXPECT_EQ(of_length(128 << 10), "nothing");
  EXPECT_EQ(of_length((128 << 10) + 1), "it has 131073 bytes, more than 131072");
  const auto nested = [&](std::size_t depth) { // within the value, which is the first
    return member_with("\"version\":1", "\"version\":1,\"more\":" + std::string(depth - 1, '[') +
                                            std::string(depth - 1, ']'));
  };
  EXPECT_EQ(nested(8), "nothing");
  EXPECT_EQ(nested(9), "it is no JSON object");
  EXPECT_EQ(member_with("node1", std::string(200'000, 'x')),
            "it has 200171 bytes, more than 131072");
  const auto order_with = [](const std::string& what, const std::string& other) {
    return complaint([&] { static_cast<void>(read_order(with(written(order()), what, other))); });
  };
  EXPECT_EQ(order_with("\"again\":true", "\"again\":1"), "again is neither true nor false");
  EXPECT_EQ(order_with("\"1\"", "\"01\""), "nodes names one that is none");
  EXPECT_EQ(order_with("\"2\"", "\"x\""), "nodes names one that is none");
  farm_order large = order();
  for (std::uint32_t n = 1; n <= 48; ++n) large.nodes[n] = instance;
  large.menu_text.assign(48 << 10, ' ');
  EXPECT_EQ(complaint([&] { static_cast<void>(read_order(written(large))); }), "nothing");
  large.nodes[49] = instance;
  EXPECT_EQ(complaint([&] { static_cast<void>(read_order(written(large))); }),
            "nodes is no list of at most 48 nodes");
  large = order();
  large.menu_text.assign(49'153, ' ');
  EXPECT_EQ(complaint([&] { static_cast<void>(read_order(written(large))); }),
            "menu_text is no text of at most 49152 bytes");
  const farm_reply all{instance, 1, std::vector<std::string>(16, "why")};
  EXPECT_EQ(complaint([&] { static_cast<void>(read_reply(written(all))); }), "nothing");
  const farm_reply many{instance, 1, std::vector<std::string>(17, "why")};
  EXPECT_EQ(complaint([&] { static_cast<void>(read_reply(written(many))); }),
            "reasons is no list of at most 16");
  for (const char* none : {"", "[]", "7", "{", "{}", "null"})
    EXPECT_NE(complaint([&] { static_cast<void>(read_member(none)); }), "nothing") << none;
}

TEST(a_farm, is_read_key_by_key) {
  const std::vector<etcd_keys> found{
      {{key_of("members/1", written(member())), key_of("members/2", "no JSON"),
        key_of("members/x", written(member()))},
       false},
      {{key_of("nodes/1", ""), key_of("nodes/5", instance), key_of("nodes/05", "")}, true},
      {{key_of("run/now", written(order())),
        key_of("run/order", with(written(order()), ":1", ":9")),
        key_of("run/armed/1", written(farm_reply{instance, 10, {}})), key_of("run/else", "")},
       false}};
  const farm_view v = read_view("/koto-l3/", found);
  ASSERT_EQ(v.members.size(), 1U);
  EXPECT_EQ(v.members.at(1).value, member());
  EXPECT_EQ(v.members.at(1).created, 10);
  EXPECT_EQ(v.nodes, (std::set<std::uint32_t>{1, 5}));
  ASSERT_TRUE(v.run);
  EXPECT_EQ(v.run->value, order());
  EXPECT_EQ(v.run_changed(), 20);
  EXPECT_FALSE(v.order);
  EXPECT_EQ(v.replies.size(), 1U);
  EXPECT_TRUE(v.cut);
  // Another version's words are not written over.
  EXPECT_EQ(v.nonsense, (std::map<std::string, std::int64_t>{{"members/2", 20}}));
  const std::string other_version = "it is of another version of koto-l3";
  EXPECT_EQ(v.odd, (std::vector<std::string>{
                       "/koto-l3/members/2 cannot be understood: it is no JSON object",
                       "/koto-l3/members/x is no key of a farm",
                       "there are more than 64 keys under /koto-l3/nodes/",
                       "/koto-l3/nodes/05 is no key of a farm",
                       "/koto-l3/run/order cannot be understood: " + other_version,
                       "/koto-l3/run/else is no key of a farm"}));
}

TEST(a_node_of_a_farm, is_in_order_where_it_has_begun_what_holds) {
  farm_order holds = order();
  farm_member_value is = member();
  is.serial = holds.serial;
  EXPECT_EQ(standing_of(is, std::nullopt), farm_standing::in_order);
  EXPECT_EQ(standing_of(is, holds), farm_standing::in_order);
  is.state = "draining";
  EXPECT_EQ(standing_of(is, holds), farm_standing::apart);
  is.state = "running";
  is.run = 11;
  EXPECT_EQ(standing_of(is, holds), farm_standing::apart);
  is.run = holds.number;
  is.serial = holds.serial - 1; // its run goes on under this number, and the new part has not begun
  EXPECT_EQ(standing_of(is, holds), farm_standing::apart);
  holds.start = false;
  EXPECT_EQ(standing_of(is, holds), farm_standing::apart);
  is.state = "configured";
  is.run.reset();
  EXPECT_EQ(standing_of(is, holds), farm_standing::in_order);
}

} // namespace
} // namespace l3
