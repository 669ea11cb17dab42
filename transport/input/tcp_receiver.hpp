// SPDX-License-Identifier: Apache-2.0
// Receives the record stream over TCP (docs/formats.md, section 4): a listener and its connections
// on one thread. It reads bodies of event records straight into the batch, and acknowledges every
// record once it is safe. Without a free frame it reads nothing, which slows the sender down. It
// tells a peer that breaks the format why and closes that connection; the others go on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "transport/accounting/counters.hpp"
#include "transport/building/event_builder.hpp"
#include "transport/input/settings.hpp"

namespace l3 {

class tcp_server;

class tcp_receiver {
public:
  /// The highest batch serial number such that every event of it and of all before it is safe;
  /// called from the receiver's thread.
  using safe_batches = std::function<std::uint64_t()>;

  /// Listens and starts the thread, which refuses streams of other runs. Throws std::runtime_error
  /// that names address and port if it cannot.
  tcp_receiver(const tcp_settings& settings, std::uint32_t run, event_builder& builder,
               safe_batches safe);
  /// Stops reading, sends the acknowledgements that are due, closes the connections.
  ~tcp_receiver();
  tcp_receiver(const tcp_receiver&) = delete;
  tcp_receiver& operator=(const tcp_receiver&) = delete;

  /// What the connections may take for records that are half read, and for themselves.
  [[nodiscard]] static std::uint64_t memory_plan(const tcp_settings& settings,
                                                 const readout& crates);

  /// Accepts and reads no more, and no longer calls the builder; still sends acknowledgements.
  void stop_reading();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] const input_counters& input() const;
  /// Rises every few milliseconds, whether there is work or not. Any thread.
  [[nodiscard]] std::uint64_t turns() const;
  [[nodiscard]] std::uint32_t connections() const; ///< open now

private:
  std::unique_ptr<tcp_server> server_;
};

} // namespace l3
