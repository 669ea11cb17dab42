// SPDX-License-Identifier: Apache-2.0
// The `main` of a fuzz target that is built without libFuzzer: gives the target every file of the
// folders named on the command line, and changed copies of each file. The changes are the same in
// every run. An input that fails is left in the file FAILED.
//
//   NAME_fuzz FAILED COPIES FOLDER…
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

namespace {

using bytes = std::vector<std::uint8_t>;

constexpr std::size_t longest_change = 16; // bytes
constexpr unsigned patience = 20;          // s for one input

const char* failed_path = nullptr;
const bytes* input = nullptr; // that the target has now

/// Calls only what a signal handler may call.
void keep_input(int signal) {
  const int file = ::open(failed_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && ::write(file, input->data(), input->size()) >= 0) ::close(file);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void run(const bytes& text) {
  input = &text;
  ::alarm(patience);
  LLVMFuzzerTestOneInput(text.data(), text.size());
}

std::vector<bytes> read_all(int folders, char** names) {
  std::vector<bytes> inputs;
  for (int f = 0; f < folders; ++f) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(names[f]))
      files.push_back(entry.path());
    std::ranges::sort(files); // the same changes to each, however the folder is ordered
    for (const auto& path : files) {
      std::ifstream file(path, std::ios::binary);
      inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  return inputs;
}

class changes {
public:
  explicit changes(const std::vector<bytes>& inputs) : inputs_(inputs) {}

  /// A copy that differs from `text` in one to four places.
  bytes change(bytes text) {
    for (auto n = 1 + below(4); n > 0; --n) change_once(text);
    return text;
  }

private:
  void change_once(bytes& text) {
    const auto at = text.begin() + static_cast<std::ptrdiff_t>(below(text.size() + 1));
    const auto rest = static_cast<std::size_t>(text.end() - at);
    const auto some = static_cast<std::ptrdiff_t>(below(std::min(rest, longest_change) + 1));
    switch (below(6)) {
    case 0: // a bit
      if (rest != 0) *at = static_cast<std::uint8_t>(*at ^ 1U << below(8));
      break;
    case 1: std::generate(at, at + some, [this] { return octet(); }); break;
    case 2: text.insert(at, 1 + below(longest_change), octet()); break;
    case 3: text.erase(at, at + some); break;
    case 4: text.erase(at, text.end()); break;
    default: { // the end of another input
      const bytes& other = inputs_[below(inputs_.size())];
      const auto from = other.begin() + static_cast<std::ptrdiff_t>(below(other.size() + 1));
      text.erase(at, text.end());
      text.insert(text.end(), from, other.end());
    }
    }
  }

  std::size_t below(std::size_t bound) { return random_() % bound; }
  std::uint8_t octet() { return static_cast<std::uint8_t>(random_()); }

  const std::vector<bytes>& inputs_;
  std::mt19937_64 random_{1};
};

} // namespace

int main(int count, char** words) {
  if (count < 4) {
    std::fprintf(stderr, "usage: %s FAILED COPIES FOLDER…\n", words[0]);
    return 64;
  }
  failed_path = words[1];
  const auto copies = std::strtoul(words[2], nullptr, 10);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM})
    ::signal(signal, keep_input);

  const auto inputs = read_all(count - 3, words + 3);
  if (inputs.empty()) {
    std::fprintf(stderr, "no inputs\n");
    return 65;
  }
  for (const auto& text : inputs) run(text);
  changes random(inputs);
  for (const auto& text : inputs) {
    for (unsigned long n = 0; n < copies; ++n) run(random.change(text));
  }
  std::fprintf(stderr, "number_of_executed_units: %zu\n", inputs.size() * (1 + copies));
  return 0;
}
