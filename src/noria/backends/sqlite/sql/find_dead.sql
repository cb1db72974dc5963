-- Ids of dead letters in order.
-- In: 1 only ids beyond this one; 2 how many; 3 whether the oldest come first. Out: one row, JSON [id as hex, …].
-- Locks: reads only.
-- Safe to repeat: yes.
SELECT json_group_array(hex(id)) FROM (
    SELECT * FROM (
        SELECT id FROM jobs INDEXED BY dead_letters
        WHERE dead = 1 AND NOT ?3 AND id < ?1 ORDER BY id DESC LIMIT ?2
    )
    UNION ALL
    SELECT * FROM (
        SELECT id FROM jobs INDEXED BY dead_letters
        WHERE dead = 1 AND ?3 AND id > ?1 ORDER BY id LIMIT ?2
    )
)
