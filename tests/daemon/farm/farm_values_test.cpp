// SPDX-License-Identifier: Apache-2.0
#include "daemon/farm/farm_values.hpp"

#include <string>

#include <gtest/gtest.h>

#include "daemon/farm/etcd_client.hpp"
#include "daemon/farm/farm_member.hpp"
#include "tests/error_of.hpp"

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
  for (const char* none : {"Z", "Zg=", "Zg", "=Zg=", "Zg==Zg==", "Zm9\n", "Zm9-"})
    EXPECT_FALSE(from_base64(none)) << none;
}

TEST(a_value_of_a_farm, reads_as_it_was_written) {
  EXPECT_EQ(read_member(written(member())), member());
  EXPECT_EQ(read_order(written(order())), order());
  const farm_reply reply{instance, 17, {"the receiver is absent", "a disk"}};
  EXPECT_EQ(read_reply(written(reply)), reply);
}

TEST(a_value_of_a_farm, is_refused_if_it_cannot_be_understood) {
  const auto refused = [](const std::string& what, const std::string& other) {
    const std::string text = with(written(member()), what, other);
    return error_of([&] { return read_member(text); }) != "";
  };
  EXPECT_FALSE(refused("node1", "node2"));
  EXPECT_TRUE(refused("\"version\":1", "\"version\":2"));
  EXPECT_TRUE(refused("4711", "-1"));
  EXPECT_TRUE(refused("4711", "4294967296"));
  EXPECT_TRUE(refused("4711", "\"x\""));
  EXPECT_TRUE(refused("\"host\"", "\"other\""));
  for (const char* none : {"", "[]", "7", "{", "{}", "null"})
    EXPECT_NE(error_of([&] { return read_member(none); }), "") << none;
  EXPECT_NE(error_of([] { return read_order(with(written(order()), "\"2\"", "\"x\"")); }), "");
}

TEST(a_farm, is_read_key_by_key) {
  std::vector<etcd_keys> found{
      {{key_of("members/1", written(member())), key_of("members/x", "another program's")}, false},
      {{key_of("nodes/1", ""), key_of("nodes/5", instance), key_of("nodes/05", "")}, false},
      {{key_of("run/now", written(order())),
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

  found[2].keys.push_back(key_of("run/order", with(written(order()), ":1", ":9")));
  EXPECT_EQ(error_of([&] { return read_view("/koto-l3/", found); }),
            "etcd's key /koto-l3/run/order is invalid (another version of koto-l3 "
            "wrote it): remove it");
  found[0].cut = true;
  EXPECT_EQ(error_of([&] { return read_view("/koto-l3/", found); }),
            "there are more than 64 keys of a kind under /koto-l3/");
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
