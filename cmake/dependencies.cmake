# SPDX-License-Identifier: Apache-2.0
# The libraries of Debian 12 that koto-l3 uses (deploy/packages.txt installs them).
find_package(Boost 1.81 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zmq REQUIRED IMPORTED_TARGET libzmq)
# libzmq.pc also lists the headers of libraries that only libzmq uses. CMake takes these for include folders at its first
# query, and for options later: the second `./run` would recompile everything that includes zmq.h.
set_target_properties(PkgConfig::zmq PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${zmq_INCLUDEDIR}" INTERFACE_COMPILE_OPTIONS "")
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
# Only koto-l3-bench compares with these, as far as they are installed.
pkg_check_modules(lz4 IMPORTED_TARGET liblz4)
pkg_check_modules(zstd IMPORTED_TARGET libzstd)
pkg_check_modules(lzma IMPORTED_TARGET liblzma)
if(L3_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
elseif(L3_FUZZ)
  find_package(GTest REQUIRED)
endif()
