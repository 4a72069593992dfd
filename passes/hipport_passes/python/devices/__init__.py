# SPDX-License-Identifier: Apache-2.0
"""Which device Python code runs on: the parts of `device_agnostic`."""
