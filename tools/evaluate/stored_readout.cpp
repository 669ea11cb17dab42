// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/stored_readout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/readout_list.hpp"
#include "tools/crates_option.hpp"

namespace l3 {

void agree(std::optional<readout>& stored, const readout& crates, const std::string& where) {
  if (stored && !(*stored == crates))
    throw command_error(fmt::format("{}: its readout is {}, and that of others {}: put the files "
                                    "of each into a folder of their own",
                                    where, in_words(crates), in_words(*stored)),
                        exit_bad_configuration);
  stored = crates;
}

readout readout_of(const std::optional<readout>& stored, const std::vector<std::string>& crates) {
  if (!stored) return readout_of(crates);
  if (!crates.empty() && !(readout_of(crates) == *stored))
    throw command_error(fmt::format("--crates is not the readout of the stored runs, {}: leave "
                                    "the option out",
                                    in_words(*stored)),
                        exit_bad_configuration);
  return *stored;
}

std::string in_words(const readout& crates) {
  return fmt::format("\"{}\"", fmt::join(show_crates(crates), "\", \""));
}

} // namespace l3
