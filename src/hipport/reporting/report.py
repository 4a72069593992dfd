# SPDX-License-Identifier: Apache-2.0
"""Render results. Pure functions: values in, text out; the same values give the same text."""

from __future__ import annotations

from hipport.core.finding import Certainty
from hipport.engine.outcomes import Outcome, Reported
from hipport.reporting.diff_report import as_diff
from hipport.reporting.json_report import (
    SCHEMA,
    as_json,
    built_as_json,
    diagnosis_as_json,
    explanation_as_json,
    place_as_json,
    reviewed_as_json,
    target_as_json,
)
from hipport.reporting.sarif_report import as_sarif
from hipport.reporting.text_report import (
    as_text,
    built_as_text,
    diagnosis_as_text,
    explanation_as_text,
    place_as_text,
    reviewed_as_text,
    summary,
)

__all__ = [
    "SCHEMA",
    "as_diff",
    "as_json",
    "as_sarif",
    "as_text",
    "assumed",
    "built_as_json",
    "built_as_text",
    "diagnosis_as_json",
    "diagnosis_as_text",
    "explanation_as_json",
    "explanation_as_text",
    "place_as_json",
    "place_as_text",
    "reviewed_as_json",
    "reviewed_as_text",
    "summary",
    "target_as_json",
]


def assumed(reported: Reported) -> bool:
    """Whether a finding was applied on an assumption."""
    return reported.outcome is Outcome.APPLIED and reported.certainty is Certainty.REVIEW
