"""huey on its SQLite storage as a contestant, set up for throughput as its documentation recommends.

WAL (its default), `fsync=True` (the same durability as Noria's FULL), results on, thread workers, no periodic
tasks. It polls every 5 to 20 ms instead of its default of 100 ms to 10 s, and waiters look for a result every
millisecond instead of every 50 ms, so its latency is far better than by default. It deletes a task from the
store before running it: a worker that dies loses the tasks that it ran.
"""
