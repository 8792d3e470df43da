"""`python -m copier_fastmcp`."""

import sys

from .cli import main

sys.exit(main())
