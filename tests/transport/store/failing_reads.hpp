// SPDX-License-Identifier: Apache-2.0
// A disk that refuses to be read, or to cut a file, for a while: a test program that links this has
// its own pread() and ftruncate().
#pragma once

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

/// Calls of ftruncate() in this thread that are refused.
inline thread_local int cuts_refused = 0;

} // namespace l3::test
