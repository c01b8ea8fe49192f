/** Who reads a dump: no rights but on the database that it comes into. No project can have a database of this name. */
export const importRole = 'stackquay-import'

/** Who keeps what the server would run by itself; see below. Nobody can log in as it. */
const keeperRole = 'stackquay-imported'

/**
 * With the search path pg_catalog, in one transaction: what the import role made in this database becomes the property of who carries this out, and the role is gone.
 *
 * That one is a superuser, and the server itself runs parts of what a table's owner owns, with the owner's rights and when it likes: to
 * collect statistics it computes expressions of indexes and statistics, and differences of ranges. Where a dump brought its own
 * functions for that, or where it may be any function, the table goes to a role without rights. PostgreSQL records on what an
 * expression depends, except on what every server has; of that, only what cannot change anything is allowed in an index.
 */
export const handOverSql = `DO $hand$
DECLARE
  name text := '${importRole}';
  keeper text := '${keeperRole}';
  role oid := (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = name);
  kept oid[];
  relation oid;
BEGIN
  IF role IS NULL THEN RETURN; END IF;
  WITH foreign_function AS (
    SELECT p.oid FROM pg_proc p WHERE p.oid >= 16384
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
  ), measured AS (
    SELECT rngtypid AS type FROM pg_range WHERE rngsubdiff IN (SELECT oid FROM foreign_function)
    UNION SELECT rngmultitypid FROM pg_range WHERE rngsubdiff IN (SELECT oid FROM foreign_function)
  )
  SELECT array_agg(c.oid) INTO kept FROM pg_class c
  WHERE c.relowner = role AND c.relkind IN ('r', 'm', 'p', 'f') AND (
    EXISTS (
      SELECT FROM pg_index i JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
      WHERE i.indrelid = c.oid AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
        AND d.refobjid >= 16384 AND d.refclassid NOT IN ('pg_class'::regclass, 'pg_constraint'::regclass, 'pg_collation'::regclass)
        AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = d.refclassid AND e.objid = d.refobjid AND e.deptype = 'e')
    )
    OR EXISTS (SELECT FROM pg_statistic_ext s WHERE s.stxrelid = c.oid AND s.stxexprs IS NOT NULL)
    OR EXISTS (
      SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND (t.oid IN (SELECT type FROM measured)
        OR t.typbasetype IN (SELECT type FROM measured) OR t.typelem IN (SELECT type FROM measured))
    )
  );
  IF kept IS NOT NULL AND NOT EXISTS (SELECT FROM pg_roles WHERE rolname = keeper) THEN
    EXECUTE format('CREATE ROLE %I NOLOGIN NOINHERIT', keeper);
  END IF;
  FOREACH relation IN ARRAY coalesce(kept, '{}') LOOP
    EXECUTE format('ALTER TABLE %s OWNER TO %I', relation::regclass, keeper);
    RAISE WARNING 'The table % stays with the role "%": the server would run expressions of the dump with the rights of its owner. Once you trust them: ALTER TABLE % OWNER TO %;',
      relation::regclass, keeper, relation::regclass, quote_ident(current_user);
  END LOOP;
  EXECUTE format('REASSIGN OWNED BY %I TO CURRENT_USER', name);
  EXECUTE format('DROP OWNED BY %I', name);
  EXECUTE format('DROP ROLE %I', name);
END
$hand$;
`

/** What an import into a database with something in it may use there: it adds rows and things of its own, and changes nothing's form. */
export const grantSql = `DO $grant$
DECLARE
  name text := '${importRole}';
  schema text;
BEGIN
  EXECUTE format('GRANT CONNECT, CREATE, TEMPORARY ON DATABASE %I TO %I', current_database(), name);
  FOR schema IN
    SELECT nspname FROM pg_catalog.pg_namespace n WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_namespace'::regclass AND d.objid = n.oid AND d.deptype = 'e')
  LOOP
    EXECUTE format('GRANT USAGE, CREATE ON SCHEMA %I TO %I', schema, name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES ON ALL TABLES IN SCHEMA %I TO %I', schema, name);
    EXECUTE format('GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA %I TO %I', schema, name);
  END LOOP;
END
$grant$;
`

/** Whether there is nothing of people in this database. */
export const emptySql = `SELECT json_build_object('isEmpty', NOT EXISTS (
  SELECT FROM pg_catalog.pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'public')
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_namespace'::regclass AND d.objid = n.oid AND d.deptype = 'e')
) AND NOT EXISTS (
  SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'public' AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('e', 'i'))
) AND NOT EXISTS (
  SELECT FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
  WHERE n.nspname = 'public' AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
) AND NOT EXISTS (
  SELECT FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
  WHERE n.nspname = 'public' AND t.typrelid = 0 AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_type'::regclass AND d.objid = t.oid AND d.deptype IN ('e', 'i'))
) AND NOT EXISTS (SELECT FROM pg_catalog.pg_largeobject_metadata))
`
