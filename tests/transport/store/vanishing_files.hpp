// SPDX-License-Identifier: Apache-2.0
// A hand that removes, moves, cuts and replaces the files of a folder while a program uses them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace l3::test {

enum class deed : std::uint8_t {
  remove,
  move_away,
  cut_to_nothing,
  cut_a_part,
  write_behind,
  replace_by_link,
  replace_by_file,
  replace_by_long_file,
  remove_folder,
  move_folder,
  count_
};
inline constexpr int deeds = static_cast<int>(deed::count_);

/// The folder has to be in another one, which has room for what the hand moves away.
class tidy_hand {
public:
  tidy_hand(std::filesystem::path folder, std::filesystem::path elsewhere)
      : folder_(std::move(folder)), elsewhere_(std::move(elsewhere)),
        target_(elsewhere_ / "target") {
    std::ofstream(target_) << target_text;
  }

  /// To one of the files with this beginning; nothing if there is none.
  void act(deed what, const std::string& prefix, std::mt19937& random) {
    namespace fs = std::filesystem;
    if (what == deed::remove_folder) {
      fs::remove_all(folder_);
      return;
    }
    const fs::path away = elsewhere_ / ("away-" + std::to_string(++moved_));
    if (what == deed::move_folder) {
      fs::rename(folder_, away);
      return;
    }
    std::vector<fs::path> files;
    for (const auto& f : fs::directory_iterator(folder_))
      if (f.is_regular_file() && !f.is_symlink() &&
          f.path().filename().string().starts_with(prefix))
        files.push_back(f.path());
    if (files.empty()) return;
    const fs::path file = files[random() % files.size()];
    const auto size = fs::file_size(file);
    switch (what) {
    case deed::remove: fs::remove(file); break;
    case deed::move_away: fs::rename(file, away); break;
    case deed::cut_to_nothing: fs::resize_file(file, 0); break;
    case deed::cut_a_part: fs::resize_file(file, size - random() % (size + 1)); break;
    case deed::write_behind: std::ofstream(file, std::ios::app) << "tidy"; break;
    case deed::replace_by_link:
      fs::remove(file);
      fs::create_symlink(target_, file);
      break;
    case deed::replace_by_file:
      fs::remove(file);
      std::ofstream(file) << "tidy";
      break;
    case deed::replace_by_long_file:
      fs::remove(file);
      std::ofstream(file) << "tidy";
      fs::resize_file(file, size + long_file);
      break;
    default: break;
    }
  }

  /// What the hand put there goes, so that a start may find a folder as it should be.
  void take_back(const std::string& prefix) {
    namespace fs = std::filesystem;
    std::vector<fs::path> strange;
    for (const auto& f : fs::directory_iterator(folder_)) {
      if (!f.path().filename().string().starts_with(prefix)) continue;
      std::string begin(4, ' ');
      if (!f.is_symlink()) std::ifstream(f.path()).read(begin.data(), 4);
      if (f.is_symlink() || begin == "tidy") strange.push_back(f.path());
    }
    for (const auto& f : strange) fs::remove(f);
  }

  [[nodiscard]] bool target_is_whole() const {
    std::ifstream in(target_);
    std::string text;
    return std::getline(in, text) && text == target_text && in.peek() == EOF;
  }

private:
  static constexpr std::uintmax_t long_file = 1 << 20; ///< longer than any of a test
  static constexpr const char* target_text = "not yours";

  std::filesystem::path folder_;
  std::filesystem::path elsewhere_;
  std::filesystem::path target_;
  int moved_ = 0;
};

} // namespace l3::test
