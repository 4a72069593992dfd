# SPDX-License-Identifier: Apache-2.0
"""Port CUDA repositories to AMD GPUs.

    import hipport

    ported = hipport.rewrite(["submodules/diff-rasterizer"])   # reads; changes nothing
    print(hipport.reporting.report.as_text(ported))
    hipport.save(ported)                                        # writes, all files or none

Importing is cheap; modules with larger dependencies are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hipport.api import (
        build,
        deps,
        doctor,
        explain,
        explain_place,
        mutation_score,
        port,
        record,
        replay,
        rewrite,
        save,
        scan,
        undo,
        verify,
        verify_program,
    )
    from hipport.building.builder import Built
    from hipport.core.edits import Edit, Span
    from hipport.core.finding import Certainty, Finding
    from hipport.core.proof import Ground
    from hipport.core.source import Source
    from hipport.engine.outcomes import Outcome, Ported, Reported, Scanned
    from hipport.engine.pipeline import Pass
    from hipport.program.project import Project, Target
    from hipport.reporting import report
    from hipport.reporting.evidence import Evidence
    from hipport.reporting.explained_places import Explained
    from hipport.reporting.explainer import Explanation
    from hipport.toolchain.diagnosis import Diagnosis
    from hipport.toolchain.install_plan import Checked, Plan
    from hipport.verifying.results import Verified

_WHERE = {
    "Built": "building.builder",
    "Certainty": "core.finding",
    "Checked": "toolchain.install_plan",
    "Diagnosis": "toolchain.diagnosis",
    "Edit": "core.source",
    "Evidence": "reporting.evidence",
    "Explained": "reporting.explained_places",
    "Explanation": "reporting.explainer",
    "Finding": "core.finding",
    "Ground": "core.proof",
    "Outcome": "engine.outcomes",
    "Pass": "engine.pipeline",
    "Plan": "toolchain.install_plan",
    "Ported": "engine.outcomes",
    "Project": "program.project",
    "Reported": "engine.outcomes",
    "Scanned": "engine.outcomes",
    "Source": "core.source",
    "Span": "core.source",
    "Target": "program.project",
    "Verified": "verifying.results",
    "build": "api",
    "deps": "api",
    "doctor": "api",
    "explain": "api",
    "explain_place": "api",
    "port": "api",
    "record": "api",
    "replay": "api",
    "rewrite": "api",
    "scan": "api",
    "undo": "api",
    "save": "api",
    "verify": "api",
    "verify_program": "api",
    "mutation_score": "api",
}

__all__ = [
    "Built",
    "Certainty",
    "Checked",
    "Diagnosis",
    "Edit",
    "Evidence",
    "Explained",
    "Explanation",
    "Finding",
    "Ground",
    "Outcome",
    "Pass",
    "Plan",
    "Ported",
    "Project",
    "Reported",
    "Scanned",
    "Source",
    "Span",
    "Target",
    "Verified",
    "build",
    "deps",
    "doctor",
    "explain",
    "explain_place",
    "mutation_score",
    "port",
    "record",
    "replay",
    "report",
    "rewrite",
    "save",
    "scan",
    "undo",
    "verify",
    "verify_program",
]


def __getattr__(name: str) -> Any:
    if name == "report":
        return import_module("hipport.reporting.report")
    if name == "__version__":
        return _version()
    if name in _WHERE:
        return getattr(import_module(f"hipport.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'hipport' has no attribute {name!r}")


def _version() -> str:
    """Return the installed version; a checkout that was never installed has none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hipport")
    except PackageNotFoundError:
        return "unknown"
