// SPDX-License-Identifier: Apache-2.0
// Receives the record stream over TCP (docs/formats.md, section 4): a listener, and threads among
// which the connections are distributed. Each reads bodies of event records directly into the
// batch, and acknowledges every record once it is safe. Without a free frame it stops reading,
// which slows the sender down. It tells a peer that violates the format why, and closes only that
// connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "transport/accounting/counters.hpp"
#include "transport/building/event_builder.hpp"
#include "transport/input/settings.hpp"

namespace l3 {

class tcp_thread;

class tcp_receiver {
public:
  /// Returns the highest batch serial number such that all events of this and earlier batches are
  /// safe. Called on the receiver's threads.
  using safe_batches = std::function<std::uint64_t()>;

  /// Listens and starts the threads, which refuse streams of other runs. Throws std::runtime_error,
  /// with address and port, if it cannot.
  tcp_receiver(const tcp_settings& settings, std::uint32_t run, event_builder& builder,
               safe_batches safe);
  /// Stops reading, sends pending acknowledgements, and closes the connections.
  ~tcp_receiver();
  tcp_receiver(const tcp_receiver&) = delete;
  tcp_receiver& operator=(const tcp_receiver&) = delete;

  /// Limit of the memory for half-read records and for the connections themselves.
  [[nodiscard]] static std::uint64_t memory_plan(const tcp_settings& settings,
                                                 const readout& crates);

  /// Stops accepting, reading and calling the builder; continues to send acknowledgements.
  void stop_reading();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// One per thread.
  [[nodiscard]] std::size_t inputs() const { return threads_.size(); }
  [[nodiscard]] const input_counters& input(std::size_t thread) const;
  /// Increases every few milliseconds, with or without work. Any thread.
  [[nodiscard]] std::uint64_t turns(std::size_t thread) const;
  [[nodiscard]] std::uint32_t connections(std::size_t thread) const; ///< open now

private:
  void accept();
  void take(boost::asio::ip::tcp::socket socket, tcp_thread& thread);
  [[nodiscard]] bool may_send(const boost::asio::ip::tcp::socket& socket) const;

  safe_batches safe_;
  std::size_t max_connections_;
  source_list allow_;
  std::uint16_t port_ = 0;
  bool stopped_ = false;
  std::vector<std::unique_ptr<tcp_thread>> threads_;
  boost::asio::ip::tcp::acceptor acceptor_; // used on the first thread, like the timer
  boost::asio::steady_timer retry_;
};

} // namespace l3
