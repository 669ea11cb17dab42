// SPDX-License-Identifier: Apache-2.0
// What another program may have written under the keys of a farm: a value, or a refusal that says
// why. One that is taken is written and read the same.
#include <stdexcept>
#include <string>

#include "daemon/farm/base64.hpp"
#include "daemon/farm/farm_values.hpp"
#include "tests/fuzz/targets/fuzz.hpp"

namespace l3::test {
namespace {

template <class Read>
void take(std::string_view text, Read read) {
  try {
    const auto value = read(text);
    require(read(written(value)) == value, "what is written reads the same");
  } catch (const std::exception& e) {
    require(*e.what() != '\0', "a refusal says why");
  }
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
  try {
    static_cast<void>(read_view("/koto-l3/", found));
  } catch (const std::runtime_error& e) {
    require(*e.what() != '\0', "a refusal says why");
  }
}

} // namespace
} // namespace l3::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3;
  test::fuzz_input in(data, bytes);
  switch (in.below(5)) {
  case 0: test::take(in.text(), read_member); break;
  case 1: test::take(in.text(), read_order); break;
  case 2: test::take(in.text(), read_reply); break;
  case 3: test::take_keys(in); break;
  default: {
    const std::string_view text = in.text();
    test::require(from_base64(to_base64(text)) == text, "what is coded reads the same");
    if (const auto b = from_base64(text))
      test::require(b->size() <= text.size(), "bytes are fewer than digits");
  }
  }
  return 0;
}
