// SPDX-License-Identifier: Apache-2.0
// Forwarder and receiver over loopback, with everything in between that can go wrong.
#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <zmq.hpp>

#include "tests/transport/output/packed_events.hpp"
#include "transport/output/block.hpp"
#include "transport/output/block_receiver.hpp"
#include "transport/output/forwarder.hpp"
#include "transport/output/line.hpp"
#include "transport/output/store_reader.hpp"
#include "transport/output/store_writer.hpp"

namespace l3 {
namespace {

using namespace std::chrono_literals;

constexpr block_identity identity{0x77, 5, 1};
constexpr auto patience = 10s; ///< of a test, for things that must happen

/// Waits until it holds; what is waited for comes from other threads and sockets, so there is
/// nothing to be told by.
bool eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A store and a receiver that can be killed and started again at the same address.
class receiving_end {
public:
  explicit receiving_end(std::string folder, std::uint32_t credit = 8)
      : folder_(std::move(folder)) {
    settings_.credit = credit;
    settings_.bind = "tcp://127.0.0.1:*";
    start();
    settings_.bind = receiver_->endpoint();
  }
  ~receiving_end() { kill(); }

  void start() {
    store_ = std::make_unique<store_writer>(store_settings{folder_});
    receiver_ = std::make_unique<block_receiver>(settings_, *store_, nullptr);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) (void)receiver_->step(5ms);
    });
  }
  void kill() {
    thread_ = {};
    receiver_.reset();
    store_.reset();
  }

  [[nodiscard]] const std::string& endpoint() const { return settings_.bind; }
  [[nodiscard]] const receive_counters& counters() const { return receiver_->counters(); }
  /// What only the receiver's own thread may ask, when that has ended.
  [[nodiscard]] const block_receiver& still_receiver() {
    thread_ = {};
    return *receiver_;
  }

private:
  std::string folder_;
  receive_settings settings_;
  std::unique_ptr<store_writer> store_;
  std::unique_ptr<block_receiver> receiver_;
  std::jthread thread_;
};

outbox_settings small_blocks() {
  outbox_settings s;
  s.memory = mebibytes(1);
  s.block = kibibytes(16);
  return s;
}

forward_settings line_to(const std::string& endpoint, std::chrono::milliseconds limit = 200ms) {
  forward_settings s;
  s.to = endpoint;
  s.rate = {};
  s.acknowledge_time_limit = limit;
  return s;
}

/// An outbox and a forwarder in its thread. What it reports is kept.
struct sending_end {
  outbox box{small_blocks(), identity};
  std::mutex lock;
  std::set<std::string> reports;
  forwarder line;
  std::jthread thread;

  /// Its first blocks are sealed before it says hello.
  explicit sending_end(const forward_settings& settings, std::uint32_t events = 0)
      : line(settings, box, [this](std::string_view text) {
          const std::lock_guard guard(lock);
          reports.emplace(text);
        }) {
    append(1, events);
    box.seal();
    thread = std::jthread([this](const std::stop_token& stop) { line.run(stop, patience); });
  }

  void append(std::uint32_t number) {
    std::mt19937 random(number);
    test::event_recipe recipe;
    recipe.key = {1, number};
    recipe.fragments = 1;
    const auto event = test::make_event(recipe, random).packed;
    while (!box.append(event, 0)) (void)box.wait_for_room(patience, event.size());
  }
  void append(std::uint32_t first, std::uint32_t last) {
    for (auto i = first; i <= last; ++i) append(i);
  }
  [[nodiscard]] bool all_stored() {
    box.seal();
    return eventually([&] { return box.events_waiting() == 0; });
  }
  [[nodiscard]] bool reported(std::string_view part) {
    const std::lock_guard guard(lock);
    return std::any_of(reports.begin(), reports.end(),
                       [&](const auto& r) { return r.find(part) != r.npos; });
  }
};

/// Every event 1 … last is stored exactly once, and every block is good and in order.
void expect_stored(const std::string& folder, std::uint32_t last) {
  store_reader reader(folder);
  std::vector<std::byte> payload;
  std::uint32_t events = 0;
  std::uint64_t sequence = 0;
  while (const auto block = reader.next()) {
    ASSERT_TRUE(reader.read_payload(*block, payload));
    ASSERT_EQ(block->header.sequence, ++sequence);
    event_walk walk(payload);
    while (const auto e = walk.next()) ASSERT_EQ(load<packed_event>(e->data()).number, ++events);
  }
  EXPECT_EQ(events, last);
  EXPECT_EQ(reader.damaged(), 0U);
}

TEST(line, stores_everything_and_says_goodbye) {
  test::scratch_folder folder;
  receiving_end far(folder.path());
  {
    sending_end near(line_to(far.endpoint()));
    EXPECT_TRUE(eventually([&] { return near.line.connected(); }));
    near.append(1, 500);
    near.box.batch_done(3);
    EXPECT_TRUE(near.all_stored());
    EXPECT_EQ(near.box.safe_batches(), 3U);
    EXPECT_EQ(near.line.counters().acknowledged.get(), near.box.last_sealed());
    EXPECT_EQ(near.line.counters().resent.get(), 0U);
    EXPECT_EQ(near.box.latency().count(), 500U);
  }
  EXPECT_TRUE(eventually([&] { return far.counters().goodbyes == 1; }));
  EXPECT_EQ(far.still_receiver().open_sessions(steady_now()), 0U);
  expect_stored(folder.path(), 500);
}

TEST(line, drains_after_a_stop) {
  test::scratch_folder folder;
  receiving_end far(folder.path());
  far.kill();
  sending_end near(line_to(far.endpoint()));
  near.append(1, 50);
  near.box.seal();
  near.thread.request_stop(); // nothing could be sent yet
  far.start();
  near.thread.join();
  EXPECT_EQ(near.box.events_waiting(), 0U);
  expect_stored(folder.path(), 50);
}

TEST(line, gives_up_draining_at_its_deadline) {
  outbox box(small_blocks(), identity);
  ASSERT_TRUE(box.append(test::bytes(100), 0));
  box.seal();
  forwarder line(line_to("tcp://127.0.0.1:1"), box, nullptr);
  std::stop_source stop;
  stop.request_stop();
  line.run(stop.get_token(), 1ms);
  EXPECT_EQ(box.blocks_waiting(), 1U);
  EXPECT_FALSE(line.connected());
}

TEST(line, loses_nothing_when_the_receiver_dies_again_and_again) {
  test::scratch_folder folder;
  receiving_end far(folder.path());
  sending_end near(line_to(far.endpoint()));
  std::uint32_t number = 0;
  for (int i = 0; i < 5; ++i) {
    const auto before = near.box.last_stored();
    for (int n = 0; n < 150; ++n) near.append(++number);
    // In the middle of the stream, with blocks under way.
    ASSERT_TRUE(eventually([&] { return near.box.last_stored() > before; }));
    far.kill();
    near.append(++number);
    far.start();
  }
  EXPECT_TRUE(near.all_stored());
  EXPECT_GE(near.line.counters().reconnects.get(), 5U);
  expect_stored(folder.path(), number);
}

TEST(line, goes_on_with_a_receiver_that_stores_elsewhere) {
  test::scratch_folder folder;
  test::scratch_folder other;
  receiving_end far(folder.path());
  sending_end near(line_to(far.endpoint()));
  near.append(1, 100);
  ASSERT_TRUE(near.all_stored());
  const auto stored = near.box.last_stored();
  const auto endpoint = far.endpoint();
  far.kill();
  receive_settings settings;
  settings.bind = endpoint;
  store_writer store({other.path()});
  block_receiver receiver(settings, store, nullptr);
  const std::jthread thread([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) (void)receiver.step(5ms);
  });
  near.append(101, 200);
  EXPECT_TRUE(near.all_stored());
  EXPECT_TRUE(near.reported("stores elsewhere"));
  store_reader reader(other.path());
  const auto first = reader.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->header.sequence, stored + 1);
}

TEST(line, waits_out_a_store_that_cannot_be_written) {
  test::scratch_folder folder;
  receiving_end far(folder.path());
  sending_end near(line_to(far.endpoint()));
  near.append(1, 50);
  ASSERT_TRUE(near.all_stored());
  far.kill();
  // The next file's name is taken by a folder: no file can be opened there.
  const auto in_the_way = store_file_path(folder.path(), 2);
  far.start();
  std::filesystem::create_directory(in_the_way);
  near.append(51, 100);
  near.box.seal();
  EXPECT_TRUE(eventually([&] { return near.reported("the store cannot be written"); }));
  EXPECT_GE(near.line.counters().refusals.get(), 1U);
  std::filesystem::remove(in_the_way);
  EXPECT_TRUE(near.all_stored());
  expect_stored(folder.path(), 100);
}

// --- a forwarder against a receiver that the test plays ---

/// The ROUTER side by hand.
class played_receiver {
public:
  played_receiver() {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo,
                static_cast<int>(std::chrono::milliseconds(patience).count()));
    socket_.bind("tcp://127.0.0.1:*");
  }
  [[nodiscard]] std::string endpoint() const { return socket_.get(zmq::sockopt::last_endpoint); }

  struct message {
    line_header header;
    test::bytes body;
  };
  /// The next message that is no heartbeat; fails the test if none comes.
  message take() {
    while (true) {
      zmq::message_t address, head, body;
      if (!socket_.recv(address) || !socket_.recv(head) || !socket_.recv(body)) {
        ADD_FAILURE() << "no message came";
        return {};
      }
      address_ = address.to_string();
      const auto header = read_line_header({head.data<std::byte>(), head.size()});
      EXPECT_TRUE(header && !body.more());
      const auto* const bytes = body.data<std::byte>();
      if (header && header->type != line_message::heartbeat)
        return {*header, {bytes, bytes + body.size()}};
    }
  }
  /// Whether any message but a heartbeat comes within this time.
  bool quiet(std::chrono::milliseconds time) {
    zmq_pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
    return zmq_poll(&item, 1, time.count()) == 0;
  }
  void answer(line_message type, std::uint64_t sequence, std::uint32_t credit,
              std::string_view body = {}) {
    const auto h = make_line_header(type, identity.session, sequence, credit);
    socket_.send(zmq::buffer(address_), zmq::send_flags::sndmore);
    socket_.send(zmq::buffer(&h, sizeof h), zmq::send_flags::sndmore);
    socket_.send(zmq::buffer(body), zmq::send_flags::none);
  }
  void expect_block(std::uint64_t sequence) {
    const auto m = take();
    EXPECT_EQ(m.header.type, line_message::block);
    EXPECT_EQ(m.header.sequence, sequence);
    block_header b;
    EXPECT_EQ(check_block(m.body, b), block_fault::none);
    EXPECT_EQ(b.sequence, sequence);
  }

private:
  zmq::context_t context_{1};
  zmq::socket_t socket_{context_, zmq::socket_type::router};
  std::string address_;
};

TEST(forwarder, says_hello_and_keeps_to_the_credit) {
  played_receiver far;
  sending_end near(line_to(far.endpoint(), 1h), 200);
  ASSERT_GT(near.box.last_sealed(), 6U);
  const auto hello = far.take();
  EXPECT_EQ(hello.header.type, line_message::hello);
  EXPECT_EQ(hello.header.session, identity.session);
  EXPECT_EQ(hello.header.sequence, 1U);
  ASSERT_EQ(hello.body.size(), sizeof(line_hello_body));
  EXPECT_EQ(load<line_hello_body>(hello.body.data()).run, identity.run);
  EXPECT_EQ(load<line_hello_body>(hello.body.data()).node, identity.node);
  far.answer(line_message::welcome, 0, 3);
  for (std::uint64_t i = 1; i <= 3; ++i) far.expect_block(i);
  EXPECT_TRUE(far.quiet(50ms)) << "more than the credit";
  far.answer(line_message::acknowledgement, 2, 3);
  far.expect_block(4);
  far.expect_block(5);
  EXPECT_TRUE(far.quiet(50ms));
  EXPECT_EQ(near.box.last_stored(), 2U);
  far.answer(line_message::acknowledgement, near.box.last_sealed(), 3);
  EXPECT_TRUE(near.all_stored());
}

TEST(forwarder, starts_behind_what_the_receiver_already_has) {
  played_receiver far;
  sending_end near(line_to(far.endpoint(), 1h), 200);
  (void)far.take();
  far.answer(line_message::welcome, 2, 1);
  far.expect_block(3);
  EXPECT_EQ(near.box.last_stored(), 2U);
  far.answer(line_message::acknowledgement, near.box.last_sealed(), 1);
  EXPECT_TRUE(near.all_stored());
}

TEST(forwarder, sends_again_what_is_not_acknowledged) {
  played_receiver far;
  sending_end near(line_to(far.endpoint(), 50ms), 200);
  (void)far.take();
  far.answer(line_message::welcome, 0, 2);
  far.expect_block(1);
  far.expect_block(2);
  far.expect_block(1); // silence: go back
  far.answer(line_message::acknowledgement, near.box.last_sealed(), 2);
  EXPECT_TRUE(near.all_stored());
  EXPECT_GE(near.line.counters().resent.get(), 1U);
}

TEST(forwarder, says_hello_again_to_a_receiver_that_forgot_it) {
  played_receiver far;
  sending_end near(line_to(far.endpoint(), 1h), 200);
  (void)far.take();
  far.answer(line_message::welcome, 0, 1);
  far.expect_block(1);
  far.answer(line_message::acknowledgement, 1, 1);
  far.expect_block(2);
  far.answer(line_message::refusal, 0, 0); // of empty body
  const auto hello = far.take();
  EXPECT_EQ(hello.header.type, line_message::hello);
  EXPECT_EQ(hello.header.sequence, 2U) << "the first that it still holds";
  far.answer(line_message::welcome, 1, 8);
  far.expect_block(2);
  far.answer(line_message::acknowledgement, near.box.last_sealed(), 8);
  EXPECT_TRUE(near.all_stored());
}

TEST(forwarder, is_not_misled_by_nonsense) {
  played_receiver far;
  sending_end near(line_to(far.endpoint(), 1h), 200);
  (void)far.take();
  far.answer(line_message::welcome, 0, 1);
  far.expect_block(1);
  far.answer(line_message::acknowledgement, 1'000'000, 1); // never sent
  far.answer(line_message::block, 1, 1);
  far.answer(static_cast<line_message>(99), 1, 1);
  far.answer(line_message::acknowledgement, 0, 1);
  EXPECT_TRUE(far.quiet(20ms));
  EXPECT_EQ(near.box.last_stored(), 0U);
  far.answer(line_message::acknowledgement, near.box.last_sealed(), 1);
  EXPECT_TRUE(near.all_stored());
}

TEST(forwarder, refuses_an_address_that_is_none) {
  outbox box(small_blocks(), identity);
  EXPECT_THROW(forwarder(line_to("carrier pigeon"), box, nullptr), std::invalid_argument);
}

// --- a receiver against a daemon that the test plays ---

class played_daemon {
public:
  explicit played_daemon(const std::string& to) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo,
                static_cast<int>(std::chrono::milliseconds(patience).count()));
    socket_.connect(to);
  }
  void send_raw(const std::vector<test::bytes>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      socket_.send(zmq::buffer(frames[i]),
                   i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
  }
  void send(line_message type, std::uint64_t session, std::uint64_t sequence,
            const test::bytes& body = {}) {
    send_raw({header_bytes(make_line_header(type, session, sequence)), body});
  }
  static test::bytes header_bytes(const line_header& h) {
    test::bytes b(sizeof h);
    store(b.data(), h);
    return b;
  }
  void hello(std::uint64_t session, std::uint64_t sequence) {
    test::bytes body(sizeof(line_hello_body));
    send(line_message::hello, session, sequence, body);
  }
  /// The next message must be this one.
  void expect(line_message type, std::uint64_t sequence) {
    zmq::message_t head, body;
    ASSERT_TRUE(socket_.recv(head) && socket_.recv(body)) << "no answer";
    const auto header = read_line_header({head.data<std::byte>(), head.size()});
    ASSERT_TRUE(header);
    EXPECT_EQ(header->type, type);
    EXPECT_EQ(header->sequence, sequence);
    EXPECT_GT(header->credit, 0U);
  }

private:
  zmq::context_t context_{1};
  zmq::socket_t socket_{context_, zmq::socket_type::dealer};
};

test::bytes block_of(std::uint64_t session, std::uint64_t sequence) {
  std::mt19937 random(static_cast<std::uint32_t>(sequence));
  test::event_recipe recipe;
  recipe.key = {1, static_cast<std::uint32_t>(sequence)};
  recipe.fragments = 1;
  return test::make_block({test::make_event(recipe, random).packed}, session, sequence);
}

TEST(block_receiver, takes_blocks_in_order_only) {
  test::scratch_folder folder;
  receiving_end far(folder.path());
  played_daemon near(far.endpoint());
  near.hello(9, 1);
  near.expect(line_message::welcome, 0);
  near.send(line_message::block, 9, 1, block_of(9, 1));
  near.expect(line_message::acknowledgement, 1);
  near.send(line_message::block, 9, 3, block_of(9, 3)); // a gap
  near.expect(line_message::acknowledgement, 1);
  near.send(line_message::block, 9, 1, block_of(9, 1)); // a repeat
  near.expect(line_message::acknowledgement, 1);
  auto corrupt = block_of(9, 2);
  corrupt.back() ^= std::byte{1};
  near.send(line_message::block, 9, 2, corrupt);
  near.expect(line_message::acknowledgement, 1);
  near.send(line_message::block, 9, 2, block_of(9, 7)); // not what was announced
  near.expect(line_message::acknowledgement, 1);
  near.send(line_message::block, 9, 2, {});
  near.expect(line_message::acknowledgement, 1);
  near.send(line_message::block, 9, 2, block_of(9, 2));
  near.expect(line_message::acknowledgement, 2);
  near.hello(9, 1);
  near.expect(line_message::welcome, 2);
  far.kill();
  store_reader reader(folder.path());
  EXPECT_EQ(reader.next()->header.sequence, 1U);
  EXPECT_EQ(reader.next()->header.sequence, 2U);
  EXPECT_FALSE(reader.next());
}

TEST(block_receiver, counts_what_it_drops) {
  test::scratch_folder folder;
  receiving_end far(folder.path());
  played_daemon near(far.endpoint());
  near.send(line_message::block, 9, 1, block_of(9, 1)); // no hello yet
  near.expect(line_message::refusal, 0);
  near.send(line_message::heartbeat, 9, 0);
  near.expect(line_message::refusal, 0);
  near.hello(9, 1);
  near.expect(line_message::welcome, 0);
  // Garbage of every kind, none of it answered.
  near.send_raw({test::bytes(3)});
  near.send_raw({test::bytes(32), test::bytes(32)});
  near.send_raw({test::bytes(32), test::bytes(1), test::bytes(1), test::bytes(1)});
  auto wrong = make_line_header(line_message::block, 9, 1);
  wrong.magic[0] = 'k';
  near.send_raw({played_daemon::header_bytes(wrong), block_of(9, 1)});
  wrong = make_line_header(line_message::block, 9, 1);
  wrong.credit = 5; // without its checksum
  near.send_raw({played_daemon::header_bytes(wrong), block_of(9, 1)});
  near.send(line_message::welcome, 9, 1); // a receiver's word
  near.send(line_message::hello, 0, 1, test::bytes(8));
  near.send(line_message::hello, 9, 1, test::bytes(7));
  near.send(line_message::heartbeat, 9, 0);
  near.expect(line_message::acknowledgement, 0);
  auto corrupt = block_of(9, 1);
  corrupt[0] = std::byte{0};
  near.send(line_message::block, 9, 1, corrupt);
  near.expect(line_message::acknowledgement, 0);
  near.send(line_message::block, 9, 2, block_of(9, 2));
  near.expect(line_message::acknowledgement, 0);
  EXPECT_EQ(far.counters().garbage.get(), 8U);
  EXPECT_EQ(far.counters().strangers.get(), 1U);
  EXPECT_EQ(far.counters().gaps.get(), 1U);
  EXPECT_EQ(far.counters().damaged[block_fault::magic], 1U);
  EXPECT_EQ(far.counters().stored_blocks.get(), 0U);
}

TEST(block_receiver, serves_several_daemons) {
  test::scratch_folder folder;
  receiving_end far(folder.path());
  played_daemon one(far.endpoint());
  played_daemon two(far.endpoint());
  one.hello(1, 1);
  two.hello(2, 5); // blocks 1 … 4 are stored elsewhere
  one.expect(line_message::welcome, 0);
  two.expect(line_message::welcome, 0);
  two.send(line_message::block, 2, 5, block_of(2, 5));
  one.send(line_message::block, 1, 1, block_of(1, 1));
  two.expect(line_message::acknowledgement, 5);
  one.expect(line_message::acknowledgement, 1);
}

TEST(block_receiver, says_that_its_address_is_taken) {
  test::scratch_folder folder;
  test::scratch_folder other;
  receiving_end far(folder.path());
  receive_settings settings;
  settings.bind = far.endpoint();
  store_writer store({other.path()});
  try {
    const block_receiver second(settings, store, nullptr);
    FAIL() << "bound twice";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("cannot listen on " + settings.bind), std::string::npos);
  }
}

} // namespace
} // namespace l3
