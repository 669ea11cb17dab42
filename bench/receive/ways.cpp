// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench ways`: what other ways to receive datagrams would give beside recvmmsg, as far as
// a machine without a second one can tell: segments gathered by the kernel (UDP GRO) on loopback,
// and AF_XDP on a virtual cable. Bare loops: no event is built (docs/sizing.md).
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>

#include "bench/harness/report.hpp"
#include "bench/receive/sending.hpp"
#include "bench/receive/veth_pair.hpp"
#include "bench/receive/xdp_socket.hpp"
#include "tools/command.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {
namespace {

namespace json = boost::json;
using namespace bench;
using seconds = std::chrono::duration<double>;

constexpr std::size_t burst = 64;
constexpr std::size_t largest = 65536;
constexpr int patience = 20; // ms
constexpr double gigabyte = 1e9;

struct ways_options {
  double seconds = 3;
  std::uint32_t datagram = 8012;
  std::uint32_t frame = 3000; ///< payload over the cable: AF_XDP takes a page at most
  bool as_json = false;
};

struct way_result {
  std::string what;
  std::uint64_t bytes = 0;
  std::uint64_t datagrams = 0;
  double wall = 0;
  cpu_time receiver;
  cpu_time process; ///< of both threads, and so of the kernel's work in them
  std::string why_not;
};

/// Calls `send` in a thread and `receive` in this one until the time is over; receive gives the
/// bytes that it took, after waiting a moment at most.
way_result timed(std::string what, double time, const std::function<void()>& send,
                 const std::function<std::uint64_t(std::uint64_t&)>& receive) {
  way_result r;
  r.what = std::move(what);
  std::atomic<bool> stop = false;
  const cpu_time before = cpu_of_process();
  std::jthread sender([&] {
    while (!stop) send();
  });
  (void)receive(r.datagrams); // the first is there
  r.datagrams = 0;
  const cpu_time began = cpu_of_thread();
  const auto start = std::chrono::steady_clock::now();
  while (seconds(std::chrono::steady_clock::now() - start).count() < time)
    r.bytes += receive(r.datagrams);
  r.wall = seconds(std::chrono::steady_clock::now() - start).count();
  r.receiver = cpu_of_thread();
  r.receiver -= began;
  stop = true;
  while (receive(r.datagrams) != 0) {
  } // a sender that waits for room goes on
  sender.join();
  r.process = cpu_of_process();
  r.process -= before;
  return r;
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// A socket at a free port of this address.
file_descriptor bound(const char* address, std::uint16_t& port) {
  file_descriptor s(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!s) fail("no socket");
  const int buffer = 64 << 20;
  (void)::setsockopt(s.get(), SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
  (void)::setsockopt(s.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  ::inet_pton(AF_INET, address, &at.sin_addr);
  socklen_t n = sizeof at;
  if (::bind(s.get(), reinterpret_cast<const sockaddr*>(&at), n) != 0) fail("cannot bind");
  if (::getsockname(s.get(), reinterpret_cast<sockaddr*>(&at), &n) != 0) fail("cannot ask");
  port = ntohs(at.sin_port);
  return s;
}

/// recvmmsg into the same slots again and again.
class datagram_reader {
public:
  explicit datagram_reader(int socket, std::size_t room) : socket_(socket), memory_(burst * room) {
    for (std::size_t i = 0; i < burst; ++i) {
      parts_[i] = {memory_.data() + i * room, room};
      messages_[i].msg_hdr.msg_iov = &parts_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
    }
  }
  std::uint64_t take(std::uint64_t& count) {
    int n = ::recvmmsg(socket_, messages_.data(), burst, MSG_DONTWAIT, nullptr);
    if (n <= 0) {
      pollfd ready{socket_, POLLIN, 0};
      (void)::poll(&ready, 1, patience);
      n = ::recvmmsg(socket_, messages_.data(), burst, MSG_DONTWAIT, nullptr);
    }
    std::uint64_t bytes = 0;
    for (int i = 0; i < n; ++i) bytes += messages_[static_cast<std::size_t>(i)].msg_len;
    count += n > 0 ? static_cast<std::uint64_t>(n) : 0;
    return bytes;
  }

private:
  int socket_;
  std::vector<std::byte> memory_;
  std::array<iovec, burst> parts_{};
  std::array<mmsghdr, burst> messages_{};
};

/// Puts the same bytes into a socket, many messages a call.
class datagram_sender {
public:
  datagram_sender(int socket, const sockaddr* to, socklen_t length, std::vector<std::byte> message)
      : socket_(socket), message_(std::move(message)) {
    std::memcpy(&to_, to, length);
    part_ = {message_.data(), message_.size()};
    for (mmsghdr& m : messages_) {
      m.msg_hdr.msg_iov = &part_;
      m.msg_hdr.msg_iovlen = 1;
      m.msg_hdr.msg_name = &to_;
      m.msg_hdr.msg_namelen = length;
    }
  }
  void send(unsigned messages) {
    if (::sendmmsg(socket_, messages_.data(), messages, 0) < 0 && errno != ENOBUFS &&
        errno != EAGAIN)
      fail("cannot send");
  }

private:
  int socket_;
  std::vector<std::byte> message_;
  iovec part_{};
  sockaddr_storage to_{};
  std::array<mmsghdr, burst> messages_{};
};

way_result over_loopback(const ways_options& o, bool gathered) {
  std::uint16_t port = 0;
  const file_descriptor in = bound("127.0.0.1", port);
  const file_descriptor out(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  std::size_t message = o.datagram;
  unsigned messages = burst;
  if (gathered) {
    const int on = 1;
    const int segment = static_cast<int>(o.datagram);
    if (::setsockopt(in.get(), IPPROTO_UDP, UDP_GRO, &on, sizeof on) != 0) fail("no UDP_GRO");
    if (::setsockopt(out.get(), IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0)
      fail("no UDP_SEGMENT");
    constexpr std::size_t most = 65000;
    message = most / o.datagram * o.datagram;
    messages = static_cast<unsigned>(burst * o.datagram / message);
  }
  datagram_sender sender(out.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to,
                         std::vector<std::byte>(message, std::byte{7}));
  datagram_reader reader(in.get(), gathered ? largest : o.datagram);
  return timed(
      fmt::format("loopback, recvmmsg{}", gathered ? " with UDP GRO" : ""), o.seconds,
      [&] { sender.send(messages); }, [&](std::uint64_t& n) { return reader.take(n); });
}

/// Over a virtual cable: by the network stack, or by AF_XDP. Frames are put in below the stack.
way_result over_cable(const ways_options& o, const std::string& how) {
  const veth_pair cable(o.frame + 200);
  std::uint16_t port = 0;
  const file_descriptor in = bound(veth_pair::far_address, port);
  const file_descriptor out(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (!out) fail("no packet socket");
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETH_P_IP);
  to.sll_ifindex = static_cast<int>(veth_pair::index_of(veth_pair::near));
  datagram_sender sender(out.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to,
                         veth_pair::frame(port, o.frame));
  const auto send = [&] { sender.send(burst); };
  if (how == "recvmmsg") {
    datagram_reader reader(in.get(), o.frame);
    return timed("virtual cable, recvmmsg", o.seconds, send,
                 [&](std::uint64_t& n) { return reader.take(n); });
  }
  xdp_socket fast(veth_pair::index_of(veth_pair::far), how);
  std::uint64_t seen = 0;
  return timed("virtual cable, AF_XDP, " + how, o.seconds, send, [&](std::uint64_t& n) {
    std::uint64_t bytes = fast.take(n, seen);
    if (bytes == 0) {
      pollfd ready{fast.descriptor(), POLLIN, 0};
      (void)::poll(&ready, 1, patience);
      bytes = fast.take(n, seen);
    }
    return bytes;
  });
}

/// In a thread of its own, which may live in a namespace of its own.
way_result tried(const std::string& what, const std::function<way_result()>& run) {
  way_result r;
  std::jthread([&] {
    try {
      r = run();
    } catch (const std::exception& e) {
      r.what = what;
      r.why_not = e.what();
    }
  }).join();
  return r;
}

json::object row_of(const way_result& r) {
  if (!r.why_not.empty()) return {{"what", r.what}, {"note", "not measured: " + r.why_not}};
  const auto gigabytes = static_cast<double>(r.bytes) / gigabyte;
  return {{"what", r.what},
          {"gigabytes_per_second", gigabytes / r.wall},
          {"receiver_seconds_per_gigabyte", gigabytes > 0 ? r.receiver.sum() / gigabytes : 0},
          {"both_seconds_per_gigabyte", gigabytes > 0 ? r.process.sum() / gigabytes : 0},
          {"messages", r.datagrams},
          {"note", ""}};
}

int measure_ways(const ways_options& o) {
  json::object report = report_of("ways");
  report["datagram"] = o.datagram;
  report["frame"] = o.frame;
  json::array rows;
  for (const bool gathered : {false, true})
    rows.push_back(row_of(tried(gathered ? "loopback, recvmmsg with UDP GRO" : "loopback, recvmmsg",
                                [&] { return over_loopback(o, gathered); })));
  for (const auto* const how : {"recvmmsg", "generic", "native"})
    rows.push_back(
        row_of(tried(std::string("virtual cable, ") + how, [&] { return over_cable(o, how); })));
  report["rows"] = std::move(rows);
  return print_report(report, o.as_json, true);
}

} // namespace

void add_bench_ways(CLI::App& program, command_body& run) {
  auto o = std::make_shared<ways_options>();
  auto* c = program.add_subcommand(
      "ways", "Other ways to receive datagrams: UDP GRO on loopback, AF_XDP on a virtual cable");
  c->footer("On loopback and on a virtual cable the sender's thread does much of the kernel's work "
            "of receiving: so the processor time of both threads stands beside the receiver's. The "
            "cable needs root.");
  c->add_option("--seconds", o->seconds, "Of each way")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 60.0));
  c->add_option("--datagram", o->datagram, "Bytes of a datagram over loopback")
      ->capture_default_str()
      ->check(CLI::Range(512U, 16000U));
  c->add_option("--frame", o->frame, "Bytes of a datagram over the cable")
      ->capture_default_str()
      ->check(CLI::Range(512U, 3400U));
  c->add_flag("--json", o->as_json, "Report as JSON");
  c->callback([o, &run] { run = [o] { return measure_ways(*o); }; });
}

} // namespace l3
