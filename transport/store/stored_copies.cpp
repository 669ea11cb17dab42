// SPDX-License-Identifier: Apache-2.0
#include "transport/store/stored_copies.hpp"

#include <algorithm>
#include <cstring>

#include <fcntl.h>

#include "transport/system/file_io.hpp"

namespace l3 {

namespace {

constexpr std::size_t step = std::size_t{64} << 10;

} // namespace

bool stored_copies::has(const event_place& at, std::span<const std::byte> event) {
  if (event.size() > left_) return false;
  if (!file_ || number_ != at.file) {
    std::error_code error;
    file_ = store_.open(names_.of(at.file), O_RDONLY, error);
    number_ = at.file;
    if (error) return false;
  }
  for (std::size_t done = 0; done < event.size(); done += part_.size()) {
    part_.resize(std::min(step, event.size() - done));
    left_ -= part_.size();
    if (read_all(file_.get(), at.offset + done, part_)) return false;
    if (std::memcmp(part_.data(), event.data() + done, part_.size()) != 0) return false;
  }
  return true;
}

} // namespace l3
