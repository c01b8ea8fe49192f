/*
 * What is in a cluster, in statements that print their answer as JSON. psql and the client of the built-in program run the same.
 */

/** Who looks into databases (`browse/reader.ts`): made when somebody first does, and no data. A program that stands alone can import nothing from there. */
export const uncountedRole = 'stackquay_reader'

/** In any database: one row with what belongs to all of them. */
export const clusterSql = `SELECT jsonb_build_object(
  'dataChecksums', current_setting('data_checksums') = 'on',
  'roles', (SELECT count(*) FROM pg_catalog.pg_roles WHERE rolname !~ '^pg_' AND rolname <> '${uncountedRole}')
)`

/** In any database: one row for each database with data in it. */
export const databasesSql = `SELECT datname FROM pg_catalog.pg_database
WHERE datallowconn AND NOT datistemplate ORDER BY datname COLLATE "C"`

/** The most that the tables of one database may take. */
const countingMinutes = 10

/**
 * In each of them: one row, of one snapshot. Rows are counted and their texts hashed, and the hashes added up: the same in
 * whatever order they lie. What decides how values look is fixed. Tables whose turn comes too late are named in \`uncounted\`;
 * unlogged ones, which no crash and no base backup keeps, in \`unlogged\`. A table that cannot be read ends it with the
 * server's words.
 *
 * The result of the block comes out through a setting that ends with the transaction: nothing is written.
 */
export const databaseSql = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL search_path = pg_catalog;
SET LOCAL client_min_messages = warning;
SET LOCAL statement_timeout = '${countingMinutes}min';
SET LOCAL idle_in_transaction_session_timeout = 0;
SET LOCAL datestyle = 'ISO, YMD';
SET LOCAL intervalstyle = 'postgres';
SET LOCAL timezone = 'UTC';
SET LOCAL extra_float_digits = 1;
SET LOCAL bytea_output = 'hex';
SET LOCAL lc_monetary = 'C';
DO $contents$
DECLARE
  own oid[] := ARRAY(SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema');
  relation record;
  counted jsonb;
  tables jsonb := '{}';
  uncounted jsonb := '[]';
  is_late boolean := false;
BEGIN
  FOR relation IN
    SELECT n.nspname, c.relname, n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'm') AND c.relpersistence = 'p' AND c.relispopulated
      AND (n.oid = ANY (own) OR c.oid = 'pg_catalog.pg_largeobject'::regclass)
    ORDER BY c.relpages, c.oid
  LOOP
    BEGIN
      IF is_late THEN RAISE query_canceled; END IF;
      EXECUTE format(
        $count$SELECT jsonb_build_object('rows', count(*), 'checksum',
          coalesce(sum(hashtextextended("counted row"::text COLLATE "C", 0)::numeric), 0)::text)
        FROM ONLY %I.%I AS "counted row"$count$, relation.nspname, relation.relname) INTO counted;
      tables := tables || jsonb_build_object(relation.name, counted);
    EXCEPTION WHEN query_canceled THEN
      is_late := true;
      uncounted := uncounted || to_jsonb(relation.name);
    END;
  END LOOP;
  PERFORM set_config('stackquay.contents', jsonb_build_object(
    'schemas', cardinality(own),
    'functions', (SELECT count(*) FROM pg_proc WHERE pronamespace = ANY (own)
      AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e')),
    'types', (SELECT count(*) FROM pg_type WHERE typnamespace = ANY (own)),
    'views', (SELECT count(*) FROM pg_class WHERE relkind = 'v' AND relnamespace = ANY (own)),
    'indexes', (SELECT count(*) FROM pg_class WHERE relkind IN ('i', 'I') AND relnamespace = ANY (own)),
    'sequences', (SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relnamespace = ANY (own)),
    'triggers', (SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal),
    'extensions', (SELECT count(*) FROM pg_extension),
    'tables', tables,
    'uncounted', uncounted,
    'unlogged', (SELECT coalesce(jsonb_agg(n.nspname || '.' || c.relname ORDER BY n.nspname, c.relname), '[]')
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND c.relpersistence = 'u')
  )::text, true);
END
$contents$;
SELECT to_json(current_database())::text || ':' || current_setting('stackquay.contents');
COMMIT;
`
