#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sycl_at_run_time.py RUNTIME BUILD PROGRAM: installs Intel's SYCL runtime from PyPI in the folder RUNTIME, builds the program, and runs
its cases, with the processor as SYCL's device. Exit code 77 if PyPI cannot be reached."""
import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "python/tests"))
from with_extras import environment  # noqa: E402

NEEDS = ["intel-sycl-rt==2026.2.0", "intel-opencl-rt==2026.2.0"]  # its compiler of kernels is an extension that may change


def main(runtime, build, program):
    runtime = pathlib.Path(runtime)
    if environment(runtime, NEEDS) is None:
        print("sycl_at_run_time: Skipped\nPyPI cannot be reached, and kernels on SYCL's device need Intel's runtime from it")
        return 77
    target = pathlib.Path(program).name
    subprocess.run(["cmake", "--build", build, "--parallel", "2", "--target", target], check=True)
    libraries = runtime / "lib"
    # One lane at a time: with vectors of lanes, release 2026.2 loses arguments of functions that contain a barrier.
    return subprocess.run([program], env=os.environ | {
        "LD_LIBRARY_PATH": str(libraries), "OCL_ICD_FILENAMES": str(libraries / "libintelocl.so"), "ONEAPI_DEVICE_SELECTOR": "opencl:cpu",
        "CL_CONFIG_CPU_VECTORIZER_MODE": "1"}).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
