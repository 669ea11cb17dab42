# SPDX-License-Identifier: Apache-2.0
# l3_sycl_at_run_time(KERNELS … SOURCES … LIBRARIES …): a test, sycl_at_run_time, that installs Intel's SYCL runtime from PyPI, then builds
# and runs a program of these sources. The program is one translation unit, which this machine's compiler compiles for the host,
# and the runtime for its device.
function(l3_sycl_at_run_time)
  cmake_parse_arguments(arg "" "" "KERNELS;SOURCES;LIBRARIES" ${ARGN})
  set(runtime ${CMAKE_CURRENT_BINARY_DIR}/sycl_runtime)
  set(content "")
  foreach(source IN LISTS arg_KERNELS)
    get_filename_component(source ${source} ABSOLUTE)
    string(APPEND content "#include \"${source}\"\n")
  endforeach()
  set(all ${CMAKE_CURRENT_BINARY_DIR}/sycl_at_run_time.cpp)
  file(CONFIGURE OUTPUT ${all} CONTENT "${content}" @ONLY)
  add_executable(sycl_at_run_time EXCLUDE_FROM_ALL ${all} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/gpu/memory/sycl_memory.cpp)
  target_compile_definitions(sycl_at_run_time PRIVATE L3_TESTED_DEVICE=sycl L3_KERNEL_SOURCE="${all}" L3_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_options(sycl_at_run_time PRIVATE -w)
  target_include_directories(sycl_at_run_time SYSTEM PRIVATE ${runtime}/include)
  target_link_libraries(sycl_at_run_time PRIVATE ${arg_LIBRARIES} l3_options l3_test_options GTest::gtest_main rapidcheck
    ${runtime}/lib/libsycl.so)
  set_target_properties(sycl_at_run_time PROPERTIES EXPORT_COMPILE_COMMANDS OFF RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME sycl_at_run_time COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/gpu/executors/sycl_at_run_time.py
    ${runtime} ${PROJECT_BINARY_DIR} $<TARGET_FILE:sycl_at_run_time>)
  set_tests_properties(sycl_at_run_time PROPERTIES TIMEOUT 900 LABELS sycl COST 15 SKIP_RETURN_CODE 77)
endfunction()
