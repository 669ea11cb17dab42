// SPDX-License-Identifier: Apache-2.0
// The algorithms that a sequence may name, a line each. A new one needs nothing more than its
// header and its line here.
#pragma once

#include "selection/algorithms/decide.hpp"
#include "selection/sequence/steps.hpp"

namespace l3 {

using algorithms = algorithm_list< //
    decide>;

} // namespace l3
