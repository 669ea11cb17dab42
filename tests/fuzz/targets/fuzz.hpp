// SPDX-License-Identifier: Apache-2.0
// What every fuzz target uses: the input, read as a small program of numbers and bytes; the claim
// that something holds whatever the input is; and a folder in memory for what is read from files.
// An input that has run out reads as zeros, so that every input means something.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "transport/format/endian.hpp"

namespace l3::test {

/// Ends the process if it does not hold: libFuzzer then keeps the input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

class fuzz_input {
public:
  fuzz_input(const std::uint8_t* data, std::size_t bytes)
      : rest_(reinterpret_cast<const std::byte*>(data), bytes) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }

  /// Little-endian.
  template <class T>
  T number() {
    T value{};
    const auto n = std::min(sizeof value, rest_.size());
    if (n != 0) std::memcpy(&value, rest_.data(), n);
    rest_ = rest_.subspan(n);
    return value;
  }
  std::uint8_t byte() { return number<std::uint8_t>(); }
  /// 0 … bound − 1, of one byte.
  std::uint32_t below(std::uint32_t bound) { return byte() % bound; }
  bool flag() { return (byte() & 1) != 0; }

  /// At most so many.
  std::span<const std::byte> bytes(std::size_t n) {
    const auto part = rest_.first(std::min(n, rest_.size()));
    rest_ = rest_.subspan(part.size());
    return part;
  }
  std::span<const std::byte> rest() { return bytes(rest_.size()); }
  std::string_view text() {
    const auto all = rest();
    return {reinterpret_cast<const char*>(all.data()), all.size()};
  }

  /// Changes a few bytes, as a line or a disk would.
  void damage(std::span<std::byte> what) {
    for (auto n = below(4); n > 0 && !what.empty(); --n) {
      const auto at = number<std::uint16_t>() % what.size();
      what[at] ^= static_cast<std::byte>(byte());
    }
  }

private:
  std::span<const std::byte> rest_;
};

/// What a target does with one input.
void fuzz(fuzz_input& in);

/// What is not taken is refused with a text.
template <class F>
void taken_or_refused(const F& f) {
  try {
    f();
  } catch (const std::exception& e) {
    require(*e.what() != '\0', "a refusal says why");
  }
}

template <class T>
void put(std::vector<std::byte>& to, const T& value) {
  to.resize(to.size() + sizeof value);
  store(to.data() + to.size() - sizeof value, value);
}
inline void put_bytes(std::vector<std::byte>& to, std::span<const std::byte> from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// A folder in memory, emptied after every input.
class scratch_of_fuzz {
public:
  scratch_of_fuzz() {
    std::string name = (std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp");
    name += "/l3-fuzz-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr, "a folder can be made");
    path_ = name;
  }
  ~scratch_of_fuzz() { std::filesystem::remove_all(path_); }
  scratch_of_fuzz(const scratch_of_fuzz&) = delete;
  scratch_of_fuzz& operator=(const scratch_of_fuzz&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      std::filesystem::remove_all(entry);
  }

private:
  std::string path_;
};

inline void write_file(const std::filesystem::path& path, std::span<const std::byte> content) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  require(file != nullptr, "a file can be written");
  require(content.empty() || std::fwrite(content.data(), content.size(), 1, file) == 1,
          "it has room");
  std::fclose(file);
}

} // namespace l3::test
