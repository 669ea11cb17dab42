// SPDX-License-Identifier: Apache-2.0
// A process with a spool is killed, again and again, at moments that nobody chose. What it said was
// on the disk is there, what it released is gone, and every block that comes back is whole.
#include <atomic>
#include <csignal>
#include <map>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/transport/outbox/spool_blocks.hpp"
#include "transport/outbox/spool.hpp"

namespace l3 {
namespace {

constexpr std::uint64_t rounds = 100;
constexpr std::size_t payload = 500'000; // many pages: a write can be torn

/// What the process has said so far; it lives on in shared memory.
struct said {
  std::atomic<std::uint64_t> appended{0};  ///< is on the disk
  std::atomic<std::uint64_t> releasing{0}; ///< was about to be released
  std::atomic<std::uint64_t> released{0};
};

class shared_said {
public:
  shared_said()
      : memory_(::mmap(nullptr, sizeof(said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0)),
        said_(new (memory_) said) {}
  ~shared_said() { ::munmap(memory_, sizeof(said)); }
  shared_said(const shared_said&) = delete;
  shared_said& operator=(const shared_said&) = delete;
  said* operator->() const { return said_; }

private:
  void* memory_;
  said* said_;
};

spool_settings settings_of(const std::string& folder) {
  auto settings = test::small_spool(folder, mebibytes(8).bytes);
  settings.size = mebibytes(256);
  return settings;
}

/// Appends and releases until it is killed.
[[noreturn]] void live(const std::string& folder, std::uint64_t session, const shared_said& say) {
  spool disk(settings_of(folder));
  std::mt19937 random(static_cast<std::uint32_t>(session));
  const std::jthread releasing([&](const std::stop_token& stop) {
    std::mt19937 chance(static_cast<std::uint32_t>(session) + 1);
    while (!stop.stop_requested()) {
      const std::uint64_t appended = say->appended;
      if (appended <= say->released || chance() % 4 != 0) {
        std::this_thread::yield();
        continue;
      }
      const auto up_to = say->released + 1 + chance() % (appended - say->released);
      say->releasing = up_to;
      disk.release(session, up_to);
      say->released = up_to;
    }
  });
  for (std::uint64_t i = 1;; ++i) {
    if (disk.append(test::spool_block(session, i, payload))) ::_exit(1);
    say->appended = i;
  }
}

TEST(spool_crash, keeps_what_it_said_was_on_disk_through_a_hundred_kills) {
  const test::scratch_folder folder;
  std::mt19937 random(2026);
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> expected; // first, last
  std::uint64_t torn = 0;
  std::uint64_t seen = 0;
  for (std::uint64_t session = 1; session <= rounds; ++session) {
    const shared_said said;
    const auto child = ::fork();
    if (child == 0) live(folder.path(), session, said);
    // Sometimes at its very start, while it recovers what the others left.
    const std::uint64_t enough = random() % 10;
    int state = 0;
    while (said->appended < enough && ::waitpid(child, &state, WNOHANG) == 0) {
      std::this_thread::yield();
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &state, 0);
    ASSERT_TRUE(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL) << "it ended by itself";

    spool disk(settings_of(folder.path()));
    torn += disk.found().torn_tails;
    EXPECT_LE(disk.found().torn_tails, 1U);
    EXPECT_EQ(disk.found().damaged, 0U);
    const std::uint64_t appended = said->appended;
    const auto last =
        test::last_of(disk, session).value_or(std::max<std::uint64_t>(appended, said->releasing));
    EXPECT_GE(last, appended) << "session " << session;
    EXPECT_LE(last, appended + 1) << "session " << session;
    const auto first = test::first_of(disk, session).value_or(last + 1);
    EXPECT_GT(first, said->released) << "session " << session;
    EXPECT_LE(first, std::max(said->releasing, said->released) + 1) << "session " << session;
    if (first <= last) expected[session] = {first, last};

    // What other processes left is still there, until it is drained.
    std::uint64_t blocks = 0;
    for (const auto& [of, lane] : expected) blocks += lane.second - lane.first + 1;
    ASSERT_EQ(disk.totals().blocks, blocks) << "session " << session;
    while (expected.size() > 5 || (random() % 2 == 0 && !expected.empty())) {
      const auto [oldest, lane] = *expected.begin();
      EXPECT_EQ(test::drain(disk, oldest, payload),
                (test::drained{test::numbers(lane.first, lane.second), {}}));
      disk.release(oldest, lane.second);
      seen += lane.second - lane.first + 1;
      expected.erase(oldest);
    }
  }
  EXPECT_GT(seen, rounds / 2) << "there was something to lose";
  RecordProperty("torn", static_cast<int>(torn));
  std::printf("%llu blocks came back, %llu ends were torn\n", static_cast<unsigned long long>(seen),
              static_cast<unsigned long long>(torn));
}

} // namespace
} // namespace l3
