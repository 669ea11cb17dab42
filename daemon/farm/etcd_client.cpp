// SPDX-License-Identifier: Apache-2.0
#include "daemon/farm/etcd_client.hpp"

#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/core/detail/base64.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "config/endpoint.hpp"
#include "monitor/http_client.hpp"
#include "transport/format/plain_text.hpp"
#include "transport/format/time.hpp"

namespace l3 {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;

constexpr std::size_t longest_answer = 4 << 20;
constexpr int unauthenticated = 16; ///< status code of gRPC

/// An error that the gateway reported.
struct refusal : etcd_error {
  refusal(const std::string& text, int the_code) : etcd_error(text), code(the_code) {}
  int code;
};

/// etcd omits fields that are 0 and writes 64-bit numbers as strings.
std::int64_t number_at(const json::object& o, std::string_view key) {
  const json::value* v = o.if_contains(key);
  if (v == nullptr) return 0;
  json::error_code error;
  if (v->is_string()) {
    const auto number = json::parse(v->as_string(), error);
    if (!error && number.is_int64()) return number.as_int64();
  } else if (v->is_int64()) {
    return v->as_int64();
  }
  throw etcd_error(fmt::format("its response has an invalid number {}", std::string(key)));
}

bool true_at(const json::object& o, std::string_view key) {
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_bool() && v->as_bool();
}

const json::object& object_at(const json::object& o, std::string_view key) {
  static const json::object none;
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_object() ? v->as_object() : none;
}

const json::array& list_at(const json::object& o, std::string_view key) {
  static const json::array none;
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_array() ? v->as_array() : none;
}

std::string bytes_at(const json::object& o, std::string_view key) {
  const json::value* v = o.if_contains(key);
  if (v == nullptr) return {};
  auto bytes = v->is_string() ? from_base64(std::string_view(v->as_string())) : std::nullopt;
  if (!bytes) throw etcd_error(fmt::format("its response has an invalid {}", std::string(key)));
  return std::move(*bytes);
}

etcd_keys keys_in(const json::object& answer) {
  etcd_keys found;
  found.cut = true_at(answer, "more");
  for (const json::value& v : list_at(answer, "kvs")) {
    if (!v.is_object()) continue;
    const json::object& kv = v.as_object();
    found.keys.push_back({bytes_at(kv, "key"), bytes_at(kv, "value"),
                          number_at(kv, "create_revision"), number_at(kv, "mod_revision")});
  }
  return found;
}

/// The end of the range of keys with this prefix: the first key after them.
std::string end_of_keys(std::string beginning) {
  ++beginning.back(); // the prefix ends in '/'
  return beginning;
}

json::object keys_from(const std::string& beginning) {
  return {{"key", to_base64(beginning)}, {"range_end", to_base64(end_of_keys(beginning))}};
}

json::object written(const etcd_condition& c) {
  const char* const what = c.of_creation ? "create_revision" : "mod_revision";
  // Both revisions of a missing key are 0.
  return {{"key", to_base64(c.key)},
          {"result", "EQUAL"},
          {"target", c.of_creation ? "CREATE" : "MOD"},
          {what, std::to_string(c.revision)}};
}

json::object written(const etcd_step& s) {
  if (s.what == etcd_step::kind::remove)
    return {{"request_delete_range", json::object{{"key", to_base64(s.key)}}}};
  if (s.what == etcd_step::kind::remove_all) return {{"request_delete_range", keys_from(s.key)}};
  json::object put{{"key", to_base64(s.key)}, {"value", to_base64(s.value)}};
  if (s.lease != 0) put["lease"] = std::to_string(s.lease);
  return {{"request_put", std::move(put)}};
}

std::string why(const beast::error_code& error, std::chrono::milliseconds patience) {
  if (error == beast::error::timeout)
    return fmt::format("no answer within {:g} s", std::chrono::duration<double>(patience).count());
  if (error == http::error::body_limit)
    return "its response is larger than 4 MiB: check the keys under farm.prefix";
  if (error == http::error::end_of_stream) return "it closed the connection";
  return error.message();
}

} // namespace

std::string to_base64(std::string_view bytes) {
  std::string text(beast::detail::base64::encoded_size(bytes.size()), '\0');
  text.resize(beast::detail::base64::encode(text.data(), bytes.data(), bytes.size()));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes(beast::detail::base64::decoded_size(text.size()), '\0');
  const auto [made, read] = beast::detail::base64::decode(bytes.data(), text.data(), text.size());
  if (text.substr(read).find_first_not_of('=') != text.npos) return std::nullopt;
  bytes.resize(made);
  return bytes;
}

/// A connection that stays open between requests.
class etcd_client::connection {
public:
  connection(const std::string& address, time_point until) : stream_(io_) {
    const auto at = read_address(std::string_view(address).substr(address.find("//") + 2));
    if (!at) throw etcd_error("invalid address");
    host_ = text_of(*at);
    const found_endpoints found = find_endpoints(at->host, at->port, until);
    if (found.at.empty()) throw etcd_error(found.failure);
    stream_.expires_at(until);
    beast::error_code failed = beast::error::timeout;
    stream_.async_connect(found.at, [&](beast::error_code error, const auto&) { failed = error; });
    run();
    if (failed) throw boost::system::system_error(failed);
  }

  http::response<http::string_body> ask(std::string_view path, const std::string& token,
                                        std::string body, time_point until) {
    http::request<http::string_body> request{http::verb::post, path, 11};
    request.set(http::field::host, host_);
    request.set(http::field::content_type, "application/json");
    if (!token.empty()) request.set(http::field::authorization, token);
    request.body() = std::move(body);
    request.prepare_payload();
    http::response_parser<http::string_body> response;
    response.body_limit(longest_answer);
    beast::error_code failed = beast::error::timeout;
    stream_.expires_at(until);
    exchange_http(stream_, request, buffer_, response, failed);
    run();
    if (failed) throw boost::system::system_error(failed);
    return response.release();
  }

private:
  void run() {
    io_.restart();
    io_.run();
  }

  asio::io_context io_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{longest_answer + (64U << 10)};
  std::string host_;
};

etcd_client::etcd_client(etcd_settings settings) : settings_(std::move(settings)) {}

etcd_client::~etcd_client() = default;

const std::string& etcd_client::address() const { return settings_.at[which_]; }

json::object etcd_client::exchange(std::string_view path, const json::object& body) {
  const time_point until = steady_clock::now() + settings_.patience;
  std::string failure;
  try {
    if (!connection_) connection_ = std::make_unique<connection>(address(), until);
    const auto answer = connection_->ask(path, token_, json::serialize(body), until);
    if (!answer.keep_alive()) connection_.reset();
    json::error_code no_json;
    const json::value v = json::parse(answer.body(), no_json);
    if (no_json || !v.is_object()) throw etcd_error("its response is not JSON: it is not etcd");
    if (answer.result() == http::status::ok) return v.as_object();
    const json::value* text = v.as_object().if_contains("error");
    throw refusal(text != nullptr && text->is_string()
                      ? peer_text(std::string_view(text->as_string()))
                      : fmt::format("HTTP status {}", answer.result_int()),
                  static_cast<int>(number_at(v.as_object(), "code")));
  } catch (const refusal&) {
    throw; // etcd answered, and the next address would give the same answer
  } catch (const boost::system::system_error& e) {
    failure = why(e.code(), settings_.patience);
  } catch (const etcd_error& e) {
    failure = e.what();
  }
  connection_.reset();
  const std::string asked = address();
  which_ = (which_ + 1) % settings_.at.size();
  throw etcd_error(fmt::format("etcd does not answer at {}: {}", asked, failure));
}

void etcd_client::authenticate() {
  token_.clear();
  const json::object answer = exchange(
      "/v3/auth/authenticate", {{"name", settings_.user}, {"password", settings_.password}});
  const json::value* token = answer.if_contains("token");
  if (token == nullptr || !token->is_string() || find_unplain(token->as_string()))
    throw etcd_error("etcd returned no token for farm.user");
  token_ = token->as_string();
}

/// etcd forgets a token after some minutes, when it restarts, and when users change.
json::object etcd_client::call_with_token(std::string_view path, const json::object& body) {
  if (settings_.user.empty()) return exchange(path, body);
  if (!token_.empty()) {
    try {
      return exchange(path, body);
    } catch (const refusal& e) {
      if (e.code != unauthenticated) throw;
    }
  }
  authenticate();
  return exchange(path, body);
}

json::object etcd_client::call(std::string_view path, const json::object& body) {
  try {
    return call_with_token(path, body);
  } catch (const refusal& e) {
    throw etcd_error(fmt::format("etcd at {} refuses: {}", address(), e.what()));
  }
}

std::vector<etcd_keys> etcd_client::read(const std::vector<std::string>& beginnings,
                                         std::size_t most) {
  json::array ranges;
  for (const std::string& beginning : beginnings) {
    json::object range = keys_from(beginning);
    range["limit"] = std::to_string(most);
    ranges.push_back(json::object{{"request_range", std::move(range)}});
  }
  const json::object answer = call("/v3/kv/txn", {{"success", std::move(ranges)}});
  std::vector<etcd_keys> found;
  for (const json::value& v : list_at(answer, "responses"))
    found.push_back(v.is_object() ? keys_in(object_at(v.as_object(), "response_range"))
                                  : etcd_keys{});
  if (found.size() != beginnings.size())
    throw etcd_error("etcd returned keys that were not requested");
  return found;
}

bool etcd_client::change(const std::vector<etcd_condition>& only_if,
                         const std::vector<etcd_step>& then) {
  json::array conditions;
  json::array steps;
  for (const etcd_condition& c : only_if) conditions.push_back(written(c));
  for (const etcd_step& s : then) steps.push_back(written(s));
  return true_at(
      call("/v3/kv/txn", {{"compare", std::move(conditions)}, {"success", std::move(steps)}}),
      "succeeded");
}

std::int64_t etcd_client::grant(std::chrono::seconds time) {
  const std::int64_t lease =
      number_at(call("/v3/lease/grant", {{"TTL", std::to_string(time.count())}}), "ID");
  if (lease == 0) throw etcd_error("etcd granted no lease");
  return lease;
}

bool etcd_client::keep_alive(std::int64_t lease) {
  const json::object answer = call("/v3/lease/keepalive", {{"ID", std::to_string(lease)}});
  return number_at(object_at(answer, "result"), "TTL") > 0;
}

void etcd_client::revoke(std::int64_t lease) {
  static_cast<void>(call("/v3/lease/revoke", {{"ID", std::to_string(lease)}}));
}

} // namespace l3
