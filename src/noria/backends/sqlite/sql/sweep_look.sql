-- Whether time has moved anything. An idle sweeper asks no more than this.
-- In: 1 now; 2 parked before this time; 3 sessions ended before this time; 4 how many records may be kept;
--     5 minutes before this one are to go.
-- Out: one row (due, lapsed, parked, owing, old, erased, old dead letters, old sessions, old documents, old minutes,
--     old marks, ends that are not told, records over the cap, next_due, JSON of the queues in which something is due,
--     groups).
-- Locks: reads only.
-- Safe to repeat: yes.
WITH waiting AS MATERIALIZED (
    SELECT queue, (SELECT min(due) FROM jobs INDEXED BY due WHERE jobs.queue = c.queue AND state IN (1, 6)) AS due
    FROM (SELECT DISTINCT queue FROM counts WHERE state IN (1, 6) AND n > 0) AS c
)
SELECT
    EXISTS (SELECT 1 FROM waiting WHERE due <= ?1),
    EXISTS (
        SELECT 1 FROM jobs INDEXED BY lapsing
        WHERE lapse IS NOT NULL AND state IN (1, 2, 4, 6, 7) AND lapse <= ?1
    ),
    EXISTS (SELECT 1 FROM jobs INDEXED BY parked_since WHERE state = 7 AND began <= ?2),
    EXISTS (SELECT 1 FROM sessions INDEXED BY sessions_owing WHERE owing = 1),
    EXISTS (
        SELECT 1 FROM jobs INDEXED BY kept
        WHERE prune_at IS NOT NULL AND dead = 0 AND state < 20 AND prune_at <= ?1
    ),
    EXISTS (SELECT 1 FROM jobs INDEXED BY erased WHERE state = 20 AND prune_at <= ?1),
    EXISTS (SELECT 1 FROM jobs INDEXED BY kept_dead WHERE prune_at IS NOT NULL AND dead = 1 AND prune_at <= ?1),
    EXISTS (SELECT 1 FROM sessions INDEXED BY sessions_ended WHERE ended IS NOT NULL AND ended <= ?3),
    EXISTS (SELECT 1 FROM board INDEXED BY board_expiring WHERE expires IS NOT NULL AND expires <= ?1),
    EXISTS (SELECT 1 FROM flow WHERE minute > 0 AND minute < ?5),
    EXISTS (SELECT 1 FROM marks INDEXED BY marks_old WHERE look_at <= ?1),
    EXISTS (SELECT 1 FROM ended_parents),
    max(0, (
        SELECT coalesce(sum(CASE state WHEN -1 THEN -n ELSE n END), 0) FROM counts WHERE state >= 10 OR state = -1
    ) - ?4),
    (
        SELECT min(at) FROM (
            SELECT min(due) AS at FROM waiting
            UNION ALL
            SELECT min(wake) FROM groups INDEXED BY groups_waking WHERE wake IS NOT NULL
        )
    ),
    (SELECT json_group_array(queue) FROM waiting WHERE due <= ?1),
    EXISTS (SELECT 1 FROM groups INDEXED BY groups_waking WHERE wake IS NOT NULL AND wake <= ?1)
