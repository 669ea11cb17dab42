// SPDX-License-Identifier: Apache-2.0
// Reads a file of a store once more, in steps, and finds which of the blocks that should be in it
// are there. The file may have a gibibyte, and a hand that touches a whole store touches thousands
// of files: the thread that reads has other work between two steps.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "transport/store/block_file.hpp"
#include "transport/store/block_tally.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

class file_reading {
public:
  /// `listed` should be in the file, `lost` was in it once. The file was seen as `as`.
  file_reading(std::uint64_t number, const file_look& as, session_tallies listed,
               session_tallies lost);
  ~file_reading() = default;
  file_reading(const file_reading&) = delete;
  file_reading& operator=(const file_reading&) = delete;

  /// Begins, or goes on. True: it has come to its end. `enough` is asked between two blocks, and
  /// once a MiB where there is none; `a_step`: this far it goes in any case.
  [[nodiscard]] bool go_on(const held_folder& folder, const std::string& name,
                           const stop_question& enough, bool a_step);

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const file_look& as() const { return as_; }
  [[nodiscard]] const session_tallies& lost_before() const { return lost_before_; }

  // --- at its end ---

  [[nodiscard]] const session_tallies& listed() const { return listed_; } ///< what of it is there
  [[nodiscard]] const session_tallies& lost() const { return lost_; }     ///< likewise
  /// Set: the disk refuses a part, and what is there is not known.
  [[nodiscard]] const std::error_code& error() const { return error_; }

private:
  [[nodiscard]] bool is_enough();
  void read_blocks();
  [[nodiscard]] bool read_rest();
  void take(const stored_block& block);
  [[nodiscard]] bool has_all() const {
    return found_ >= blocks_ || seen_.size() >= most_blocks_in_file;
  }

  std::uint64_t number_;
  file_look as_;
  session_tallies listed_before_;
  session_tallies lost_before_;
  std::uint64_t blocks_ = 0; ///< in both
  std::uint64_t found_ = 0;  ///< of these
  bool may_pause_ = false;
  bool a_step_ = false; ///< the next answer to `enough` does not count
  const stop_question* enough_ = nullptr;
  std::optional<store_file> file_;
  bool blocks_are_read_ = false;
  std::uint64_t reached_ = 0; ///< up to here the disk gives what is there
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen_; ///< a block that stands twice is one
  session_tallies listed_;
  session_tallies lost_;
  std::error_code error_;
};

} // namespace l3
