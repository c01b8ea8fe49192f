/*
 * What there is in a database, for people who look at it. $1 and $2 narrow it to one table.
 */

const own = `n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND ($1::text IS NULL OR (n.nspname = $1 AND c.relname = $2))`

export const tablesSql = `SELECT c.oid::text, n.nspname, c.relname, c.relkind::text, c.reltuples::text
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${own}
ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C" LIMIT $3`

export const columnsSql = `SELECT a.attrelid::text, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
  (a.attnotnull)::text, pg_catalog.pg_get_expr(d.adbin, d.adrelid), (a.attidentity = 'a' OR a.attgenerated <> '')::text, a.atttypid::text,
  (EXISTS (SELECT FROM pg_catalog.pg_operator o WHERE o.oprname = '=' AND o.oprleft = coalesce(nullif(t.typbasetype, 0), t.oid)
     AND o.oprright = o.oprleft) OR t.typcategory IN ('A', 'E', 'R', 'S') OR t.typtype = 'd')::text
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = ANY ($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum LIMIT $2`

const names = (table: string, numbers: string) =>
  `(SELECT json_agg(a.attname ORDER BY k.at) FROM unnest(${numbers}) WITH ORDINALITY k(number, at)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = ${table} AND a.attnum = k.number)::text`

export const constraintsSql = `SELECT o.conrelid::text, o.conname, o.contype::text, ${names('o.conrelid', 'o.conkey')},
  n.nspname, f.relname, ${names('o.confrelid', 'o.confkey')}
FROM pg_catalog.pg_constraint o
LEFT JOIN pg_catalog.pg_class f ON f.oid = o.confrelid LEFT JOIN pg_catalog.pg_namespace n ON n.oid = f.relnamespace
WHERE o.conrelid = ANY ($1::oid[]) AND o.contype IN ('p', 'f') ORDER BY o.conrelid, o.conname COLLATE "C" LIMIT $2`

export const indexesSql = `SELECT i.indrelid::text, c.relname, i.indisunique::text,
  (SELECT json_agg(pg_catalog.pg_get_indexdef(i.indexrelid, at, true) ORDER BY at) FROM generate_series(1, i.indnkeyatts) at)::text
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = ANY ($1::oid[]) ORDER BY i.indrelid, c.relname COLLATE "C" LIMIT $2`
