// SPDX-License-Identifier: Apache-2.0
// Boost.JSON is header-only in this project: this source holds the only copy of its code.
#include <boost/json/src.hpp>
