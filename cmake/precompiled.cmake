# SPDX-License-Identifier: Apache-2.0
# Library headers are most of what a source compiles, so they are precompiled. Everything also builds without that, but
# more slowly: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON.
#
# A precompiled header fits only sources with the same options, so rooms that share it have the same options.
function(l3_precompile name header)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "// SPDX-License-Identifier: Apache-2.0\n")
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE l3_options)
  target_precompile_headers(${name} PRIVATE ${header})
endfunction()

# Gives a precompiled header to every target of this folder.
function(l3_use_precompiled name)
  get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "STATIC|EXECUTABLE")
      target_precompile_headers(${target} REUSE_FROM ${name})
    endif()
  endforeach()
endfunction()

l3_precompile(l3_precompiled ${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp)
target_compile_options(l3_precompiled PRIVATE ${l3_outward_flags})
target_link_libraries(l3_precompiled PRIVATE Boost::headers)
