# SPDX-License-Identifier: Apache-2.0
"""Report types of 8-bit floating point numbers in JSON and YAML settings, if the target has others.

A type that PyTorch gets by name (`getattr(torch, settings["dtype"])`) is not in the code: kernels have FNUZ's numbers
on gfx940 to gfx942 (see `fp8_formats`), and tensors those of the settings. Nothing is changed, because CUDA reads the
same file, and frameworks have names of their own for both formats. A file that names both already chooses.
"""

from __future__ import annotations

from collections.abc import Iterator

from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.program_settings import MEANT, ProgramSettings
from hipport_passes.device.fp8_formats import formats

_BOTH = NAMES.compile(rb"(?&fnuz)")


def find(source: ProgramSettings, project: Project) -> Iterator[Finding]:
    """Yield a finding for the first place of each such name."""
    has = formats(project.target.archs)
    if has.shared == "ocp" or _BOTH.search(source.text):
        return
    told: set[bytes] = set()
    for span in source.words(MEANT):
        name = source[span]
        if name not in told:
            told.add(name)
            message = (
                has.said(
                    "CUDA's format, and {archs} {have} FNUZ numbers only: where the program reads this on ROCm, it "
                    "has to take float8_e4m3fnuz for E4M3 and float8_e5m2fnuz for E5M2, if it does not yet"
                )
                if has.shared
                else has.refusal
            )
            yield Finding(span, "type", f"{name.decode()}: {message}", certainty=Certainty.MANUAL)


PASS = Pass(ProgramSettings, find)
