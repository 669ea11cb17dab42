// SPDX-License-Identifier: Apache-2.0
// A folder that lives as long as its test, and what tests do with the files in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace l3 {

class temporary_folder {
public:
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "l3-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }

private:
  std::filesystem::path path_;
};

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Writes a vector or a text, byte by byte.
template <class Values>
void write_file(const std::filesystem::path& file, const Values& values) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(*values.data())));
}

/// The recordings in the folder that KOTO_L3_WAVEFORMS names; none if it is unset.
inline std::vector<std::filesystem::path> recorded_waveforms() {
  std::vector<std::filesystem::path> files;
  const char* folder = std::getenv("KOTO_L3_WAVEFORMS"); // NOLINT: before any thread
  if (folder == nullptr) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".u16") files.push_back(entry.path());
  return files;
}

/// Samples a waveform of the recording: its name says so.
inline std::uint32_t samples_of(const std::filesystem::path& recording) {
  return recording.stem().string().ends_with("_256") ? 256 : 64;
}

} // namespace l3
