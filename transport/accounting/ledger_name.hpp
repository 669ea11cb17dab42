// SPDX-License-Identifier: Apache-2.0
// Names that no ledger may have. A ledger takes the place of the file of its name, and a store or a
// spool makes its files when it needs them (docs/formats.md, sections 9 and 11): one would replace
// the other, or be read as one.
#pragma once

#include <string_view>

namespace l3 {

/// Of a file's name without its folder: a store or a spool may give it to a file of its own, as
/// blocks-000001-run000007-node3.json.
[[nodiscard]] constexpr bool is_name_of_stored_data(std::string_view name) {
  for (const std::string_view beginning : {"blocks-", "spool-"})
    if (name.starts_with(beginning) && name.size() > beginning.size() &&
        name[beginning.size()] >= '0' && name[beginning.size()] <= '9')
      return true;
  return name.find(".kl3") != name.npos;
}

} // namespace l3
