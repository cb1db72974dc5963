"""For tests of applications and of Noria itself.

`history` records what every process does, `recording` records the calls of a backend, and `checker` reads a
history and says which promise was broken, by which job.
"""
