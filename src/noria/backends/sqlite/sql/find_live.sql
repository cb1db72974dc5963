-- Ids of jobs in order that have not ended; asked only while these are few. They are sorted, since no index of theirs
-- is in the order of ids.
-- In: 1 only ids beyond this one; 2 how many; 3 whether the oldest come first; 4 to 8 whether queued ones, running ones,
--     parked ones, those that wait for their time, and those that wait for something else.
-- Out: one row, JSON [id as hex, …].
-- Locks: reads only.
-- Safe to repeat: yes.
WITH few AS (
    SELECT id FROM jobs INDEXED BY ready WHERE ?4 AND state = 2 AND crashes < 2 AND gate IS NULL
    UNION ALL
    SELECT id FROM jobs INDEXED BY bound WHERE ?4 AND state = 2 AND crashes < 2 AND gate IS NOT NULL
    UNION ALL
    SELECT id FROM jobs INDEXED BY suspects WHERE ?4 AND state = 2 AND crashes >= 2
    UNION ALL
    SELECT id FROM jobs INDEXED BY held WHERE ?5 AND state = 3
    UNION ALL
    SELECT id FROM jobs INDEXED BY parked_since WHERE ?6 AND state = 7
    UNION ALL
    SELECT id FROM jobs INDEXED BY due WHERE ?7 AND state IN (1, 6)
    UNION ALL
    SELECT id FROM jobs INDEXED BY waiting_all WHERE ?8 AND state = 4
)
SELECT json_group_array(hex(id)) FROM (
    SELECT * FROM (SELECT id FROM few WHERE NOT ?3 AND id < ?1 ORDER BY id DESC LIMIT ?2)
    UNION ALL
    SELECT * FROM (SELECT id FROM few WHERE ?3 AND id > ?1 ORDER BY id LIMIT ?2)
)
