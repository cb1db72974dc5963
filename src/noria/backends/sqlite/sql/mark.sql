-- Write down what starts have marked; settle_look.sql has checked their fences.
-- In: 1 JSON [_Written, …] (see marks.py), each job once; 2 when to look whether the job is still there. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: yes; the versions rise again.
INSERT INTO marks (id, session, starts, progress, note, noted, asks, emitted, said, checkpoint, look_at)
SELECT unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
    value ->> 8, unhex(value ->> 9), ?2
FROM jsonb_each(?1)
WHERE true
ON CONFLICT (id) DO UPDATE
SET session = excluded.session, starts = excluded.starts, progress = excluded.progress, note = excluded.note,
    noted = excluded.noted, asks = excluded.asks, emitted = excluded.emitted, said = excluded.said,
    checkpoint = coalesce(excluded.checkpoint, checkpoint), version = version + 1
