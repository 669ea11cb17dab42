// SPDX-License-Identifier: Apache-2.0
// Who may come in at the receiver's end of the output link. With keys, ZeroMQ asks the guard about
// each key that a peer has proven to hold (ZAP, https://rfc.zeromq.org/spec/27); only those of the
// allow-list are let in. With or without keys it counts the connections that were not. It belongs
// to the thread of the receiver and has none of its own: while that thread writes to a disk,
// newcomers wait, and those who are in do not notice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <zmq.hpp>

#include "transport/accounting/counters.hpp"
#include "transport/format/time.hpp"
#include "transport/link/link_keys.hpp"

namespace l3 {

struct receive_settings;
struct connection_counters;

class link_guard {
public:
  using report_function = std::function<void(std::string_view)>;

  /// Before `socket` is bound; to be destroyed after it. Throws std::runtime_error if a key file is
  /// of no use.
  link_guard(zmq::context_t& context, const receive_settings& settings,
             connection_counters& counters, const report_function& report);

  void guard(zmq::socket_t& socket);

  /// What has been asked and has happened meanwhile, but not more than some of it.
  void attend(time_point now);

  /// Readable when there is something to attend to.
  [[nodiscard]] void* questions() { return questions_.handle(); }
  [[nodiscard]] void* events() { return events_.handle(); }

private:
  /// What a person is told of.
  enum class refusal : std::uint8_t { unknown_key, mechanism, sealed_for_another, count_ };
  /// So that strangers, who may come by the thousand, do not fill the log.
  struct silence {
    time_point until;
    std::uint64_t untold = 0;
  };

  [[nodiscard]] bool answer_question(time_point now);
  [[nodiscard]] bool take_event(time_point now);
  void report(refusal what, time_point now, const std::string& text);

  bool with_keys_;
  link_key secret_{};
  std::string allow_file_;
  std::map<link_key, std::string> allowed_;
  connection_counters& counters_;
  const report_function& report_;
  std::array<silence, static_cast<std::size_t>(refusal::count_)> silences_;
  zmq::socket_t questions_;
  zmq::socket_t events_;
};

} // namespace l3
