# SPDX-License-Identifier: Apache-2.0
"""`python -m hipport` is `hipport`."""

from hipport.cli import main

main(prog_name="hipport")
