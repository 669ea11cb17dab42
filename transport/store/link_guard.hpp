// SPDX-License-Identifier: Apache-2.0
// Who may come in at the receiver's end of the output link, and how much a peer may make it hold.
// With keys, ZeroMQ asks the guard about each key that a peer has proven to hold (ZAP,
// https://rfc.zeromq.org/spec/27); only those of the allow-list are let in. With or without keys
// the guard counts the connections that were not, and has a watch for messages without an end. The
// guard belongs to the thread of the receiver: while that thread writes to a disk, newcomers wait,
// and those who are in do not notice. The watch goes on meanwhile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <zmq.hpp>

#include "transport/accounting/counters.hpp"
#include "transport/format/time.hpp"
#include "transport/link/connection_watch.hpp"
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

  /// Before `socket` is bound.
  void guard(zmq::socket_t& socket, watch_limits limits);

  /// What has been asked and has happened meanwhile, but not more than some of it.
  void attend(time_point now);

  /// When the socket is closed: counts and says what has happened to it until then.
  void finish(time_point now);

  /// Readable when there is something to attend to.
  [[nodiscard]] void* questions() { return questions_.handle(); }
  [[nodiscard]] bool with_keys() const { return with_keys_; }
  [[nodiscard]] connection_watch& watch() { return *watch_; }

private:
  /// What a person is told of.
  enum class refusal : std::uint8_t {
    unknown_key,
    mechanism,
    sealed_for_another,
    named,
    shut_down,
    count_
  };
  /// So that strangers, who may come by the thousand, do not fill the log.
  struct silence {
    time_point until;
    std::uint64_t untold = 0;
  };

  [[nodiscard]] bool answer_question(time_point now);
  void take_event(std::uint16_t what, std::int32_t value);
  /// By any thread; attend() says it.
  void report(refusal what, time_point now, const std::string& text);

  bool with_keys_;
  link_key secret_{};
  std::string allow_file_;
  std::map<link_key, std::string> allowed_;
  connection_counters& counters_;
  const report_function& report_;
  std::mutex mutex_; ///< guards the next two
  std::array<silence, static_cast<std::size_t>(refusal::count_)> silences_;
  std::vector<std::string> to_say_; ///< few: a kind is silent for a while
  zmq::context_t& context_;
  zmq::socket_t questions_;
  std::unique_ptr<connection_watch> watch_;
};

} // namespace l3
