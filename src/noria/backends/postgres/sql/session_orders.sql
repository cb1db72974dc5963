-- What is asked of a session.
-- In: 1 session. Out: one row (how it is to be, or null, JSON [[id as hex, starts, why], …] of starts to be cancelled).
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT
    (SELECT command FROM noria.sessions WHERE session = $1::bigint),
    (
        SELECT coalesce(
            json_agg(json_build_array(noria.hex(id), starts, coalesce(noria.peek(change, 'note'), ''))), '[]'
        )
        FROM noria.jobs WHERE inbox = $1::bigint AND state = 3 AND session = $1::bigint
    )
