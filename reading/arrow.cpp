// SPDX-License-Identifier: Apache-2.0
// Release callbacks for Arrow's C interfaces
// (https://arrow.apache.org/docs/format/CDataInterface.html), for bindings to scripting languages.
#include <atomic>
#include <cstdint>

#pragma GCC visibility push(default)
#include "reading/include/koto_l3/read.h"
#pragma GCC visibility pop

namespace {

struct schema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  schema** children;
  schema* dictionary;
  void (*release)(schema*);
  l3_read_held* held;
};

struct array {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  array** children;
  array* dictionary;
  void (*release)(array*);
  l3_read_held* held;
};

struct stream {
  int (*get_schema)(stream*, schema*);
  int (*get_next)(stream*, array*);
  const char* (*get_last_error)(stream*);
  void (*release)(stream*);
  l3_read_held* held;
};

template <class T>
void let_go(T* of) {
  l3_read_held* const held = of->held;
  of->release = nullptr;
  const auto schedule = held->schedule;
  const auto sweep = held->sweep;
  std::atomic_ref(held->released).store(1, std::memory_order_release); // the owner may free it now
  if (schedule != nullptr) static_cast<void>(schedule(sweep, nullptr));
}

template <class T>
void let_go_of_all(T* of) {
  for (std::int64_t i = 0; i < of->n_children; ++i)
    if (of->children[i]->release != nullptr) of->children[i]->release(of->children[i]);
  let_go(of);
}

} // namespace

extern "C" {
void l3_read_release_schema(void* of) { let_go_of_all(static_cast<schema*>(of)); }
void l3_read_release_array(void* of) { let_go_of_all(static_cast<array*>(of)); }
void l3_read_release_stream(void* of) { let_go(static_cast<stream*>(of)); }
}
