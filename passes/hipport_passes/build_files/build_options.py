# SPDX-License-Identifier: Apache-2.0
"""Report CUDA's parts of `[build_ext]` in setup.cfg, whose options apply to every build.

Its macros, folders and libraries reach each extension of the package, and the file cannot ask whether PyTorch is for
ROCm: in setup.py, arguments of the extension can. Other options stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from hipport.core.finding import Certainty, Finding
from hipport.core.group import Group
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.packaging import SetupCfg
from hipport_passes.build_files.build_scripts.options import changed


def find(source: SetupCfg, project: Project) -> Iterator[Finding]:
    """Yield a finding per line of a build_ext option that names something of CUDA's."""
    for each in source.settings:
        if each.section != "build_ext":
            continue
        option = each.option.replace("-", "_")
        said = changed(option, source[each.span].decode("utf-8", "replace").split(" #")[0])
        if said:
            message = (
                f"{option} applies to builds for CUDA and for ROCm: move it to the extension in setup.py, where "
                f"torch.version.hip can choose. On ROCm: {'; '.join(said)}"
            )
            yield Finding(each.span, "option", message, (), Certainty.MANUAL)


PASS = Pass(SetupCfg, find, Group.BUILD)
