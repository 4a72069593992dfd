# SPDX-License-Identifier: Apache-2.0
"""What Python code asks about the GPU, its driver and its libraries while it runs: the parts of `python_gates`."""
