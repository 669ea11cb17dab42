// SPDX-License-Identifier: Apache-2.0
#include "tools/rehearsal/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/format/plain_text.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

std::filesystem::path program_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

std::optional<std::filesystem::path> find_program(const std::string& name) {
  const char* path = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): no thread changes it
  std::stringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto program = std::filesystem::path(folder.empty() ? "." : folder) / name;
    if (std::filesystem::is_regular_file(program) && access(program.c_str(), X_OK) == 0)
      return program;
  }
  return std::nullopt;
}

namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::system_error(error, std::generic_category(), what);
}

/// Runs in the child: executes the program, and ends with the parent. Calls only async-signal-safe
/// functions; writes an error to `failure`, which exec closes.
[[noreturn]] void become(const std::vector<char*>& argv, const char* output,
                         child_process::errors where, pid_t parent, int failure) {
  constexpr mode_t file_mode = 0644;
  constexpr int not_started = 127;
  const auto put = [&](const char* path, int flags, int at) {
    const int file = ::open(path, flags | O_CLOEXEC, file_mode);
    return file >= 0 && ::dup2(file, at) == at;
  };
  sigset_t none;
  ::sigemptyset(&none);
  // A terminal's Ctrl-C is for the parent, which ends its programs in order.
  const bool ready =
      ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::setpgid(0, 0) == 0 &&
      ::pthread_sigmask(SIG_SETMASK, &none, nullptr) == 0 &&
      ::signal(SIGPIPE, SIG_DFL) != SIG_ERR && put("/dev/null", O_RDONLY, STDIN_FILENO) &&
      (output == nullptr || put(output, O_WRONLY | O_CREAT | O_APPEND, STDOUT_FILENO)) &&
      (output == nullptr || where == child_process::errors::to_ours ||
       ::dup2(STDOUT_FILENO, STDERR_FILENO) == STDERR_FILENO);
  if (::getppid() != parent) ::_exit(not_started); // the parent has already ended
  if (ready) ::execv(argv[0], argv.data());
  const int error = errno;
  (void)!::write(failure, &error, sizeof error);
  ::_exit(not_started);
}

} // namespace

child_process::child_process(std::vector<std::string> arguments,
                             const std::filesystem::path& output, errors where) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1); // for the null pointer at the end
  for (auto& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("pipe", errno);
  const file_descriptor failure(ends[0]);
  file_descriptor told(ends[1]);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail(arguments[0], errno);
  if (pid_ == 0) become(argv, output.empty() ? nullptr : output.c_str(), where, parent, told.get());
  told = file_descriptor();
  int error = 0;
  if (::read(failure.get(), &error, sizeof error) != sizeof error) return; // it runs
  (void)::waitpid(pid_, nullptr, 0);
  fail(arguments[0], error);
}

child_process::child_process(child_process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), exit_code_(other.exit_code_) {}

child_process::~child_process() {
  if (pid_ > 0 && running()) {
    signal(SIGKILL);
    (void)wait(std::chrono::seconds(5));
  }
}

std::optional<int> child_process::wait(std::chrono::milliseconds time_limit,
                                       const std::function<bool()>& stop) {
  const auto deadline = std::chrono::steady_clock::now() + time_limit;
  while (!exit_code_) {
    int status = 0;
    const pid_t done = waitpid(pid_, &status, WNOHANG);
    if (done == pid_) {
      exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    } else if (done < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "waitpid");
    } else if (std::chrono::steady_clock::now() >= deadline || (stop && stop())) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  return exit_code_;
}

void child_process::signal(int number) {
  if (!exit_code_) kill(pid_, number);
}

std::string see_log(const std::filesystem::path& log) {
  constexpr std::size_t most_lines = 8;
  std::deque<std::string> last;
  std::ifstream in(log);
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    last.push_back(std::move(line));
    if (last.size() > most_lines) last.pop_front();
  }
  std::string text = "; see " + plain_line(log.string());
  for (const auto& line : last) text += "\n    " + line;
  return text;
}

namespace {

bool is_free(std::uint16_t port) {
  namespace asio = boost::asio;
  asio::io_context io;
  const auto address = asio::ip::make_address("127.0.0.1");
  boost::system::error_code error;
  const auto binds = [&](auto socket, const auto& endpoint) {
    socket.open(endpoint.protocol());
    socket.bind(endpoint, error);
    return !error;
  };
  return binds(asio::ip::udp::socket(io), asio::ip::udp::endpoint(address, port)) &&
         binds(asio::ip::tcp::socket(io), asio::ip::tcp::endpoint(address, port));
}

} // namespace

std::uint16_t free_ports(std::uint16_t count) {
  // Below the kernel's range for outgoing connections.
  constexpr std::uint16_t first = 10000;
  constexpr std::uint16_t last = 32000;
  constexpr int tries = 200;
  std::random_device random;
  for (int t = 0; t < tries; ++t) {
    const auto base = static_cast<std::uint16_t>(first + random() % (last - first - count));
    std::uint16_t n = 0;
    while (n < count && is_free(static_cast<std::uint16_t>(base + n))) ++n;
    if (n == count) return base;
  }
  throw std::runtime_error("no free ports on 127.0.0.1");
}

} // namespace l3
