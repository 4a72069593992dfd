# SPDX-License-Identifier: Apache-2.0
"""The time that a test waits for a process that should end by itself."""

#: Seconds. No test needs a tenth of it, so that a machine that stalls for a minute fails no test. Tests of time limits
#: have limits of their own.
ENDLESS = 600
