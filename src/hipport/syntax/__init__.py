# SPDX-License-Identifier: Apache-2.0
"""Sources that know their language, parse on first use and forget the parse when pickled."""
