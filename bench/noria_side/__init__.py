"""Noria as a contestant: default settings, `synchronous=FULL`, `noria worker` as users start it."""
