// SPDX-License-Identifier: Apache-2.0
#include "daemon/device_probe.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace l3 {
namespace {

constexpr auto longest = std::chrono::seconds(30);

/// Its output goes where this program's goes; sockets and files stay here.
pid_t start(const std::vector<std::string>& command) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  pid_t child = 0;
  if (posix_spawn(&child, words.front(), &files, nullptr, words.data(), environ) != 0) child = 0;
  posix_spawn_file_actions_destroy(&files);
  return child;
}

} // namespace

device_probe::answer device_probe::ask(time_point now) {
  int status = 0;
  if (given_up_) {
    if (!is_over(status)) return answer::no;
    given_up_ = false;
  }
  if (child_ == 0) {
    child_ = start(command_);
    until_ = now + longest;
    return child_ == 0 ? answer::no : answer::not_yet;
  }
  if (is_over(status))
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? answer::yes : answer::no;
  if (now < until_) return answer::not_yet;
  end_(child_, SIGKILL);
  given_up_ = true;
  return answer::no;
}

device_probe::~device_probe() {
  if (child_ == 0) return;
  end_(child_, SIGKILL);
  int status = 0;
  (void)is_over(status);
}

bool device_probe::is_over(int& status) {
  const pid_t ended = waitpid(child_, &status, WNOHANG);
  if (ended == 0) return false;
  if (ended < 0) status = SIGKILL; // nothing says how it ended: not well
  child_ = 0;
  return true;
}

} // namespace l3
