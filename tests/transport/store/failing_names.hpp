// SPDX-License-Identifier: Apache-2.0
// A system that refuses to say what a name leads to, and that remembers which folders were flushed
// and how often one was listed: a test program that links this has its own fstatat(), fsync() and
// fdopendir().
#pragma once

#include <set>

#include "transport/store/held_folder.hpp"

namespace l3::test {

/// Of fstatat() in this thread; 0: it works.
inline thread_local int name_error = 0;
/// What fsync() of this thread was called for.
inline thread_local std::set<ino_t> flushed;
/// Calls of fdopendir() in this thread: a listing of a folder is one.
inline thread_local int listings = 0;

class failing_names {
public:
  explicit failing_names(int error) { name_error = error; }
  ~failing_names() { name_error = 0; }
  failing_names(const failing_names&) = delete;
  failing_names& operator=(const failing_names&) = delete;
};

} // namespace l3::test
