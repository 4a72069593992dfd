# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests."""

import pytest
from hypothesis import settings

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

#: Files whose tests take minutes: they come first, so that no processor waits for the last of them.
_SLOW = ("test_install", "test_verify_packages", "test_packages", "test_examples", "test_verify_examples", "test_build")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the slow tests come first."""
    items.sort(key=lambda item: _SLOW.index(item.path.stem) if item.path.stem in _SLOW else len(_SLOW))
