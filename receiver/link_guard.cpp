// SPDX-License-Identifier: Apache-2.0
#include "receiver/link_guard.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "receiver/block_receiver.hpp"
#include "transport/format/endian.hpp"

namespace l3 {
namespace {

constexpr const char* question_address = "inproc://zeromq.zap.01"; // where ZeroMQ asks
constexpr const char* event_address = "inproc://link-guard-events";
constexpr int events =
    ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
constexpr int most_in_a_turn = 64;
/// Limit of connection events: while the receiver writes to disk, ZeroMQ delays further newcomers.
constexpr int most_waiting = 10'000;

// Frames of a question and of an answer.
enum question : std::size_t { version, request, domain, address, identity, mechanism, credentials };
constexpr std::size_t question_frames = credentials + 1;
constexpr std::string_view zap_version = "1.0";

bool send_frames(zmq::socket_t& to, std::initializer_list<std::string_view> frames) {
  std::size_t left = frames.size();
  for (const std::string_view frame : frames) {
    const auto more = --left > 0 ? zmq::send_flags::sndmore : zmq::send_flags::none;
    if (!to.send(zmq::buffer(frame), more | zmq::send_flags::dontwait)) return false;
  }
  return true;
}

} // namespace

link_guard::link_guard(zmq::context_t& context, const receive_settings& settings,
                       connection_counters& counters, const report_function& report)
    : with_keys_(!settings.secret_key.empty()), allow_file_(settings.allow), counters_(counters),
      report_(report), questions_(context, zmq::socket_type::rep),
      events_(context, zmq::socket_type::pair) {
  if (with_keys_) {
    secret_ = read_secret_key(settings.secret_key);
    for (auto& [key, name] : read_public_keys(settings.allow))
      allowed_.emplace(key, std::move(name));
  }
  questions_.set(zmq::sockopt::linger, 0);
  questions_.bind(question_address);
}

void link_guard::guard(zmq::socket_t& socket) {
  if (with_keys_) {
    socket.set(zmq::sockopt::curve_server, true);
    socket.set(zmq::sockopt::curve_secretkey, zmq::buffer(secret_));
    socket.set(zmq::sockopt::zap_domain, "koto-l3");
  }
  if (zmq_socket_monitor(socket.handle(), event_address, events) != 0) throw zmq::error_t();
  events_.set(zmq::sockopt::rcvhwm, most_waiting);
  events_.connect(event_address);
}

void link_guard::attend(time_point now) {
  for (int i = 0; i < most_in_a_turn && answer_question(now); ++i) {
  }
  while (take_event(now)) {
  }
}

bool link_guard::answer_question(time_point now) {
  std::array<zmq::message_t, question_frames> frames;
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    zmq::message_t frame;
    if (!questions_.recv(frame, zmq::recv_flags::dontwait)) return false;
    more = frame.more();
    if (count < frames.size()) frames[count].move(frame);
  }
  const auto& proven = frames[credentials];
  link_key key{};
  if (!proven.empty()) std::memcpy(key.data(), proven.data(), std::min(key.size(), proven.size()));
  const bool asked = count == frames.size() && frames[version].to_string_view() == zap_version &&
                     frames[mechanism].to_string_view() == "CURVE" && proven.size() == key.size();
  const auto found = asked ? allowed_.find(key) : allowed_.end();
  const std::string_view number = frames[request].to_string_view();
  if (found != allowed_.end()) {
    (void)send_frames(questions_, {zap_version, number, "200", "OK", text_of(key), ""});
    return true;
  }
  (void)send_frames(questions_, {zap_version, number, "400", "not allowed", "", ""});
  counters_.unknown_key.add();
  report(unknown_keys_told_, now,
         "refused a daemon at " + frames[address].to_string() + ": its key " + text_of(key) +
             " is not in " + allow_file_);
  return true;
}

bool link_guard::take_event(time_point now) {
  zmq::message_t event;
  zmq::message_t address;
  if (!events_.recv(event, zmq::recv_flags::dontwait)) return false;
  if (event.more()) (void)events_.recv(address);
  const auto what = load<std::uint16_t>(event.data<std::byte>());
  const auto value = load<std::int32_t>(event.data<std::byte>() + sizeof what);
  if (what == ZMQ_EVENT_ACCEPTED) {
    counters_.accepted.add();
  } else if (what == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
    counters_.let_in.add();
  } else if (value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
    counters_.mechanism.add();
    report(mechanisms_told_, now,
           with_keys_ ? "refused a connection without a key (a daemon needs "
                        "forward.secret_key and forward.receiver_key)"
                      : "refused a connection with a key: this receiver was started without "
                        "--secret-key and --allow");
  } else if (value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC) {
    report(sealed_for_another_told_, now,
           "refused a connection that was sealed for another key: a daemon's "
           "forward.receiver_key must be this receiver's public key");
  }
  return true;
}

void link_guard::report(occasional& kind, time_point now, const std::string& text) {
  const auto times = kind.happened(now);
  if (!times || !report_) return;
  report_(*times == 1 ? text
                      : text + " (and " + std::to_string(*times - 1) + " of the kind before)");
}

} // namespace l3
