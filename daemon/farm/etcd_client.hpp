// SPDX-License-Identifier: Apache-2.0
// What the farm needs of etcd, by its JSON gateway over HTTP: to read keys, to change some if
// others are as they were, and leases. One request at a time, on the caller's thread; each ends
// within its time, and an answer has at most 4 MiB. Of several addresses the one that answered last
// is asked, and the next one after a failure. Every function throws etcd_error.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

namespace l3 {

/// It does not answer, or refuses; in words for a person.
struct etcd_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct etcd_settings {
  std::vector<std::string> at; ///< "http://host:port"
  std::string user;            ///< empty: none
  std::string password;
  std::chrono::milliseconds patience{1500}; ///< for one request and its answer
};

struct etcd_key {
  std::string name;
  std::string value;
  std::int64_t created = 0; ///< revision
  std::int64_t changed = 0; ///< revision
};

/// A stretch of keys; `cut`: there are more than were asked for.
struct etcd_keys {
  std::vector<etcd_key> keys;
  bool cut = false;
};

/// A key must have been created, or changed last, at this revision; 0: it must not be there.
struct etcd_condition {
  std::string key;
  bool of_creation = false;
  std::int64_t revision = 0;
};

struct etcd_step {
  enum class kind : std::uint8_t { put, remove, remove_all };
  kind what = kind::put;
  std::string key; ///< of remove_all: what the keys begin with
  std::string value;
  std::int64_t lease = 0; ///< 0: the key stays
};

class etcd_client {
public:
  explicit etcd_client(etcd_settings settings);
  ~etcd_client();
  etcd_client(const etcd_client&) = delete;
  etcd_client& operator=(const etcd_client&) = delete;

  /// The keys that begin with each of these, all of one moment, in their order.
  [[nodiscard]] std::vector<etcd_keys> read(const std::vector<std::string>& beginnings,
                                            std::size_t most);
  /// All steps or, if a condition does not hold, none: then false.
  [[nodiscard]] bool change(const std::vector<etcd_condition>& only_if,
                            const std::vector<etcd_step>& then);
  /// A lease for so long; its keys go when it is over.
  [[nodiscard]] std::int64_t grant(std::chrono::seconds time);
  /// False: the lease is over.
  [[nodiscard]] bool keep_alive(std::int64_t lease);
  void revoke(std::int64_t lease);

  /// Where it asks.
  [[nodiscard]] const std::string& address() const;

private:
  class connection;
  boost::json::object call(std::string_view path, const boost::json::object& body);
  boost::json::object call_with_token(std::string_view path, const boost::json::object& body);
  boost::json::object exchange(std::string_view path, const boost::json::object& body);
  void authenticate();

  etcd_settings settings_;
  std::size_t which_ = 0; // of settings_.at
  std::string token_;
  std::unique_ptr<connection> connection_; // none: the next request makes one
};

} // namespace l3
