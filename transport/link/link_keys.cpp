// SPDX-License-Identifier: Apache-2.0
#include "transport/link/link_keys.hpp"

#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

constexpr std::size_t text_length = 40;
constexpr std::string_view credential = "credential:";
constexpr std::string_view credentials_variable = "CREDENTIALS_DIRECTORY";
/// Much more than an allow-list of all machines.
constexpr std::uint64_t largest_file = 1 << 20;

constexpr mode_t secret_mode = 0600;
constexpr mode_t public_mode = 0644;
constexpr mode_t public_forbidden = 0; ///< anybody may read it
constexpr std::string_view secret_remark = "# koto-l3 secret key: nobody else may read it";
constexpr std::string_view public_remark = "# koto-l3 public key";
/// Some editors write it at the start of a UTF-8 file.
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

bool is_credential(std::string_view name) { return name.starts_with(credential); }

/// The service manager protects its folder, and may report an access list as the group's mode.
mode_t forbidden_of(const std::string& name) {
  return is_credential(name) ? S_IRWXO : S_IRWXG | S_IRWXO;
}

/// Returns null if the service manager passes no credentials.
const char* folder_of_credentials() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes it
  return std::getenv(credentials_variable.data());
}

/// Returns an empty string if the name is no credential.
std::string credential_of(const std::string& name) {
  std::string its = name.substr(credential.size());
  return its.find('/') == its.npos ? its : std::string();
}

std::string path_of(const std::string& name) {
  if (!is_credential(name)) return name;
  const std::string its = credential_of(name);
  if (its.empty()) fail(name + " names no credential");
  const char* const folder = folder_of_credentials();
  if (folder == nullptr)
    fail(name + ": the service manager passed no credentials (LoadCredential=)");
  return std::string(folder) + "/" + its;
}

/// Reads a file once, through the descriptor whose mode was checked, so that it cannot be replaced
/// in between.
std::string content_of(const std::string& path, mode_t forbidden) {
  input_text in = read_input(path, largest_file);
  if (!in.refusal.empty()) fail(path + " " + in.refusal);
  if (in.text.starts_with(byte_order_mark)) in.text.erase(0, byte_order_mark.size());
  // A likely mistake, which a change of the file's mode does not fix.
  if (forbidden != public_forbidden && in.text.find(public_remark) != in.text.npos)
    fail(path + " holds a public key; a secret key is needed here");
  if ((in.mode & forbidden) != 0) {
    fail(path + " may be read or written by others: chmod 600, and make new keys if others may "
                "have read it");
  }
  return std::move(in.text);
}

/// ZeroMQ stops at a zero byte and would leave the rest of the key unset.
std::optional<link_key> key_from(const std::string& text) {
  link_key key{};
  if (text.size() != text_length || text.find('\0') != text.npos ||
      zmq_z85_decode(key.data(), text.c_str()) == nullptr)
    return std::nullopt;
  return key;
}

/// "#" alone may begin a key, because it is one of the 85 characters.
bool is_remark(const std::string& line) { return line == "#" || line.starts_with("# "); }

std::vector<named_key> keys_in(const std::string& path, mode_t forbidden) {
  const std::string all = content_of(path, forbidden);
  // A likely mistake, which would make the key useless or send the secret to the peer. In an
  // allow-list it may be after other keys, because such lists are concatenated from files.
  if (forbidden == public_forbidden && all.find(secret_remark) != all.npos)
    fail(path + " holds a secret key; a public key is needed here");
  std::istringstream content(all);
  std::vector<named_key> keys;
  std::size_t number = 0;
  for (std::string line; std::getline(content, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    std::istringstream words(line);
    std::string text;
    named_key found;
    if (is_remark(line) || !(words >> text)) continue;
    const auto key = key_from(text);
    // The text is not shown, because it may be most of a secret.
    if (!key)
      fail(path + ":" + std::to_string(number) + ": no key: a key is " +
           std::to_string(text_length) + " characters of Z85");
    found.key = *key;
    std::getline(words >> std::ws, found.name);
    keys.push_back(std::move(found));
  }
  if (keys.empty()) fail(path + " holds no key");
  return keys;
}

link_key only_key_in(const std::string& path, mode_t forbidden) {
  const auto keys = keys_in(path, forbidden);
  if (keys.size() != 1) fail(path + " holds " + std::to_string(keys.size()) + " keys, not one");
  return keys.front().key;
}

void write_new(const std::string& path, std::string_view text, mode_t mode) {
  const file_descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  std::error_code error = file ? std::error_code() : last_error();
  if (!error && ::fchmod(file.get(), mode) != 0) error = last_error();
  if (!error) error = write_all(file.get(), 0, std::as_bytes(std::span(text)));
  if (!error && ::fsync(file.get()) != 0) error = last_error();
  if (!error) return;
  if (file) ::unlink(path.c_str());
  fail("cannot write " + path + ": " + error.message());
}

} // namespace

std::string text_of(const link_key& key) {
  std::string text(text_length + 1, '\0');
  zmq_z85_encode(text.data(), key.data(), key.size());
  text.resize(text_length);
  return text;
}

link_key public_half_of(const link_key& secret) {
  char text[text_length + 1];
  if (zmq_curve_public(text, text_of(secret).c_str()) != 0)
    fail("this ZeroMQ library was built without CURVE");
  return *key_from(text);
}

key_pair make_key_pair() {
  char public_text[text_length + 1];
  char secret_text[text_length + 1];
  if (zmq_curve_keypair(public_text, secret_text) != 0)
    fail("this ZeroMQ library was built without CURVE");
  return {*key_from(secret_text), *key_from(public_text)};
}

void write_key_pair(const std::string& name, const key_pair& keys) {
  const std::string secret_file = name + ".secret";
  const auto content = [](std::string_view remark, const link_key& key) {
    return std::string(remark) + "\n" + text_of(key) + "\n";
  };
  write_new(secret_file, content(secret_remark, keys.secret), secret_mode);
  try {
    write_new(name + ".public", content(public_remark, keys.public_half), public_mode);
  } catch (const std::runtime_error&) {
    ::unlink(secret_file.c_str());
    throw;
  }
}

link_key read_secret_key(const std::string& file) {
  return only_key_in(path_of(file), forbidden_of(file));
}

bool is_for_the_service_alone(const std::string& file) {
  return is_credential(file) && !credential_of(file).empty() && folder_of_credentials() == nullptr;
}

std::string read_secret_line(const std::string& file) {
  const std::string path = path_of(file);
  std::string text = content_of(path, forbidden_of(file));
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty() || text.find('\n') != text.npos) fail(path + " must have exactly one line");
  return text;
}

link_key read_public_key(const std::string& file) {
  return only_key_in(path_of(file), public_forbidden);
}

std::vector<named_key> read_public_keys(const std::string& file) {
  return keys_in(path_of(file), public_forbidden);
}

} // namespace l3
