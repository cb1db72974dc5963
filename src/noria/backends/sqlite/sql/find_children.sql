-- Ids of jobs in order that are follow-ups of this one.
-- In: 1 only ids beyond this one; 2 how many; 3 whether the oldest come first; 4 id of the job that asked for them, as hex.
-- Out: one row, JSON [id as hex, …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(hex(id)) FROM (
    SELECT * FROM (
        SELECT id FROM jobs INDEXED BY children
        WHERE extras ->> 'parent_id' = ?4 AND extras ->> 'parent_id' IS NOT NULL AND NOT ?3 AND id < ?1
        ORDER BY id DESC LIMIT ?2
    )
    UNION ALL
    SELECT * FROM (
        SELECT id FROM jobs INDEXED BY children
        WHERE extras ->> 'parent_id' = ?4 AND extras ->> 'parent_id' IS NOT NULL AND ?3 AND id > ?1
        ORDER BY id LIMIT ?2
    )
)
