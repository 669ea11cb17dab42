// SPDX-License-Identifier: Apache-2.0
// The tokens by which a daemon proves that its sessions are its own (transport/link/session_token),
// for the lanes of this process and for those that earlier ones left on disk. With a spool they lie
// beside its segments, in a file that only their owner may read (docs/formats.md, section 11), so
// that the next process can prove the lanes that it finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <system_error>

#include "transport/link/session_token.hpp"

namespace l3 {

class lane_tokens {
public:
  /// More lanes on disk than this have no token after the next start.
  static constexpr std::size_t most = 4096;

  /// Draws a token; the session that it proves.
  [[nodiscard]] std::uint64_t new_session();

  /// Takes those of the lanes found on disk out of the folder's file, and puts them there anew
  /// beside those of this process. Before any block of this process goes there. If that fails, the
  /// sessions of this process have no token: the next process could not show it, and its blocks
  /// would be refused. What failed; empty: nothing.
  [[nodiscard]] std::string keep_in(const std::filesystem::path& folder,
                                    std::span<const std::uint64_t> found);

  static constexpr const char* file_name = "tokens.kl3t";

  /// Null: the session has none. Any thread, once all of the above is done.
  [[nodiscard]] const session_token* find(std::uint64_t session) const;

private:
  std::map<std::uint64_t, session_token> tokens_; ///< by session
};

} // namespace l3
