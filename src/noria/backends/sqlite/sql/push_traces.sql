-- Remember for a while to which jobs others were added, so that their pushes can be repeated: as traces without records.
-- In: 1 JSON [[id as hex, queue, task, what became of it], …]; 2 now; 3 when the traces may go. Out: nothing.
-- Locks: the write transaction it runs in.
-- Safe to repeat: no; whoever asks knows that the ids are new.
INSERT INTO jobs (id, state, queue, task, lane, rank, priority, created, due, attempts, crash_budget, codec, body, prune_at)
SELECT unhex(value ->> 0), 20, value ->> 1, value ->> 2, 0, 0, 0, ?2, ?2, 1, 1, 'json', value ->> 3, ?3
FROM jsonb_each(?1)
