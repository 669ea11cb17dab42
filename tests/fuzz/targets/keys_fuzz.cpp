// SPDX-License-Identifier: Apache-2.0
// Key files and allow-lists of any bytes: keys, or a refusal that names the file and shows nothing
// that could be most of a secret. What is read and written again reads the same.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include "tests/fuzz/targets/fuzz.hpp"
#include "tests/fuzz/targets/scratch_of_fuzz.hpp"
#include "transport/link/link_keys.hpp"

namespace l3::test {
namespace {

class key_file {
public:
  explicit key_file(const std::string& folder) : path_(folder + "/keys") {}

  void take(std::span<const std::byte> content) const {
    write(content);
    std::vector<named_key> all;
    const bool good = read([&] { all = read_public_keys(path_); });
    require(good == !all.empty(), "there are keys, or it is refused");
    link_key one{};
    const bool is_one = read([&] { one = read_public_key(path_); });
    require(is_one == (all.size() == 1) && (!is_one || one == all[0].key), "one of one is that");
    const bool is_secret = read([&] { one = read_secret_key(path_); });
    const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    const bool says_public = text.find("# koto-l3 public key") != text.npos;
    require(!says_public || !is_secret, "a public key is no secret one");
    require(!is_one || says_public || (is_secret && one == all[0].key),
            "a secret key is a key, too");
    if (good) write_again(all);
  }

private:
  void write(std::span<const std::byte> content) const {
    write_file(path_, content);
    require(::chmod(path_.c_str(), 0600) == 0, "it is ours");
  }

  /// Whether it is taken.
  template <class Read>
  bool read(const Read& f) const {
    try {
      f();
      return true;
    } catch (const std::runtime_error& e) {
      const std::string said = e.what();
      require(said.starts_with(path_), "a refusal names the file");
      std::string told = said.substr(path_.size());
      std::erase_if(told, [](char c) { return c >= '0' && c <= '9'; });
      require(std::ranges::count(refusals, told) == 1, "a refusal shows nothing of the file");
      return false;
    }
  }

  /// But for the numbers.
  static constexpr std::array<std::string_view, 5> refusals{
      ":: no key: a key is  characters of Z",
      " holds no key",
      " holds  keys, not one",
      " holds a secret key; a public key is needed here",
      " holds a public key; a secret key is needed here",
  };

  void write_again(const std::vector<named_key>& all) const {
    std::string text;
    for (const auto& k : all) text += text_of(k.key) + (k.name.empty() ? "" : " " + k.name) + "\n";
    write(std::as_bytes(std::span(text)));
    const auto again = read_public_keys(path_);
    require(again.size() == all.size(), "as many are written as were read");
    for (std::size_t k = 0; k < all.size(); ++k)
      require(again[k].key == all[k].key && again[k].name == all[k].name, "they are the same");
  }

  std::string path_;
};

} // namespace
} // namespace l3::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3::test;
  static const scratch_of_fuzz folder;
  static const key_file file(folder.path());
  fuzz_input in(data, bytes);
  file.take(in.rest());
  return 0;
}
