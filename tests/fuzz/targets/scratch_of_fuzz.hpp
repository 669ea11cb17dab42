// SPDX-License-Identifier: Apache-2.0
// A folder in memory for what is read from files, emptied after every input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

#include "tests/fuzz/targets/fuzz.hpp"

namespace l3::test {

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
  require(std::fwrite(content.data(), 1, content.size(), file) == content.size(), "it has room");
  std::fclose(file);
}

} // namespace l3::test
