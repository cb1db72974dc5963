"""The command `noria`."""
