-- Ids of jobs in order that have failed, or were cancelled, or expired.
-- In: 1 only ids beyond this one; 2 how many; 3 whether the oldest come first; 4 which of these states.
-- Out: one row, JSON [id as hex, …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(hex(id)) FROM (
    SELECT * FROM (
        SELECT id FROM jobs INDEXED BY unsuccessful
        WHERE state = ?4 AND state > 10 AND state < 20 AND NOT ?3 AND id < ?1 ORDER BY id DESC LIMIT ?2
    )
    UNION ALL
    SELECT * FROM (
        SELECT id FROM jobs INDEXED BY unsuccessful
        WHERE state = ?4 AND state > 10 AND state < 20 AND ?3 AND id > ?1 ORDER BY id LIMIT ?2
    )
)
