# SPDX-License-Identifier: Apache-2.0
# With L3_HIP=ON, finds hipcc and AMD's runtime and builds the hip executor; sets L3_HAVE_HIP.
#
# CMake's own HIP language needs ROCm's packages; Debian's hipcc is an ordinary compiler.
# l3_hip_library(NAME SOURCES…): a library of sources that hipcc compiles for all of L3_HIP_ARCHITECTURES.
set(L3_HAVE_HIP OFF)
if(L3_HIP)
  find_program(L3_HIPCC hipcc REQUIRED DOC "compiles kernels for AMD's devices")
  find_library(L3_HIP_RUNTIME amdhip64 REQUIRED DOC "the runtime of AMD's devices")
  set(L3_HAVE_HIP ON)
  function(l3_hip_library name)
    set(objects "")
    foreach(source IN LISTS ARGN)
      get_filename_component(file ${source} NAME)
      set(object ${CMAKE_CURRENT_BINARY_DIR}/${file}.o)
      list(TRANSFORM L3_HIP_ARCHITECTURES PREPEND --offload-arch= OUTPUT_VARIABLE architectures)
      # No contraction of floating-point operations: decisions are the same on every executor.
      add_custom_command(OUTPUT ${object}
        COMMAND ${L3_HIPCC} -std=c++20 -O3 -fPIC -ffp-contract=off -Wall -Wextra -I${PROJECT_SOURCE_DIR} ${architectures}
          -MD -MT ${object} -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
        DEPENDS ${source} DEPFILE ${object}.d VERBATIM)
      list(APPEND objects ${object})
    endforeach()
    set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    add_library(${name} STATIC ${objects})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${name} PUBLIC ${L3_HIP_RUNTIME})
  endfunction()
endif()
message(STATUS "hip executor: ${L3_HAVE_HIP}")
