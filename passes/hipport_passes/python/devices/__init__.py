# SPDX-License-Identifier: Apache-2.0
"""Choose the device that Python code runs on: the parts of `device_agnostic`."""
