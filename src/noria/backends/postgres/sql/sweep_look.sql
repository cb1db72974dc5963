-- Whether time has moved anything. An idle sweeper asks no more than this.
-- In: 1 now; 2 parked before this time; 3 sessions ended before this time; 4 how many records may be kept;
--     5 minutes before this one are to go.
-- Out: one row (due, lapsed, parked, owing, old, erased, old dead letters, old sessions, old documents, old minutes,
--     old marks, ends that are not told, records over the cap, next_due, JSON of the queues in which something is due,
--     groups).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT
    EXISTS (SELECT 1 FROM noria.due WHERE at <= $1::bigint)::integer,
    EXISTS (SELECT 1 FROM noria.jobs WHERE lapse IS NOT NULL AND lapse <= $1::bigint)::integer,
    EXISTS (SELECT 1 FROM noria.parked WHERE since <= $2::bigint)::integer,
    EXISTS (SELECT 1 FROM noria.sessions WHERE owing)::integer,
    EXISTS (SELECT 1 FROM noria.kept WHERE kind = 0 AND at <= $1::bigint)::integer,
    EXISTS (SELECT 1 FROM noria.kept WHERE kind = 2 AND at <= $1::bigint)::integer,
    EXISTS (SELECT 1 FROM noria.kept WHERE kind = 1 AND at <= $1::bigint)::integer,
    EXISTS (SELECT 1 FROM noria.sessions WHERE ended IS NOT NULL AND ended <= $3::bigint)::integer,
    EXISTS (SELECT 1 FROM noria.board WHERE expires IS NOT NULL AND expires <= $1::bigint)::integer,
    (
        EXISTS (SELECT 1 FROM noria.flow_sums WHERE minute > 0 AND minute < $5::bigint)
        OR EXISTS (SELECT 1 FROM noria.flow_changes WHERE minute < $5::bigint)
    )::integer,
    EXISTS (SELECT 1 FROM noria.marks WHERE look_at <= $1::bigint)::integer,
    EXISTS (SELECT 1 FROM noria.ended_parents)::integer,
    greatest(0, (
        SELECT coalesce(sum(CASE state WHEN -1 THEN -n ELSE n END), 0)::bigint FROM noria.counts
        WHERE state >= 10 OR state = -1
    ) - $4::bigint),
    least((SELECT min(at) FROM noria.due), (SELECT min(wake) FROM noria.groups WHERE wake IS NOT NULL)),
    (
        SELECT coalesce(json_agg(DISTINCT queue), '[]') FROM (
            SELECT queue FROM noria.due WHERE at <= $1::bigint ORDER BY at LIMIT 1000
        ) AS first_ones
    ),
    (
        EXISTS (SELECT 1 FROM noria.groups WHERE wake IS NOT NULL AND wake <= $1::bigint)
        OR EXISTS (SELECT 1 FROM noria.coming)
    )::integer
