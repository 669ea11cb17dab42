// SPDX-License-Identifier: Apache-2.0
// The headers of libraries that most sources include, compiled once for all of them
// (cmake/precompiled.cmake). Every source still includes what it uses.
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
