"""`python -m bench.compare`."""

import sys

from bench.compare.cli import main

sys.exit(main(sys.argv[1:]))
