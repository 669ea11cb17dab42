// SPDX-License-Identifier: Apache-2.0
// The farm's client of etcd's JSON gateway over HTTP. It reads keys, changes keys on condition that
// others are unchanged, and manages leases. One request at a time, on the caller's thread; each has
// a time limit, and a response has at most 4 MiB. It asks the address that responded last, and the
// next one after a failure. Every function throws etcd_error.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

namespace l3 {

/// Base64, in which etcd's JSON gateway encodes keys and values.
[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Returns nothing if the text is not valid Base64.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

/// etcd does not respond, or refuses the request; the text is for a person.
struct etcd_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct etcd_settings {
  std::vector<std::string> at; ///< "http://host:port"
  std::string user;            ///< empty: no authentication
  std::string password;
  std::chrono::milliseconds patience{1500}; ///< for one request and its response
};

struct etcd_key {
  std::string name;
  std::string value;
  std::int64_t created = 0; ///< revision
  std::int64_t changed = 0; ///< revision
};

/// Keys with a common prefix; `cut`: there are more than `most`.
struct etcd_keys {
  std::vector<etcd_key> keys;
  bool cut = false;
};

/// A key must have been created (or last changed) at this revision; 0: the key must not exist.
struct etcd_condition {
  std::string key;
  bool of_creation = false;
  std::int64_t revision = 0;
};

struct etcd_step {
  enum class kind : std::uint8_t { put, remove, remove_all };
  kind what = kind::put;
  std::string key; ///< for remove_all: the prefix of the keys
  std::string value;
  std::int64_t lease = 0; ///< 0: the key stays
};

class etcd_client {
public:
  explicit etcd_client(etcd_settings settings);
  ~etcd_client();
  etcd_client(const etcd_client&) = delete;
  etcd_client& operator=(const etcd_client&) = delete;

  /// Reads the keys with each of these prefixes, in order, all at one revision.
  [[nodiscard]] std::vector<etcd_keys> read(const std::vector<std::string>& beginnings,
                                            std::size_t most);
  /// Applies all steps, or none and returns false if a condition does not hold.
  [[nodiscard]] bool change(const std::vector<etcd_condition>& only_if,
                            const std::vector<etcd_step>& then);
  /// Creates a lease. Its keys are removed when it expires.
  [[nodiscard]] std::int64_t grant(std::chrono::seconds time);
  /// Returns false if the lease has expired.
  [[nodiscard]] bool keep_alive(std::int64_t lease);
  void revoke(std::int64_t lease);

  /// The address that it asks.
  [[nodiscard]] const std::string& address() const;

private:
  class connection;
  boost::json::object call(std::string_view path, const boost::json::object& body);
  boost::json::object call_with_token(std::string_view path, const boost::json::object& body);
  boost::json::object exchange(std::string_view path, const boost::json::object& body);
  void authenticate();

  etcd_settings settings_;
  std::size_t which_ = 0; // index in settings_.at
  std::string token_;
  std::unique_ptr<connection> connection_; // null: the next request opens one
};

} // namespace l3
