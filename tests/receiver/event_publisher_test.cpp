// SPDX-License-Identifier: Apache-2.0
// Published events against a subscriber in the test.
#include "receiver/event_publisher.hpp"

#include <array>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transport/outbox/link_ends.hpp"
#include "tests/transport/store/packed_events.hpp"
#include "tests/transport/store/played_daemon.hpp"
#include "tests/transport/store/store_files.hpp"
#include "transport/format/block_entries.hpp"
#include "transport/format/summary.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::uint32_t kept_by_even = 1U << 0;
constexpr std::uint32_t kept_by_third = 1U << 1;

bytes menu() {
  bytes made;
  add_entry(made, 1, "koto-l3d of a test");
  add_entry(made, 4, "[[line]]\nname = \"even\"\n[[line]]\nname = \"third\"\n");
  return made;
}

/// An event without boards.
bytes event_kept_by(std::uint32_t lines, std::uint32_t number, std::size_t padding = 0) {
  packed_event head;
  packed_summary summary;
  summary.kept_by = lines;
  bytes made(sizeof head + sizeof summary + padding);
  head.bytes = static_cast<std::uint32_t>(made.size());
  head.spill = 1;
  head.number = number;
  head.summary_bytes = sizeof summary;
  store(made.data(), head);
  store(made.data() + sizeof head, summary);
  return made;
}

struct whole_block {
  bytes data;
  block_header header;
};

whole_block block_with(const std::vector<bytes>& events, std::uint64_t sequence,
                       const bytes& settings = {}) {
  whole_block made{make_block(events, session, sequence), {}};
  EXPECT_EQ(read_block_header(made.data, made.header), block_fault::none);
  if (settings.empty()) return made;
  made.data = with_settings(made.data, made.header, settings);
  EXPECT_EQ(read_block_header(made.data, made.header), block_fault::none);
  return made;
}

struct published_event {
  std::string topic;
  std::array<std::uint64_t, 2> count{};
  bytes file;
};

class subscriber {
public:
  explicit subscriber(const std::string& to, const std::string& topic = "", int room = 1000) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvhwm, room);
    socket_.set(zmq::sockopt::subscribe, topic);
    socket_.connect(to);
  }
  std::optional<published_event> next(std::chrono::milliseconds wait = patience) {
    socket_.set(zmq::sockopt::rcvtimeo, static_cast<int>(wait.count()));
    std::array<zmq::message_t, 4> frames;
    for (auto& frame : frames) {
      if (!socket_.recv(frame)) return std::nullopt;
      EXPECT_EQ(frame.more(), &frame != &frames.back());
    }
    published_event got;
    got.topic = frames[0].to_string();
    got.count = load<std::array<std::uint64_t, 2>>(frames[1].data<std::byte>());
    for (int i = 2; i < 4; ++i)
      got.file.insert(got.file.end(), frames[i].data<std::byte>(),
                      frames[i].data<std::byte>() + frames[i].size());
    return got;
  }

private:
  zmq::context_t context_{1};
  zmq::socket_t socket_{context_, zmq::socket_type::sub};
};

/// At any port, with a clock of the test's.
class a_publisher : public testing::Test {
protected:
  event_publisher near{"tcp://127.0.0.1:*", 2};
  time_point now = steady_clock::now();
  std::uint64_t sequence = 0;

  void publish(const std::vector<bytes>& events, const bytes& settings = {}) {
    const whole_block block = block_with(events, ++sequence, settings);
    near.sample(block.data, block.header, now);
    near.publish();
    now += 1s;
  }
  /// Publishes until the subscriber has read the latest event, and returns how many it has read. It
  /// waits longer each time: on a slow machine an event arrives when a later one is out already.
  std::uint64_t catch_up(subscriber& far) {
    std::uint64_t got = 0;
    for (auto wait = 10ms;; wait *= 2) {
      publish({event_kept_by(kept_by_third, 1)}, menu());
      while (const auto event = far.next(wait)) {
        ++got;
        if (event->count[1] == near.published().at("third")) return got;
      }
    }
  }
};

TEST_F(a_publisher, gives_the_events_of_a_line_as_a_file_of_a_store) {
  subscriber far(near.endpoint(), std::string("third\0", 6));
  catch_up(far);
  const bytes both = event_kept_by(kept_by_even | kept_by_third, 6);
  publish({event_kept_by(kept_by_even, 2)});
  publish({both});
  publish({event_kept_by(kept_by_third, 9)});
  const auto first = far.next();
  const auto second = far.next();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->topic, std::string("third\0", 6));
  EXPECT_EQ(second->count[0], first->count[0]);
  EXPECT_EQ(second->count[1], first->count[1] + 1) << "messages of other lines do not count";

  const scratch_folder folder;
  const auto path = std::filesystem::path(folder.path()) / store_file_name(1);
  write_file(path, first->file);
  store_reader reader(folder.path());
  std::vector<std::byte> payload;
  const auto settings = reader.next();
  ASSERT_TRUE(settings && reader.read_settings(*settings, payload));
  EXPECT_EQ(payload, menu());
  EXPECT_EQ(settings->header.events, 0U);
  const auto event = reader.next();
  ASSERT_TRUE(event && reader.read_payload(*event, payload));
  EXPECT_EQ(payload, both);
  EXPECT_EQ(event->header.events, 1U);
  EXPECT_EQ(event->header.session, session);
  EXPECT_EQ(event->header.run, usual_run);
  EXPECT_EQ(event->header.sequence, sequence - 1);
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.damaged(), 0U);
}

TEST_F(a_publisher, limits_the_events_of_each_line_in_a_second) {
  const bytes event = event_kept_by(kept_by_even, 2);
  publish({event});
  EXPECT_TRUE(near.published().empty()) << "the settings of the session have not come";
  publish({event, event, event_kept_by(0, 3)}, menu());
  EXPECT_EQ(near.published().at("even"), 1U);
  EXPECT_EQ(near.published().at("third"), 0U);
  EXPECT_EQ(near.published().at(event_publisher::no_line), 1U);
  now -= 501ms; // publish() adds a second
  publish({event});
  EXPECT_EQ(near.published().at("even"), 1U);
  now -= 999ms;
  publish({event});
  EXPECT_EQ(near.published().at("even"), 2U);
}

TEST_F(a_publisher, drops_what_a_subscriber_does_not_read) {
  subscriber far(near.endpoint(), "", 1);
  catch_up(far);
  const std::uint64_t before = near.published().at("third");
  constexpr std::size_t length = 1U << 18;
  for (int i = 0; i < 400; ++i) publish({event_kept_by(kept_by_third, 2, length)});
  const std::uint64_t got = catch_up(far);
  const std::uint64_t published = near.published().at("third") - before;
  EXPECT_GT(published, 400U);
  EXPECT_LT(got, published) << "the numbers show the gap";
}

TEST_F(a_publisher, ignores_events_that_are_not_what_they_say) {
  bytes event = event_kept_by(kept_by_even, 2);
  auto head = load<packed_event>(event.data());
  head.boards = ~0U;
  store(event.data(), head);
  publish({event}, menu());
  EXPECT_EQ(near.published().at(event_publisher::no_line), 1U);
}

TEST(event_publisher, publishes_nothing_that_is_not_stored) {
  const scratch_folder folder;
  disk_works = false;
  store_writer store(on_doubtful_disk(folder.path()));
  receive_settings settings = any_port();
  settings.publish = settings.bind;
  block_receiver far(settings, store, nullptr);
  played_daemon near(far.endpoint());
  const auto block = block_with({event_kept_by(kept_by_even, 2)}, 1, menu());
  near.hello(session, 1);
  const auto published = [&] {
    const auto all = far.publisher()->published();
    const auto found = all.find("even");
    return found == all.end() ? 0 : found->second;
  };
  while (far.counters().store_errors == 0) {
    near.send(link_message::block, session, 1, block.data);
    (void)far.step(5ms);
  }
  EXPECT_EQ(published(), 0U);
  disk_works = true;
  EXPECT_TRUE(eventually([&] { // it tries again after a second
    near.send(link_message::block, session, 1, block.data);
    (void)far.step(5ms);
    return far.counters().stored_events != 0;
  }));
  EXPECT_EQ(published(), 1U);
}

} // namespace
} // namespace l3
