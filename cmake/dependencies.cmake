# SPDX-License-Identifier: Apache-2.0
# The libraries of Debian 12 that we build on (deploy/packages.txt installs them).
find_package(Boost 1.81 REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zmq REQUIRED IMPORTED_TARGET libzmq)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
# What `koto-l3 bench` compares with.
pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
if(L3_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
