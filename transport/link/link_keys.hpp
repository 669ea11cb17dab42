// SPDX-License-Identifier: Apache-2.0
// The keys of the output link (CURVE, docs/formats.md, section 8) as they stand in files. A peer
// proves by its secret key that a public key is its own. A daemon knows its receiver's public key,
// a receiver those of the daemons that it accepts. A key is a line of 40 characters (Z85); a line
// that is empty or begins with "# " is none. Secret keys are kept: a file that others may read is
// refused.
#pragma once

#include <array>
#include <cstdint>
#include <span>
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
  std::string name; ///< what stands behind it on its line, for people
};

/// As it stands in a file.
[[nodiscard]] std::string text_of(const link_key& key);
[[nodiscard]] link_key public_half_of(const link_key& secret);
[[nodiscard]] key_pair make_key_pair();

/// NAME.secret, which only its owner may read, and NAME.public. Throws std::runtime_error if one of
/// them is there already or cannot be written; then neither is new.
void write_key_pair(const std::string& name, const key_pair& keys);

// A file is named as usual, or "credential:NAME" for one that the service manager hands over
// (LoadCredential=). These throw std::runtime_error that names the file, and the line if there is
// one to blame.
[[nodiscard]] link_key read_secret_key(const std::string& file);
[[nodiscard]] link_key read_public_key(const std::string& file); ///< the only one in it
[[nodiscard]] std::vector<named_key> read_public_keys(const std::string& file); ///< at least one

/// A credential, and the service manager hands over none here: it may be as it should for all that
/// this process can see.
[[nodiscard]] bool is_for_the_service_alone(const std::string& file);

/// The only line of a file that others may not read, such as a password. Throws likewise.
[[nodiscard]] std::string read_secret_line(const std::string& file);

} // namespace l3
