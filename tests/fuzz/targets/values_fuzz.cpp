// SPDX-License-Identifier: Apache-2.0
// What another program may have written: a ledger, or values under the keys of a farm. Each is
// taken, or refused with a text. What is taken is written and read the same.
#include <string>

#include "daemon/farm/etcd_client.hpp"
#include "daemon/farm/farm_values.hpp"
#include "tests/fuzz/targets/fuzz.hpp"
#include "transport/accounting/ledger.hpp"

namespace l3::test {
namespace {

template <class Read>
void take(std::string_view text, Read read) {
  const auto value = read(text);
  require(read(written(value)) == value, "what is written reads the same");
}

void take_keys(fuzz_input& in) {
  constexpr std::string_view kinds[] = {farm_keys::members, farm_keys::nodes, farm_keys::armed,
                                        farm_keys::order,   farm_keys::now,   ""};
  std::vector<etcd_keys> found(3);
  while (!in.empty()) {
    etcd_keys& to = found[in.below(3)];
    std::string name = "/koto-l3/" + std::string(kinds[in.below(std::size(kinds))]);
    for (auto n = in.below(4); n > 0; --n) name += static_cast<char>(in.byte());
    const auto value = in.bytes(in.byte());
    to.keys.push_back({name, {reinterpret_cast<const char*>(value.data()), value.size()}, 1, 2});
  }
  static_cast<void>(read_view("/koto-l3/", found));
}

void take_ledger(std::string_view text) {
  const ledger l = ledger_from_json(text);
  const std::string json = to_json(l);
  require(to_json(ledger_from_json(json)) == json, "what is written reads the same");
}

void take_base64(std::string_view text) {
  require(from_base64(to_base64(text)) == text, "what is coded reads the same");
  if (const auto b = from_base64(text))
    require(b->size() <= text.size(), "bytes are fewer than digits");
}

} // namespace

void fuzz(fuzz_input& in) {
  const auto what = in.below(6);
  taken_or_refused([&] {
    switch (what) {
    case 0: take(in.text(), read_member); break;
    case 1: take(in.text(), read_order); break;
    case 2: take(in.text(), read_reply); break;
    case 3: take_keys(in); break;
    case 4: take_base64(in.text()); break;
    default: take_ledger(in.text());
    }
  });
}

} // namespace l3::test
