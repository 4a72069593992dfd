# SPDX-License-Identifier: Apache-2.0
"""Questions of Python code about the GPU, its driver and its libraries at run time: the parts of `python_gates`."""
