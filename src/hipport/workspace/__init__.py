# SPDX-License-Identifier: Apache-2.0
"""Trees on disk: what there is to port, how it is configured, written, taken back and copied."""
