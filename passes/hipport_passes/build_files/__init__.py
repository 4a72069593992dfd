# SPDX-License-Identifier: Apache-2.0
"""Passes over build scripts: setup.py, CMake, makefiles and shell."""
