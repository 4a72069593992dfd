# SPDX-License-Identifier: Apache-2.0
"""The passes, in the order they run, and why each stands where it stands."""

from typing import Any

from hipport.pipeline import Pass

PASSES: tuple[Pass[Any], ...] = ()
