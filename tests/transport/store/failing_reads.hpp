// SPDX-License-Identifier: Apache-2.0
// A disk that refuses to be read, to say what a file is, or to cut it, for a while: a test program
// that links this has its own pread(), fstat() and ftruncate().
#pragma once

#include <gtest/gtest.h>

#include <system_error>

namespace l3::test {

/// Of pread() in this thread: so many calls work, then so many are refused, and then all work.
inline thread_local int reads_before = 0;
inline thread_local int reads_refused = 0;

class failing_reads {
public:
  failing_reads(int before, int refused) {
    reads_before = before;
    reads_refused = refused;
  }
  ~failing_reads() { reads_before = reads_refused = 0; }
  failing_reads(const failing_reads&) = delete;
  failing_reads& operator=(const failing_reads&) = delete;

  /// There were as many calls as had to be refused.
  [[nodiscard]] static bool all_done() { return reads_refused == 0; }
};

/// The same of fstat(); what it says then.
inline thread_local int looks_before = 0;
inline thread_local int looks_refused = 0;
inline thread_local int look_error = 0;

class failing_looks {
public:
  failing_looks(int before, int refused, int error) {
    looks_before = before;
    looks_refused = refused;
    look_error = error;
  }
  ~failing_looks() { looks_before = looks_refused = 0; }
  failing_looks(const failing_looks&) = delete;
  failing_looks& operator=(const failing_looks&) = delete;

  /// Some had to be refused, and all were.
  [[nodiscard]] static bool all_done() { return looks_refused == 0; }
};

/// Calls of ftruncate() in this thread that are refused.
inline thread_local int cuts_refused = 0;

/// A step that the disk refuses is done again.
template <class Step>
void until_it_works(const Step& step) {
  std::error_code error;
  for (int times = 0; times < 10; ++times)
    if (!(error = step())) return;
  ADD_FAILURE() << error.message();
}

} // namespace l3::test
