// SPDX-License-Identifier: Apache-2.0
// Ledgers of any text, as another program may have written them: a ledger, or a refusal that says
// why. One that is taken is written and read the same, and none balances by figures that overflow.
#include <stdexcept>
#include <string>

#include "tests/fuzz/targets/fuzz.hpp"
#include "transport/accounting/ledger.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3;
  using test::require;
  ledger l;
  try {
    l = ledger_from_json(test::fuzz_input(data, bytes).text());
  } catch (const std::runtime_error& e) {
    require(*e.what() != '\0', "a refusal says why");
    return 0;
  }
  require(l.events.forwarded <= l.events.admitted || !l.balanced(), "a part is not above its sum");
  const std::string written = to_json(l);
  require(to_json(ledger_from_json(written)) == written, "what is written reads the same");
  return 0;
}
