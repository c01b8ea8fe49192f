/** In any database: what is there to be carried over, and what no dump holds. */
export const lookSql = `SELECT json_build_object(
  'names', (
    SELECT coalesce(json_agg(datname ORDER BY datname NOT IN ('template1'), datname NOT IN ('postgres'), datname COLLATE "C"), '[]')
    FROM pg_database WHERE datname <> 'template0'
  ),
  'blockers', (SELECT coalesce(json_agg(text), '[]') FROM (
    SELECT format('The database "%s" accepts no connections, so it cannot be read. Allow them (ALTER DATABASE %I ALLOW_CONNECTIONS true) or drop it.', datname, datname)
    FROM pg_database WHERE datname <> 'template0' AND NOT datallowconn AND datconnlimit <> -2
    UNION ALL
    SELECT format('The database "%s" is left over from a DROP DATABASE that broke off. Drop it again.', datname)
    FROM pg_database WHERE datconnlimit = -2
    UNION ALL
    SELECT format('The name of the database %s has a line break. Rename it.', to_json(datname))
    FROM pg_database WHERE datname ~ '[\\n\\r]'
    UNION ALL
    SELECT format('The tablespace "%s" lies outside of the data. Move what is in it and drop it.', spcname)
    FROM pg_tablespace WHERE spcname NOT IN ('pg_default', 'pg_global')
    UNION ALL
    SELECT format('%s prepared transactions wait for COMMIT PREPARED or ROLLBACK PREPARED.', count(*))
    FROM pg_prepared_xacts HAVING count(*) > 0
    UNION ALL
    SELECT format('The replication slot "%s" would be lost. Drop it: SELECT pg_drop_replication_slot(%L)', slot_name, slot_name)
    FROM pg_replication_slots WHERE NOT temporary
  ) AS found (text))
)`

/** The most that counting the tables of one database may take. */
const countingMinutes = 10

/**
 * In each database: one row, \`"name":{…}\`. Rows of tables and their texts by MD5, added up, so that order and release line do not matter; that
 * of extensions is theirs, and may change with their version. What a table's turn comes too late for is left out.
 */
export const countSql = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL search_path = pg_catalog;
SET LOCAL client_min_messages = warning;
SET LOCAL statement_timeout = '${countingMinutes}min';
SET LOCAL datestyle = 'ISO, YMD';
SET LOCAL intervalstyle = 'postgres';
SET LOCAL timezone = 'UTC';
SET LOCAL extra_float_digits = 1;
SET LOCAL bytea_output = 'hex';
SET LOCAL lc_monetary = 'C';
DO $count$
DECLARE
  own oid[] := ARRAY(SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema');
  relation record;
  counted jsonb;
  tables jsonb := '{}';
  sequences jsonb := '{}';
  uncounted jsonb := '[]';
  is_late boolean := false;
BEGIN
  FOR relation IN
    SELECT n.nspname, c.relname, c.relkind, n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'S') AND c.relpersistence <> 't'
      AND (n.oid = ANY (own) OR c.oid = 'pg_catalog.pg_largeobject'::regclass)
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
    ORDER BY c.relkind DESC, c.relname, n.nspname
  LOOP
    BEGIN
      IF is_late THEN RAISE query_canceled; END IF;
      IF relation.relkind = 'S' THEN
        EXECUTE format('SELECT jsonb_build_object(''last'', last_value, ''called'', is_called) FROM %I.%I', relation.nspname, relation.relname) INTO counted;
        sequences := sequences || jsonb_build_object(relation.name, counted);
      ELSE
        EXECUTE format(
          $rows$SELECT jsonb_build_object('rows', count(*), 'checksum',
            coalesce(sum(('x' || left(md5("counted row"::text), 15))::bit(60)::bigint::numeric), 0)::text)
          FROM ONLY %I.%I AS "counted row"$rows$, relation.nspname, relation.relname) INTO counted;
        tables := tables || jsonb_build_object(relation.name, counted);
      END IF;
    EXCEPTION WHEN query_canceled THEN
      is_late := true;
      uncounted := uncounted || to_jsonb(relation.name);
    END;
  END LOOP;
  PERFORM set_config('stackquay.count', jsonb_build_object(
    'tables', tables,
    'sequences', sequences,
    'uncounted', uncounted,
    'views', (SELECT count(*) FROM pg_class WHERE relkind IN ('v', 'm') AND relnamespace = ANY (own)),
    'functions', (SELECT count(*) FROM pg_proc WHERE pronamespace = ANY (own)
      AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e')),
    'indexes', (SELECT count(*) FROM pg_class WHERE relkind IN ('i', 'I') AND relnamespace = ANY (own)),
    'triggers', (SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal),
    'extensions', (SELECT coalesce(jsonb_agg(extname ORDER BY extname COLLATE "C"), '[]') FROM pg_extension)
  )::text, true);
END
$count$;
SELECT to_json(current_database())::text || ':' || current_setting('stackquay.count');
COMMIT;
`

/** In any database: who there is, and which databases there are. */
export const rolesSql = `SELECT jsonb_build_object(
  'roles', (SELECT jsonb_object_agg(rolname, jsonb_build_array(rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, rolconnlimit, rolpassword, rolvaliduntil))
    FROM pg_authid WHERE rolname !~ '^pg_'),
  'members', (SELECT coalesce(jsonb_agg(member::regrole || ' in ' || roleid::regrole ORDER BY member::regrole::text COLLATE "C", roleid::regrole::text COLLATE "C"), '[]')
    FROM (SELECT DISTINCT member, roleid FROM pg_auth_members) AS m),
  'databases', (SELECT jsonb_object_agg(datname, jsonb_build_array(pg_get_userbyid(datdba), pg_encoding_to_char(encoding), datcollate, datctype, datconnlimit, datistemplate))
    FROM pg_database WHERE datname NOT IN ('template0'))
)`
