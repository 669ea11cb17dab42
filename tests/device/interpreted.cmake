# SPDX-License-Identifier: Apache-2.0
# l3_interpreted_program(PROGRAM FOLDER): PROGRAM_interpreted, which has the objects of a program and is linked with the imagined
# device instead of cudart.
function(l3_interpreted_program program folder)
  set(name ${program}_interpreted)
  get_target_property(libraries ${program} LINK_LIBRARIES)
  add_executable(${name} $<TARGET_OBJECTS:${program}>)
  target_link_libraries(${name} PRIVATE ${libraries} l3_imagined_device)
  set_target_properties(${name} PROPERTIES CUDA_RUNTIME_LIBRARY None LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY ${folder})
endfunction()

# l3_interpreted(PROGRAM): the same of a program of cases, which run once converged and once at random.
function(l3_interpreted program)
  set(name ${program}_interpreted)
  l3_interpreted_program(${program} ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  add_test(NAME ${name}_at_random COMMAND ${name})
  set(device "L3_REQUIRE_GPU=1;L3_DEVICE_SCHEDULE")
  set(report ${PROJECT_BINARY_DIR}/tests/device/lines/${name})
  set_property(GLOBAL APPEND PROPERTY l3_line_reports ${report} ${report}_at_random)
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS device FIXTURES_SETUP device_lines
    ENVIRONMENT "${device}=converged;L3_DEVICE_REPORT=${report}")
  set_tests_properties(${name}_at_random PROPERTIES TIMEOUT 600 LABELS device FIXTURES_SETUP device_lines
    ENVIRONMENT "${device}=random:1:8;L3_DEVICE_REPORT=${report}_at_random")
endfunction()

# l3_executed_lines(): a test that the programs of cases executed all lines of device code but those that a list explains.
function(l3_executed_lines)
  get_property(reports GLOBAL PROPERTY l3_line_reports)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/tests/device/lines)
  add_test(NAME device_lines COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/device/lines.py ${reports})
  set_tests_properties(device_lines PROPERTIES LABELS device FIXTURES_REQUIRED device_lines)
endfunction()
