# SPDX-License-Identifier: Apache-2.0
"""What stored bits can be compared with: those of the same kind of machine."""

import os
import platform
import re
import subprocess

from harness import BINARY

INSTRUCTIONS = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16")  # what LibTorch's kernels are chosen by
SETTINGS = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")  # these choose others
EQUAL_TORCHES = ("2.11.0", "2.15.0")  # all digests of stored_bits were equal, with and without AVX-512


def version():
    """What --version says: "0.1.0", "d717834ff32f" (the commit), "2.15.0" (LibTorch)."""
    text = subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=True).stdout
    return re.match(r"hopscotch (\S+)(?: \(([^)]+)\))?\nLibTorch (\S+),", text).groups("unknown")  # without git


def machine():
    """All that bits depend on besides experiment and program: the kind of CPU, LibTorch, the C library's exp and log.
    Families of one vendor with the same instructions have had the same bits (AMD 25 model 17, 26 model 2)."""
    with open("/proc/cpuinfo") as file:
        cpu = dict(re.findall(r"(?m)^(\S[^\t:]*)\t*: (.*)$", file.read().partition("\n\n")[0]))
    kind = [platform.machine(), cpu.get("vendor_id", "?")]
    kind += [each for each in INSTRUCTIONS if each in cpu.get("flags", "").split()]
    kind += [f"{each}={os.environ[each]}" for each in SETTINGS if each in os.environ]
    torch = version()[2]
    torch = EQUAL_TORCHES[0] if torch in EQUAL_TORCHES else torch
    return f"{' '.join(kind)}, LibTorch {torch}, {' '.join(platform.libc_ver())}"
