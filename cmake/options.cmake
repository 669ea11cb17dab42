# SPDX-License-Identifier: Apache-2.0
# Options that every target of ours links: l3_options.
add_library(l3_options INTERFACE)
target_compile_features(l3_options INTERFACE cxx_std_20)
set(CMAKE_CXX_EXTENSIONS OFF)
target_include_directories(l3_options INTERFACE ${PROJECT_SOURCE_DIR})
set(l3_host_flags
    -Wall -Wextra $<$<BOOL:${L3_WARNINGS_AS_ERRORS}>:-Werror> -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wpedantic
    # g++ 12 reports nonexistent overlaps in "literal" + std::string (GCC bug 105329), and nonexistent out-of-bounds writes in
    # libfmt's buffers and in vectorised loops over lanes.
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow>"
    -ffp-contract=off -fstack-protector-strong)
target_compile_options(l3_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${l3_host_flags}>")
# A library of which only headers are used is not loaded when a program starts.
target_link_options(l3_options INTERFACE -Wl,--as-needed -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--build-id)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC) # programs like libraries: both use the same precompiled headers
# Most sources format text, and a precompiled header fits only sources with the same definitions.
target_link_libraries(l3_options INTERFACE fmt::fmt)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
find_package(Threads REQUIRED)
target_link_libraries(l3_options INTERFACE Threads::Threads)

# Options of the installed programs: line tables are most of their size. Tests are linked too often for these options.
add_library(l3_program_options INTERFACE)
target_link_options(l3_program_options INTERFACE $<$<CONFIG:RelWithDebInfo>:-Wl,--compress-debug-sections=zlib>)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# Assertions stay on in every build type, because they cost nothing per sample.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g -D_GLIBCXX_ASSERTIONS")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS")
# For the kernel rooms: add_compile_options(${l3_kernels}). Everything else compiles a third faster without.
set(l3_kernels $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O3>)
# For sources without a loop over events or samples. They compile a quarter faster.
set(l3_no_loops $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
if(L3_SANITIZE)
  add_compile_options(-fsanitize=${L3_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${L3_SANITIZE})
  # clang's check of function types does not work with coroutines (LLVM issue 49689). The others cost most of the compile
  # time, and AddressSanitizer finds the same errors.
  add_compile_options("$<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function,null,object-size,vptr>")
  # Instrumented library headers cause warnings about code that is not ours: std::regex, and the fences of Asio,
  # which ThreadSanitizer ignores (it sees the locks beside them).
  target_compile_options(l3_options INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized;-Wno-tsan>")
else()
  target_compile_definitions(l3_options INTERFACE $<$<CONFIG:RelWithDebInfo>:_FORTIFY_SOURCE=2>)
endif()

# For the rooms that read external data: add_compile_options(${l3_outward_flags}). Kernels, which only index data checked
# there, would pay for it in every loop. Without -fcf-protection: it works only if a whole program has it, and neither
# Debian's libraries nor its C library's start code use it.
set(l3_outward_flags -fstack-clash-protection -Wformat -Wformat-security -D_GLIBCXX_ASSERTIONS)
if(NOT L3_SANITIZE)
  list(APPEND l3_outward_flags $<$<CONFIG:RelWithDebInfo>:-U_FORTIFY_SOURCE> $<$<CONFIG:RelWithDebInfo>:-D_FORTIFY_SOURCE=3>)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
# One nvcc at a time, because each may need gigabytes.
set_property(GLOBAL PROPERTY JOB_POOLS cuda=1)
