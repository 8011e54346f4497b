# SPDX-License-Identifier: Apache-2.0
"""python3 -m ppsched: the ppsched command."""
import sys

from .command.cli import main

sys.exit(main())
