# SPDX-License-Identifier: Apache-2.0
"""A Spack recipe. Put it into a repository of your own: packages/koto-l3/package.py. It names no place to download from:
`spack dev-build koto-l3@main` builds a checkout or an unpacked source archive. docs/installing.md says how far it was tried."""
from spack.package import *


class KotoL3(CMakePackage):
    """Level-3 trigger of the KOTO experiment: daemon, tools, receiver."""

    license("Apache-2.0")

    version("main")

    variant("cuda", default=False, description="the cuda executor")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("boost@1.81:")
    depends_on("cli11@2.1:")
    depends_on("cppzmq")
    depends_on("fmt@9:")
    depends_on("highway")
    depends_on("libzmq@4.3.4: +libsodium")
    depends_on("lz4")
    depends_on("prometheus-cpp")
    depends_on("spdlog@1.10: +fmt_external")
    depends_on("tomlplusplus@3.3:")
    depends_on("zstd")
    depends_on("cuda@13:", when="+cuda")

    generator("ninja")
    conflicts("%gcc@:11", msg="C++20 as GCC 12 has it")

    def cmake_args(self):
        return [
            self.define("CMAKE_BUILD_TYPE", "RelWithDebInfo"),
            self.define("L3_TESTS", False),
            self.define_from_variant("L3_CUDA", "cuda"),
        ]
