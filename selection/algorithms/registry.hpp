// SPDX-License-Identifier: Apache-2.0
// The list of the algorithms that a sequence may use. A new algorithm needs only its header and an
// entry in this list.
#pragma once

#include "selection/algorithms/compute_quantities.hpp"
#include "selection/algorithms/decide.hpp"
#include "selection/algorithms/find_clusters.hpp"
#include "selection/algorithms/ignore_vetoes.hpp"
#include "selection/algorithms/judge_vetoes.hpp"
#include "selection/algorithms/keep_waveforms.hpp"
#include "selection/algorithms/match_ends.hpp"
#include "selection/algorithms/measure_pulses.hpp"
#include "selection/sequence/steps.hpp"

namespace l3 {

using algorithms = algorithm_list< //
    measure_pulses,                //
    find_clusters,                 //
    compute_quantities,            //
    match_ends,                    //
    judge_vetoes,                  //
    ignore_vetoes,                 //
    decide,                        //
    keep_waveforms>;

} // namespace l3
