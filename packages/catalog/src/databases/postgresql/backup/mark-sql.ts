/** A transaction, and the piece of the log that it is in, which is finished. */
export const markSql = `SET synchronous_commit = on;
SELECT pg_catalog.pg_current_xact_id();
SELECT pg_catalog.json_build_object('piece', pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()));
SELECT pg_catalog.pg_switch_wal();
`
