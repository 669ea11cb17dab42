// SPDX-License-Identifier: Apache-2.0
#include "transport/output/link_security.hpp"

#include <stdexcept>

#include "transport/link/link_keys.hpp"

namespace l3 {

void use_keys(zmq::socket_t& socket, const forward_settings& settings) {
  if (settings.secret_key.empty()) return;
  const link_key secret = read_secret_key(settings.secret_key);
  const link_key own = public_half_of(secret);
  const link_key receiver = read_public_key(settings.receiver_key);
  socket.set(zmq::sockopt::curve_secretkey, zmq::buffer(secret));
  socket.set(zmq::sockopt::curve_publickey, zmq::buffer(own));
  socket.set(zmq::sockopt::curve_serverkey, zmq::buffer(receiver));
}

std::string why_not_let_in(const forward_settings& settings, std::uint16_t event,
                           std::int32_t value) {
  const bool with_keys = !settings.secret_key.empty();
  switch (event) {
  case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
    return "the receiver at " + settings.to +
           " does not know this daemon's key: its public key belongs into the file that the "
           "receiver was given with --allow";
  case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
    if (value != ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) break;
    return with_keys ? "the receiver at " + settings.to +
                           " uses no keys: start it with --secret-key and --allow"
                     : "the receiver at " + settings.to +
                           " takes nobody without a key: set forward.secret_key and "
                           "forward.receiver_key";
  case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: break;
  default: return {};
  }
  // A receiver that cannot read what was sealed for another key hangs up without a word.
  if (!with_keys) return {};
  return "the receiver at " + settings.to +
         " broke off: it is restarting, or the key in forward.receiver_key is not its own";
}

std::string wrong_with_keys(const forward_settings& settings) {
  const auto wrong = [](const char* setting, const std::string& file, auto read) -> std::string {
    try {
      if (!file.empty()) static_cast<void>(read(file));
      return {};
    } catch (const std::runtime_error& e) {
      return std::string(setting) + ": " + e.what();
    }
  };
  const std::string secret = wrong("forward.secret_key", settings.secret_key, read_secret_key);
  return secret.empty() ? wrong("forward.receiver_key", settings.receiver_key, read_public_key)
                        : secret;
}

} // namespace l3
