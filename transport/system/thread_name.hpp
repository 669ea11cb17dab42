// SPDX-License-Identifier: Apache-2.0
// Sets the name of a thread for `top -H` and debuggers: the name in docs/architecture.md. A thread
// calls it first.
#pragma once

#include <pthread.h>

namespace l3 {

/// At most 15 characters, the kernel's limit.
inline void name_this_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

} // namespace l3
