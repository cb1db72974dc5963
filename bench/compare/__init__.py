"""Noria beside other systems, on the same Redis and the same PostgreSQL: `python -m bench.compare --help`.

Built on `bench`: its rotation, figures and reports. What differs is here: private servers (`servers.py`) under
guards that end with us (`guard.py`), contestants in environments of their own (`contestants.py`, `peers/`), subjects
that open a new server for each measurement (`subjects/`), and what the numbers must be (`gates.py`).
"""
