// SPDX-License-Identifier: Apache-2.0
// The headers that most tests include, compiled once for all of them (cmake/precompiled.cmake).
#include <gtest/gtest.h>

#include "cmake/precompiled.hpp"
