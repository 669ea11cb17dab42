// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/record_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "transport/file/record_parser.hpp"
#include "transport/format/endian.hpp"
#include "transport/format/plain_text.hpp"

namespace l3 {
namespace {

constexpr std::size_t longest_answer = 4096; // an acknowledgement, or a refusal's text

} // namespace

record_connection::record_connection(const destination& to, const socket_address& address,
                                     std::chrono::milliseconds time_limit)
    : received_(sizeof(record_header) + longest_answer) {
  const auto fail = [&](int error) {
    throw std::system_error(error, std::generic_category(), "cannot connect to " + to.text());
  };
  socket_ = file_descriptor(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!socket_) fail(errno);
  constexpr int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket_.get(), address.get(), address.bytes) != 0) {
    if (errno != EINPROGRESS) fail(errno);
    pollfd ready{socket_.get(), POLLOUT, 0};
    if (::poll(&ready, 1, static_cast<int>(time_limit.count())) == 0) fail(ETIMEDOUT);
    int error = 0;
    socklen_t bytes = sizeof error;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) fail(error);
  }
}

void record_connection::begin(const record_header& header, std::span<const std::byte> body) {
  header_ = header;
  header_left_ = std::as_bytes(std::span(&header_, 1));
  body_left_ = body;
}

bool record_connection::move_on() {
  if (!read()) return false;
  if (write()) return true;
  (void)read(); // acknowledgements sent before the end
  return false;
}

pollfd record_connection::awaited() const {
  pollfd wanted{socket_.get(), POLLIN, 0};
  if (!done()) wanted.events |= POLLOUT;
  return wanted;
}

bool record_connection::write() {
  while (!done()) {
    // The interface lacks const; it does not write through these pointers.
    std::array<iovec, 2> parts{{{const_cast<std::byte*>(header_left_.data()), header_left_.size()},
                                {const_cast<std::byte*>(body_left_.data()), body_left_.size()}}};
    msghdr m{};
    m.msg_iov = parts.data();
    m.msg_iovlen = parts.size();
    const auto n = ::sendmsg(socket_.get(), &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN;
    }
    const auto sent = static_cast<std::size_t>(n);
    bytes_ += sent;
    const auto of_header = std::min(sent, header_left_.size());
    header_left_ = header_left_.subspan(of_header);
    body_left_ = body_left_.subspan(sent - of_header);
  }
  return true;
}

bool record_connection::read() {
  for (;;) {
    const auto n = ::recv(socket_.get(), received_.data() + received_bytes_,
                          received_.size() - received_bytes_, MSG_DONTWAIT);
    if (n == 0) return false;
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN;
    }
    received_bytes_ += static_cast<std::size_t>(n);
    if (!take_records()) return false;
  }
}

bool record_connection::take_records() {
  const auto senseless = [this](const char* why) {
    refusal_ = why;
    makes_sense_ = false;
    return false;
  };
  std::size_t at = 0;
  while (received_bytes_ - at >= sizeof(record_header)) {
    const auto header = load<record_header>(received_.data() + at);
    if (check_header(header) || header.body_bytes > longest_answer)
      return senseless("its response is not a record");
    const auto whole = sizeof(record_header) + header.body_bytes;
    if (received_bytes_ - at < whole) break;
    const auto body = std::span<const std::byte>(received_).subspan(at + sizeof(record_header),
                                                                    header.body_bytes);
    at += whole;
    if (check_body(header, body)) return senseless("its response has a wrong checksum");
    if (header.type == record_type::refusal) {
      const std::string why(reinterpret_cast<const char*>(body.data()), body.size());
      refusal_ = "refused: " + peer_text(why);
      turned_away_ = why == no_place_left;
      return false;
    }
    if (header.type == record_type::acknowledgement) {
      const auto safe = load<acknowledgement_body>(body.data());
      acknowledged_ = std::max(acknowledged_, safe.sequence);
      known_ = std::max(known_, safe.known);
    }
  }
  std::memmove(received_.data(), received_.data() + at, received_bytes_ - at);
  received_bytes_ -= at;
  return true;
}

} // namespace l3
