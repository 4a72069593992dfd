# SPDX-License-Identifier: Apache-2.0
"""What stands in a text for a part that is known only when a build script runs: `-arch=sm_` + HOLE."""

#: No script has this character.
HOLE = "\0"
