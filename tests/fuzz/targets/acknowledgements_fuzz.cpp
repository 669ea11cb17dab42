// SPDX-License-Identifier: Apache-2.0
// What a daemon answers to a replay client over TCP, read by the client: acknowledgements rise,
// whatever comes ends the connection or is taken, and nothing is taken from behind an error.
#include <algorithm>
#include <chrono>

#include "tests/fuzz/targets/fuzz.hpp"
#include "tests/fuzz/targets/loopback.hpp"
#include "tools/replay/record_connection.hpp"
#include "transport/file/record_parser.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"

namespace l3::test {
namespace {

/// Listens, and accepts one after the other.
class far_end {
public:
  far_end() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof here;
    require(::bind(listener_, reinterpret_cast<const sockaddr*>(&here), length) == 0 &&
                ::listen(listener_, 1) == 0 &&
                ::getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &length) == 0,
            "a port is free");
    port_ = ntohs(here.sin_port);
  }
  far_end(const far_end&) = delete;
  far_end& operator=(const far_end&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Sends this to whoever connected, and closes.
  void answer(std::span<const std::byte> bytes) const {
    const int socket = ::accept(listener_, nullptr, nullptr);
    require(socket >= 0, "somebody connected");
    (void)!::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::close(socket);
  }

private:
  int listener_;
  std::uint16_t port_ = 0;
};

std::vector<std::byte> any_answer(fuzz_input& in) {
  std::vector<std::byte> all;
  const auto add = [&](record_type type, std::span<const std::byte> body, bool damaged) {
    auto h = sealed_header(type, 0, 0, static_cast<std::uint32_t>(body.size()), crc32c(body));
    std::vector<std::byte> record;
    put(record, h);
    put_bytes(record, body);
    if (damaged) in.damage(record);
    put_bytes(all, record);
  };
  while (!in.empty()) {
    const auto what = in.below(8);
    if (what == 7) {
      put_bytes(all, in.bytes(in.byte()));
    } else if (what == 6) {
      add(record_type::refusal, in.bytes(in.number<std::uint16_t>() % 8192), false);
    } else if (what == 5) {
      add(static_cast<record_type>(in.below(8)), in.bytes(in.byte()), false);
    } else {
      const acknowledgement_body body{in.number<std::uint64_t>(), 0};
      add(record_type::acknowledgement, std::as_bytes(std::span(&body, 1)), what == 4);
    }
  }
  return all;
}

/// The highest number of the good acknowledgements before the first thing that is no record.
std::uint64_t expected(std::span<const std::byte> all) {
  std::uint64_t highest = 0;
  while (all.size() >= sizeof(record_header)) {
    const auto h = load<record_header>(all.data());
    if (check_header(h) || h.body_bytes > 4096 || all.size() - sizeof h < h.body_bytes) break;
    const auto body = all.subspan(sizeof h, h.body_bytes);
    if (check_body(h, body) || h.type == record_type::refusal) break;
    if (h.type == record_type::acknowledgement)
      highest = std::max(highest, load<acknowledgement_body>(body.data()).sequence);
    all = all.subspan(sizeof h + body.size());
  }
  return highest;
}

} // namespace

void fuzz(fuzz_input& in) {
  static const far_end far;
  const auto answer = any_answer(in);
  const destination to{destination::protocol::tcp, "127.0.0.1", far.port()};
  record_connection near(to, resolve(to), std::chrono::seconds(10));
  far.answer(answer);
  std::uint64_t before = 0;
  while (near.move_on()) {
    require(near.acknowledged() >= before, "acknowledgements rise");
    before = near.acknowledged();
    pollfd awaited = near.awaited();
    ::poll(&awaited, 1, 10'000);
  }
  require(near.acknowledged() == expected(answer),
          "good ones count, and those behind an error do not");
}

} // namespace l3::test
