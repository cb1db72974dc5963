"""Noria measured, beside huey on SQLite where both can do the same work: `python -m bench --help`.

The parent process (`rotation.py`) lets contestants take turns and opens no store itself. Everything that is
measured happens in child processes: producers and readers (`*_side/child.py`), and workers as users start
them. A subject (`subjects/`) says what is done once and what is read off it; `gates.py` says what we demand.
"""
