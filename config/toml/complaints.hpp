// SPDX-License-Identifier: Apache-2.0
// What is wrong with a description that somebody wrote, said all at once: readers wrap each
// question to it in complaints::hear and go on after a mistake. Each complaint is a line that says
// where, what and what to do about it.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace l3 {

class complaints {
public:
  /// Calls ask(); what it throws is gathered.
  template <class F>
  void hear(const F& ask) {
    try {
      ask();
    } catch (const std::runtime_error& e) {
      add(e.what());
    }
  }
  void add(std::string_view text);
  /// Throws std::runtime_error with all of them, if there are any.
  void raise() const;

private:
  std::string lines_;
};

/// A number for a message: "0.5", "-inf".
[[nodiscard]] std::string in_words(double v);

/// The whole file. Throws std::runtime_error if it cannot be read.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);

} // namespace l3
