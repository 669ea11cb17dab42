// SPDX-License-Identifier: Apache-2.0
// The key files of the output link (CURVE, docs/formats.md, section 8). A peer proves with its
// secret key that it owns a public key. A daemon knows its receiver's public key, a receiver those
// of the accepted daemons. A key is a line of 40 characters (Z85); empty lines and lines that begin
// with "# " are ignored. A secret key file that others may read is refused.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace l3 {

using link_key = std::array<std::uint8_t, 32>;

struct key_pair {
  link_key secret;
  link_key public_half;
};

struct named_key {
  link_key key;
  std::string name; ///< rest of the key's line, for people
};

/// The key's text in a file.
[[nodiscard]] std::string text_of(const link_key& key);
[[nodiscard]] link_key public_half_of(const link_key& secret);
[[nodiscard]] key_pair make_key_pair();

/// Writes NAME.secret, which only its owner may read, and NAME.public. Throws std::runtime_error,
/// and creates neither, if one of them exists or cannot be written.
void write_key_pair(const std::string& name, const key_pair& keys);

// A file is a path, or "credential:NAME" for one that the service manager passes (LoadCredential=).
// These throw std::runtime_error with the file, and the line if one is wrong.
[[nodiscard]] link_key read_secret_key(const std::string& file);
[[nodiscard]] link_key read_public_key(const std::string& file); ///< the file has exactly one
[[nodiscard]] std::vector<named_key> read_public_keys(const std::string& file); ///< at least one

/// Whether the file is a credential, but this process has none. Such a file cannot be checked here.
[[nodiscard]] bool is_for_the_service_alone(const std::string& file);

/// The only line of a file that others may not read, such as a password. Throws as above.
[[nodiscard]] std::string read_secret_line(const std::string& file);

} // namespace l3
