# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests."""

from hypothesis import settings

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
