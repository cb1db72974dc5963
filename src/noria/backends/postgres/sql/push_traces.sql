-- Remember for a while to which jobs others were added, so that their pushes can be repeated: as traces without records.
-- place.sql follows.
-- In: 1 JSON [[id as hex, queue, task, what became of it], …]; 2 now; 3 when the traces may go. Out: nothing.
-- Locks: the new rows.
-- Safe to repeat: no; whoever asks knows that the ids are new.
INSERT INTO noria.jobs (id, state, queue, task, lane, rank, priority, created, due, attempts, crash_budget, codec, body, prune_at)
SELECT (v ->> 0)::uuid, 20, v ->> 1, v ->> 2, 0, 0, 0, $2::bigint, $2::bigint, 1, 1, 'json', v ->> 3, $3::bigint
FROM jsonb_array_elements($1::jsonb) AS e (v)
