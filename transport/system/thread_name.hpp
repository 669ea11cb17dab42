// SPDX-License-Identifier: Apache-2.0
// The name under which the operating system shows a thread, in `top -H` and in a debugger: the one
// that docs/architecture.md gives it. Called by the thread itself as the first thing it does.
#pragma once

#include <pthread.h>

namespace l3 {

/// At most 15 characters: the kernel takes no more.
inline void name_this_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

} // namespace l3
