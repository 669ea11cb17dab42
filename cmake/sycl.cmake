# SPDX-License-Identifier: Apache-2.0
# With L3_SYCL=ON, finds an installed AdaptiveCpp (CMAKE_PREFIX_PATH) and builds the sycl executor: L3_HAVE_SYCL says so.
#
# What the executor compiles for is AdaptiveCpp's own ACPP_TARGETS; unset, its compiler for processors without a plugin.
# l3_is_sycl(TARGET SOURCES…): these sources of the target are compiled by AdaptiveCpp.
set(L3_HAVE_SYCL OFF)
if(L3_SYCL)
  if(NOT ACPP_TARGETS AND NOT DEFINED ENV{ACPP_TARGETS})
    set(ACPP_TARGETS "omp.library-only" CACHE STRING "what AdaptiveCpp compiles for")
  endif()
  find_package(AdaptiveCpp REQUIRED)
  set(L3_HAVE_SYCL ON)
  function(l3_is_sycl target)
    add_sycl_to_target(TARGET ${target} SOURCES ${ARGN})
    # No contraction of floating point: decisions are the same on every executor. AdaptiveCpp's clang contracts unless it is
    # told. Its headers are not free of what we take for errors.
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off -Wno-error)
  endfunction()
endif()
message(STATUS "sycl executor: ${L3_HAVE_SYCL}")
