// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace l3 {

/// Text that is never changed. Its copies are one: a hundred viewers of a page, fast and slow, cost
/// the memory of one.
class shared_text {
public:
  // NOLINTNEXTLINE(google-explicit-constructor): it is that text.
  shared_text(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}

  [[nodiscard]] const std::string& operator*() const { return *text_; }
  [[nodiscard]] const std::string* operator->() const { return text_.get(); }

private:
  std::shared_ptr<const std::string> text_;
};

} // namespace l3
