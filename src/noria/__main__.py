"""`python -m noria`: the program `noria`, for an interpreter whose scripts are not on the path."""

from __future__ import annotations

from noria.cli.main import main

if __name__ == "__main__":
    main()
