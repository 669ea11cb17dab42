#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how many machine instructions of sm_90 each pipe of a multiprocessor executes for a waveform, by kernel, and which
resource needs the most cycles.

The interpreter counts how often the PTX of each source line is executed; the machine code says which instructions the line
became. A line's machine instructions are weighted with the mean executions of its PTX instructions, at each place where its
function is inlined. It is an estimate: copies of a line may run differently often. Predicated instructions count in full.

pipes.py CUOBJDUMP NVDISASM PROGRAM INTERPRETED_BENCH WHAT KERNEL…, or --self-test. WHAT is a batch of `koto-l3-bench counts`."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ARCHITECTURE = "sm_90"
# Pipes: Nsight Compute, Kernel Profiling Guide, "Pipelines"; integer multiplication and dot products on the FMA pipe of Hopper:
# NVIDIA's forum, topic 302018. Not named there, and taken as bit manipulation: VOTE, CS2R, MOV.
PIPES = {
    "ALU": "BMSK CS2R FMNMX FSEL FSETP HMNMX2 IABS IADD3 ISETP LEA LOP3 MOV P2R PLOP3 PRMT R2P SEL SGXT SHF VHMNMX VIADD VIADDMNMX "
           "VIMNMX VIMNMX3 VOTE",
    "FMA": "FADD FFMA FMUL HADD2 HFMA2 HMUL2 IDP IMAD",
    "LSU": "ATOM ATOMG ATOMS BAR LD LDG LDL LDS MEMBAR RED REDG S2R SHFL ST STG STL STS",
    "XU": "BREV F2F F2I FLO FRND I2F MUFU POPC",
    "FP64": "DADD DFMA DMUL DSETP",
    "other": "BRA BREAK BSSY BSYNC CALL CCTL ENDCOLLECTIVE ERRBAR EXIT LDC NANOSLEEP R2UR REDUX RET S2UR WARPSYNC YIELD",
}
PIPE_OF = {opcode: pipe for pipe, opcodes in PIPES.items() for opcode in opcodes.split()}
# Warp instructions a clock of a multiprocessor: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions",
# 9.0, over 32 lanes. "issue" is one for each of the four schedulers.
RATES = {"ALU": 2, "FMA": 2, "LSU": 1, "XU": 0.5, "FP64": 2, "issue": 4}
SECTION = re.compile(r"\s*\.section\s+\.text\.(\w+)")
FILE_LINE = r'"([^"]*)", line (\d+)'
LINE = re.compile(rf"\s*//## File {FILE_LINE}(?: inlined at {FILE_LINE})?")
INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(\w+)")


def pipe_of(opcode):
    return PIPE_OF.get(opcode) or ("other" if opcode.startswith("U") or opcode == "VOTEU" else sys.exit(f"no pipe is known for {opcode}"))


def place(file, line):
    """FILE:LINE, with the file as a part of the source tree."""
    return f"{file.rsplit('/../', 1)[-1]}:{line}"


def machine_code(text):
    """{symbol: [((FILE:LINE, CALLER), opcode)]} of what nvdisasm -gi prints. The first of several lines is the innermost."""
    found, code, at, goes_on = {}, None, ("", ""), False
    for row in text.splitlines():
        if m := SECTION.match(row):
            code, at = found.setdefault(m.group(1), []), ("", "")
        elif m := LINE.match(row):
            if not goes_on:
                line = place(*m.group(1, 2))
                at = (line, place(*m.group(3, 4)) if m.group(3) else line)
        elif code is not None and (m := INSTRUCTION.match(row)) and m.group(1) != "NOP":
            code.append((at, m.group(1)))
        goes_on = bool(LINE.match(row))
    return found


def weights(report):
    """{symbol: {(FILE:LINE, CALLER): mean executions of an instruction}}, and {symbol: executed instructions}."""
    mean, executed = collections.defaultdict(dict), collections.Counter()
    for row in report.splitlines():
        if row.startswith("cost "):
            _, symbol, *at, times, _, _, instructions = row.split()
            mean[symbol][tuple(place(*a.rsplit(":", 1)) for a in at)] = int(times) / int(instructions)
            executed[symbol] += int(times)
    return mean, executed


def by_pipe(code, mean):
    """{pipe: executions}. An instruction of a line without PTX, such as a moved one, runs as often as the one before it."""
    found, weight = collections.Counter(), 0.0
    for at, opcode in code:
        weight = mean.get(at, weight)
        found[pipe_of(opcode)] += weight
    return found


def cycles(pipes):
    needed = {p: pipes[p] / rate for p, rate in RATES.items() if p != "issue"}
    return {**needed, "issue": sum(pipes.values()) / RATES["issue"]}


def self_test():
    text = ('\t.section\t.text.k,"ax"\n\t//## File "/a/build/../gpu/x.cuh", line 7 inlined at "/a/build/../gpu/y.cuh", line 3\n'
            '\t//## File "/a/build/../gpu/y.cuh", line 3\n        /*0000*/                   SHF.L.U32 R1, R2 ;\n'
            '        /*0010*/              @!P0 IMAD.WIDE R4, R1 ;\n\t//## File "/a/gpu/x.cuh", line 9\n'
            '        /*0020*/                   ULDC UR4 ;\n        /*0030*/                   NOP;\n')
    code = machine_code(text)
    inlined = ("gpu/x.cuh:7", "gpu/y.cuh:3")
    assert code == {"k": [(inlined, "SHF"), (inlined, "IMAD"), (("/a/gpu/x.cuh:9",) * 2, "ULDC")]}, code
    mean, executed = weights("cost k build/../gpu/x.cuh:7 build/../gpu/y.cuh:3 30 0 0 3\nline x 1\n")
    assert executed == {"k": 30} and by_pipe(code["k"], mean["k"]) == {"ALU": 10, "FMA": 10, "other": 10}
    assert cycles({"ALU": 6, "FMA": 2, "LSU": 4, "XU": 0, "FP64": 0})["issue"] == 3
    assert len(PIPE_OF) == sum(len(o.split()) for o in PIPES.values()), "an opcode has two pipes"


def main():
    self_test()
    if "--self-test" in sys.argv:
        return
    cuobjdump, nvdisasm, program, bench, what, *kernels = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([cuobjdump, "-xelf", ARCHITECTURE, os.path.abspath(program)], cwd=folder, capture_output=True, check=True)
        code = {}
        for cubin in sorted(pathlib.Path(folder).glob("*.cubin")):
            code.update(machine_code(subprocess.run([nvdisasm, "-gi", "-c", cubin], capture_output=True, text=True, check=True).stdout))
        report = pathlib.Path(folder, "report")
        said = subprocess.run([bench, "counts", "--only", what, "--json"], capture_output=True, text=True, check=True,
                              env={**os.environ, "L3_DEVICE_REPORT": str(report)}).stdout
        mean, executed = weights(report.read_text())
    counted = {row["kernel"]: row["warp_instructions_per_waveform"] for row in json.loads(said)["rows"]}
    print(" | ".join(["kernel", "PTX", "machine", *PIPES, "cycles: " + ", ".join(RATES)]))
    for kernel in kernels:
        symbols = [s for s in executed if re.search(rf"run_blockINS_{len(kernel)}{kernel}E", s)]
        symbol = max(symbols, key=lambda s: executed[s])
        scale = counted[kernel] / executed[symbol]
        pipes = collections.Counter({p: n * scale for p, n in by_pipe(code[symbol], mean[symbol]).items()})
        print(" | ".join([kernel, f"{counted[kernel]:.1f}", f"{sum(pipes.values()):.1f}", *(f"{pipes[p]:.1f}" for p in PIPES),
                          ", ".join(f"{c:.1f}" for c in cycles(pipes).values())]))


if __name__ == "__main__":
    main()
