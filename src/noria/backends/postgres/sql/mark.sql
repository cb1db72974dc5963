-- Write down what starts have marked; settle_look.sql has checked their fences.
-- In: 1 JSON [_Written, …] (see marks.py), each job once; 2 when to look whether the job is still there. Out: nothing.
-- Locks: the marks of these jobs, whose rows are locked before.
-- Safe to repeat: yes; the versions rise again.
INSERT INTO noria.marks AS m (id, session, starts, progress, note, noted, asks, emitted, said, checkpoint, look_at)
SELECT (v ->> 0)::uuid, (v ->> 1)::bigint, (v ->> 2)::bigint, (v ->> 3)::double precision, v ->> 4, (v ->> 5)::bigint,
    v ->> 6, (v ->> 7)::bigint, (v ->> 8)::bigint, decode(v ->> 9, 'hex'), $2::bigint
FROM jsonb_array_elements($1::jsonb) AS e (v)
ORDER BY 1
ON CONFLICT (id) DO UPDATE
SET session = excluded.session, starts = excluded.starts, progress = excluded.progress, note = excluded.note,
    noted = excluded.noted, asks = excluded.asks, emitted = excluded.emitted, said = excluded.said,
    checkpoint = coalesce(excluded.checkpoint, m.checkpoint), version = m.version + 1
