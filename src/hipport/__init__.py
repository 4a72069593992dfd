# SPDX-License-Identifier: Apache-2.0
"""Port CUDA repositories to AMD GPUs.

    import hipport

    ported = hipport.rewrite(["submodules/diff-rasterizer"])   # reads; changes nothing
    print(hipport.report.as_text(ported))
    hipport.save(ported)                                        # writes, all files or none

Importing is cheap; the parts that need more are loaded when they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hipport import report
    from hipport.api import (
        Scanned,
        build,
        deps,
        doctor,
        explain,
        port,
        record,
        replay,
        rewrite,
        save,
        scan,
        undo,
        verify,
        verify_program,
        verify_teeth,
    )
    from hipport.builder import Built
    from hipport.diagnosis import Diagnosis
    from hipport.evidence import Evidence
    from hipport.explainer import Explanation
    from hipport.finding import Certainty, Finding
    from hipport.install_plan import Checked, Plan
    from hipport.pipeline import Outcome, Pass, Ported, Reported
    from hipport.project import Project, Target
    from hipport.source import Edit, Source, Span
    from hipport.verification import Verified

_WHERE = {
    "Built": "builder",
    "Certainty": "finding",
    "Checked": "install_plan",
    "Diagnosis": "diagnosis",
    "Edit": "source",
    "Evidence": "evidence",
    "Explanation": "explainer",
    "Finding": "finding",
    "Outcome": "pipeline",
    "Pass": "pipeline",
    "Plan": "install_plan",
    "Ported": "pipeline",
    "Project": "project",
    "Reported": "pipeline",
    "Scanned": "api",
    "Source": "source",
    "Span": "source",
    "Target": "project",
    "Verified": "verifier",
    "build": "api",
    "deps": "api",
    "doctor": "api",
    "explain": "api",
    "port": "api",
    "record": "api",
    "replay": "api",
    "rewrite": "api",
    "scan": "api",
    "undo": "api",
    "save": "api",
    "verify": "api",
    "verify_program": "api",
    "verify_teeth": "api",
}

__all__ = [
    "Built",
    "Certainty",
    "Checked",
    "Diagnosis",
    "Edit",
    "Evidence",
    "Explanation",
    "Finding",
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
    "verify_teeth",
]


def __getattr__(name: str) -> Any:
    if name == "report":
        return import_module("hipport.report")
    if name == "__version__":
        return _version()
    if name in _WHERE:
        return getattr(import_module(f"hipport.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'hipport' has no attribute {name!r}")


def _version() -> str:
    """What was installed; of a checkout that was never installed nothing is known."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hipport")
    except PackageNotFoundError:
        return "unknown"
