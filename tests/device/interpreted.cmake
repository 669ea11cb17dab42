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
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS device ENVIRONMENT "${device}=converged")
  set_tests_properties(${name}_at_random PROPERTIES TIMEOUT 600 LABELS device ENVIRONMENT "${device}=random:1:8")
endfunction()
