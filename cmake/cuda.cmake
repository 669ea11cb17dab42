# SPDX-License-Identifier: Apache-2.0
# Finds the CUDA toolkit. L3_HAVE_CUDA says whether the cuda executor is built; l3_cuda_options carries its flags.
#
# The kernels of the daemon are compiled for every architecture of L3_CUDA_ARCHITECTURES, those that only tests and benches
# launch for L3_CUDA_TEST_ARCHITECTURES: each architecture takes as long to compile as the first, and the driver compiles PTX for
# newer devices. Preset `cuda`, used for the bundle for GPU hosts, compiles both for all.
set(L3_HAVE_CUDA OFF)
option(L3_CUDA_PATHS "device code names the folder of its source: in line tables, which profilers read, and in names" ON)
if(NOT L3_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_ARCHITECTURES ${L3_CUDA_ARCHITECTURES})
    enable_language(CUDA)
    set(L3_HAVE_CUDA ON)
  elseif(L3_CUDA STREQUAL "ON")
    message(FATAL_ERROR "L3_CUDA=ON, but no CUDA compiler was found")
  endif()
endif()
message(STATUS "cuda executor: ${L3_HAVE_CUDA}")
if(L3_HAVE_CUDA)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  add_library(l3_cuda_options INTERFACE)
  # CMake 3.25 silently ignores CUDA_STANDARD 20, so the flag is set here and asserted in gpu/memory/device.cu.
  target_compile_options(l3_cuda_options INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 --fmad=false $<$<BOOL:${L3_CUDA_PATHS}>:-lineinfo> --threads=1 -Xptxas=-v -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter>)
  # Internal names get a number that nvcc derives from the path of the source, so its compilers get another path. Without
  # -objtemp the object contains file names of a process.
  if(NOT L3_CUDA_PATHS)
    string(APPEND CMAKE_CUDA_COMPILE_OBJECT " -objtemp -Xcudafe --orig_src_path_name=<OBJECT> -Xcicc --orig_src_path_name=<OBJECT>")
  endif()
  # The resource report of each kernel is kept beside its object for a test. With ccache, too, which repeats the output.
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/keep-ptxas-report ${CMAKE_CUDA_COMPILER_LAUNCHER})
  target_include_directories(l3_cuda_options INTERFACE ${PROJECT_SOURCE_DIR})
endif()
