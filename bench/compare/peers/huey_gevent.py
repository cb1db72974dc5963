"""Huey's consumer with the patches that its greenlets need, made before anything else is imported.

Without them the consumer warns that greenlets may do anything, and does not end when it is told to.
"""

from __future__ import annotations

from gevent import monkey

monkey.patch_all()

from huey.bin.huey_consumer import consumer_main  # noqa: E402 - the patches come first

if __name__ == "__main__":
    consumer_main()
