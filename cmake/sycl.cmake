# SPDX-License-Identifier: Apache-2.0
# With L3_SYCL=ON, finds an installed AdaptiveCpp (CMAKE_PREFIX_PATH) and builds the sycl executor; sets L3_HAVE_SYCL.
#
# The executor's targets are AdaptiveCpp's ACPP_TARGETS; unset, its compiler for CPUs without a plugin.
# l3_is_sycl(TARGET SOURCES…): compiles these sources of the target with AdaptiveCpp.
set(L3_HAVE_SYCL OFF)
if(L3_SYCL)
  if(NOT ACPP_TARGETS AND NOT DEFINED ENV{ACPP_TARGETS})
    set(ACPP_TARGETS "omp.library-only" CACHE STRING "what AdaptiveCpp compiles for")
  endif()
  find_package(AdaptiveCpp REQUIRED)
  set(L3_HAVE_SYCL ON)
  function(l3_is_sycl target)
    add_sycl_to_target(TARGET ${target} SOURCES ${ARGN})
    # No contraction of floating-point operations: decisions are the same on every executor. AdaptiveCpp's clang contracts by
    # default. Its headers cause warnings that we treat as errors.
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off -Wno-error)
  endfunction()
endif()
message(STATUS "sycl executor: ${L3_HAVE_SYCL}")
