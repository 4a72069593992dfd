# SPDX-License-Identifier: Apache-2.0
"""A placeholder for a part of a text that is known only when a build script runs: `-arch=sm_` + HOLE."""

#: No script has this character.
HOLE = "\0"
