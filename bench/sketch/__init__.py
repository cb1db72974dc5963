"""A settle that also writes follow-ups, frees unique keys and refills groups in one step, sketched on each engine.

Not the backends: as few tables and keys as the question needs, in the shapes that the backends have. What came of it
is in docs/decisions/0023.
"""
