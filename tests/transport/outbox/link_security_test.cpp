// SPDX-License-Identifier: Apache-2.0
// An output link with keys: the right ones carry data, all others are refused, counted, and told
// why.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/transport/outbox/link_ends.hpp"
#include "transport/link/link_keys.hpp"

namespace l3 {
namespace {

using namespace test;

/// Keys of a receiver and of two daemons, of which it takes the first.
class link_security : public testing::Test {
protected:
  link_security() {
    for (const char* name : {"receiver", "daemon", "stranger"})
      write_key_pair(path(name), make_key_pair());
    std::ofstream(path("allow")) << "# the only one\n"
                                 << text_of(read_public_key(path("daemon.public"))) << " node 1\n";
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return keys_.path() + "/" + name;
  }
  [[nodiscard]] receive_settings with_keys() const {
    receive_settings s;
    s.secret_key = path("receiver.secret");
    s.allow = path("allow");
    return s;
  }
  [[nodiscard]] forward_settings link_with(const std::string& endpoint, const std::string& own,
                                           const std::string& receiver = "receiver.public") const {
    forward_settings s = link_to(endpoint);
    s.secret_key = path(own);
    s.receiver_key = path(receiver);
    return s;
  }
  [[nodiscard]] std::string store() const { return folder_.path(); }

private:
  scratch_folder keys_;
  scratch_folder folder_;
};

/// Of a mechanism that does not fit, one end sees the reason and hangs up; the other may see only
/// that.
std::uint64_t turned_away(const receiving_end& far) {
  const connection_counters& c = far.counters().connections;
  return c.mechanism + c.handshake();
}

/// A daemon that is not let in. It does not wait for its blocks to be stored at its end.
struct unwanted_end : sending_end {
  explicit unwanted_end(const forward_settings& settings) : sending_end(settings, 10) {}
  ~unwanted_end() { sender.drain_until(std::chrono::steady_clock::now()); }
};

TEST_F(link_security, a_listed_daemon_sends_also_after_the_receiver_was_killed) {
  receiving_end far(store(), 8, with_keys());
  sending_end near(link_with(far.endpoint(), "daemon.secret"), 100);
  ASSERT_TRUE(near.all_stored());
  far.kill();
  near.append(101, 200);
  far.start();
  ASSERT_TRUE(near.all_stored());
  EXPECT_TRUE(eventually([&] { return far.counters().connections.let_in == 1; }));
  EXPECT_EQ(far.counters().connections.unknown_key, 0U);
}

TEST_F(link_security, an_unknown_key_is_refused_counted_and_told) {
  receiving_end far(store(), 8, with_keys());
  sending_end good(link_with(far.endpoint(), "daemon.secret"), 10);
  unwanted_end bad(link_with(far.endpoint(), "stranger.secret"));
  ASSERT_TRUE(good.all_stored());
  ASSERT_TRUE(eventually([&] { return bad.reported("does not know this daemon's key"); }));
  EXPECT_TRUE(eventually([&] { return far.counters().connections.unknown_key > 0; }));
  EXPECT_EQ(bad.sender.counters().blocks, 0U);
  EXPECT_FALSE(bad.sender.connected());
  EXPECT_TRUE(eventually([&] { return far.counters().connections.let_in == 1; }));
}

/// One of them has no keys, or the daemon has the key of another receiver.
TEST_F(link_security, ends_that_do_not_fit_exchange_no_message_and_say_why) {
  enum { without, with };
  struct {
    int far, near;
    const char* receiver_key;
    const char* why;
  } const all[] = {
      {with, without, "", "refuses daemons without a key"},
      {without, with, "receiver.public", "uses no keys"},
      {with, with, "stranger.public", "forward.receiver_key is not its key"},
  };
  for (const auto& [far_keys, near_keys, receiver_key, why] : all) {
    const scratch_folder folder;
    receiving_end far(folder.path(), 8, far_keys == with ? with_keys() : receive_settings());
    unwanted_end bad(near_keys == with ? link_with(far.endpoint(), "daemon.secret", receiver_key)
                                       : link_to(far.endpoint()));
    ASSERT_TRUE(eventually([&] { return bad.reported(why); })) << why;
    EXPECT_TRUE(eventually([&] { return turned_away(far) > 0; })) << why;
    EXPECT_EQ(far.counters().messages, 0U) << why;
  }
}

TEST_F(link_security, a_key_file_of_no_use_is_an_error_of_the_start) {
  safe_batches safety;
  outbox box(small_blocks(), identity, safety);
  link_pace pace(bit_rate{});
  EXPECT_THROW(forwarder(link_with("tcp://127.0.0.1:1", "absent"), box, pace,
                         link_pace::share::fresh, nullptr),
               std::runtime_error);
  store_writer writer(store_settings{store()});
  receive_settings s = with_keys();
  s.bind = "tcp://127.0.0.1:*";
  s.allow = path("receiver.secret");
  EXPECT_THROW(block_receiver(s, writer, nullptr), std::runtime_error);
}

} // namespace
} // namespace l3
