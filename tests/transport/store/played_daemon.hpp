// SPDX-License-Identifier: Apache-2.0
// The daemon's end of an output link, played by a test: it sends what it is told to, right or
// wrong, and says what it expects to hear.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zmq.hpp>

#include "tests/transport/outbox/link_ends.hpp"
#include "transport/format/endian.hpp"
#include "transport/link/link_message.hpp"

namespace l3::test {

class played_daemon {
public:
  explicit played_daemon(const std::string& to) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo,
                static_cast<int>(std::chrono::milliseconds(patience).count()));
    socket_.connect(to);
  }
  void send_raw(const std::vector<bytes>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      socket_.send(zmq::buffer(frames[i]),
                   i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
  }
  void send(link_message type, std::uint64_t session, std::uint64_t sequence,
            const bytes& body = {}) {
    send_raw({header_bytes(make_link_header(type, session, sequence)), body});
  }
  static bytes header_bytes(const link_header& h) {
    bytes b(sizeof h);
    store(b.data(), h);
    return b;
  }
  void hello(std::uint64_t session, std::uint64_t sequence) {
    bytes body(sizeof(link_hello_body));
    send(link_message::hello, session, sequence, body);
  }
  /// The next message must be this one.
  void expect(link_message type, std::uint64_t sequence, std::uint32_t credit = 0) {
    zmq::message_t head, body;
    ASSERT_TRUE(socket_.recv(head) && socket_.recv(body)) << "no answer";
    const auto header = read_link_header({head.data<std::byte>(), head.size()});
    ASSERT_TRUE(header);
    EXPECT_EQ(header->type, type);
    EXPECT_EQ(header->sequence, sequence);
    EXPECT_GT(header->credit, 0U);
    if (credit > 0) {
      EXPECT_EQ(header->credit, credit);
    }
  }

  /// Says hello, and expects that blocks up to this one are stored.
  void begin(std::uint64_t session, std::uint64_t first, std::uint64_t stored) {
    hello(session, first);
    expect(link_message::welcome, stored);
  }
  /// Sends a block, and expects that blocks up to this one are stored then.
  void give(std::uint64_t session, std::uint64_t sequence, const bytes& block,
            std::uint64_t stored) {
    send(link_message::block, session, sequence, block);
    expect(link_message::acknowledgement, stored);
  }

private:
  zmq::context_t context_{1};
  zmq::socket_t socket_{context_, zmq::socket_type::dealer};
};

} // namespace l3::test
