# SPDX-License-Identifier: Apache-2.0
"""How long a test waits for what ends by itself, before it takes it for endless."""

#: Seconds. Nothing here takes a tenth of it: a machine that stands still for a minute fails no test. What a test shows
#: of a limit has one of its own.
ENDLESS = 600
