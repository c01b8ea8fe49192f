import { dataPath } from '@stackquay/engine-api/workload'
import { clientMissing, type DumpMethod, type DumpProgram } from '../../../dump-method.ts'
import { StatementReader } from '../../../dumps/statement-reader.ts'
import type { DatabaseInput } from '../../../entry-types.ts'
import { quoted } from '../quoted.ts'
import { dialect } from './dialect.ts'
import { emptySql, grantSql, handOverSql, importRole } from './hand-over-sql.ts'

/**
 * The project's user is a superuser of its server, so a dump is never read with its rights. It is read by a role that is made for the
 * import and may only use one database: a new one, which takes the place of the old one in one transaction; or, where it comes to
 * what is there, that one, in one transaction.
 */
export const dump: DumpMethod<DatabaseInput> = {
  formats: [
    { name: 'sql', extension: 'sql' },
    { name: 'custom', extension: 'dump', magic: 'PGDMP' },
  ],
  isAtomic: true,
  installClients: clientsOf,
  look: (input) => program(input, 'look', lookScript, emptySql),
  write: (input, format) => program(input, 'write', writeScript, format === 'custom' ? 'custom' : 'plain'),
  load: (input, { format, mode, key }) => {
    const { argv, env, ...rest } = program(input, 'load', loadScript, format, mode, handOverSql, grantSql)
    return { ...rest, argv, env: { ...env, DUMP_KEY: key } }
  },
  clean: (input) => program(input, 'clean', cleanScript, handOverSql),
  reader: (options) => new StatementReader(dialect(options)),
}

/** The command that installs the client programs of a release line on Debian and Ubuntu. */
export function clientsOf(line: string): string {
  return `apt-get install -y postgresql-common && /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y && apt-get install -y postgresql-client-${line}`
}

function program(input: DatabaseInput, act: string, script: string, ...words: readonly string[]): DumpProgram {
  return {
    argv: [
      '/bin/sh',
      '-c',
      findClient + script,
      act,
      input.toolchain.directory,
      input.toolchain.version.split('.')[0] ?? '',
      quoted(input.database),
      ...words,
    ],
    env: {
      PGHOST: '127.0.0.1',
      PGPORT: String(input.listen.port),
      PGUSER: input.username,
      PGDATABASE: input.database,
      PGPASSWORD: input.secret('password'),
      PGCONNECT_TIMEOUT: '30',
      PGCLIENTENCODING: 'UTF8',
      // What is asked with the rights of a superuser calls nothing that a dump has put into the way.
      PGOPTIONS: '-c search_path=pg_catalog',
      // Nothing of the user's own files.
      PGPASSFILE: '/dev/null',
      PGSERVICEFILE: '/dev/null',
      LC_ALL: 'C',
    },
    cwd: dataPath(input.name),
    beside: input.name,
  }
}

/*
 * Not every server has its client programs beside it: those of the machine do as well, when they are not older than the server where
 * that matters. The oldest that will do is taken: its dumps are read by the most servers.
 */
const findClient = `set -eu
bin=$1 line=$2 quoted=$3 own=$PGDATABASE
shift 3
find_client() {
  found=
  for at in "$bin/$1" $(ls -d /usr/lib/postgresql/*/bin/"$1" /usr/pgsql-*/bin/"$1" /opt/homebrew/opt/*/bin/"$1" 2>/dev/null | sort -V) /usr/bin/"$1" /usr/local/bin/"$1"; do
    if [ ! -x "$at" ]; then continue; fi
    version=$("$at" --version 2>/dev/null | sed -n 's/^[^(]*(PostgreSQL) \\([0-9]*\\).*/\\1/p')
    if [ "\${version:-0}" -ge "$2" ]; then found=$at; return; fi
  done
  if [ "$2" -le 1 ]; then echo "The program $1 of PostgreSQL is not on this machine." >&2
  else echo "The program $1 of PostgreSQL $2 or newer is not on this machine." >&2; fi
  exit ${clientMissing}
}
`

const lookScript = `find_client psql 1
printf '%s' "$1" | "$found" -XqAt -v ON_ERROR_STOP=1
`

// Owners and rights are of no use elsewhere, and stand in the way of most.
const writeScript = `find_client pg_dump "$line"
exec "$found" --no-password --no-owner --no-privileges "--format=$1"
`

/** Shell functions to speak to the server as the project's user, who may everything. Statements come in standard input. */
const asOwner = `find_client psql 1
psql=$found
ask() { "$psql" -XqAt -v ON_ERROR_STOP=1 -f - "$@"; }
`

// From a cluster whose import was cut off, at any place of it: the database takes connections, what the import made is gone, and what
// was committed belongs to the project's user.
const clean = `clean() {
  ask -d template1 -o /dev/null <<END
SET client_min_messages = error;
SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE usename = '${importRole}';
DROP DATABASE IF EXISTS "${importRole}" WITH (FORCE);
DROP DATABASE IF EXISTS "${importRole}-replaced" WITH (FORCE);
ALTER DATABASE $quoted ALLOW_CONNECTIONS true;
END
  printf '%s' "$hand" | ask
}
`

const cleanScript = `hand=$1
${asOwner}${clean}clean
`

/*
 * psql takes commands of its own out of what it reads, and could start programs. Its restricted mode, which it can only leave with a key
 * that no dump knows, refuses every one; one that does not know the mode is not used. The text that was sent ends with the key. So the
 * command behind it is refused, and with it all that came before, when the text was cut off or has a command in it.
 */
const loadScript = `format=$1 mode=$2 hand=$3 grants=$4
${asOwner}${clean}clean
if ! printf '\\\\restrict a\\n\\\\unrestrict a\\n' | "$psql" -XqAt -v ON_ERROR_STOP=1 -f - >/dev/null 2>&1; then
  echo "The program $psql is older than its restricted mode, without which no dump is read. Update it." >&2
  exit ${clientMissing}
fi
if [ "$format" = custom ]; then find_client pg_restore 1; restore=$found; fi
password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \\n')
if [ "$mode" = append ]; then into=$own; else into='${importRole}'; fi
ask <<END
SET log_statement = none;
SET log_min_duration_statement = -1;
SET log_min_error_statement = panic;
CREATE ROLE "${importRole}" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS NOINHERIT PASSWORD '$password';
END
if [ "$mode" = append ]; then printf '%s' "$grants" | ask
else
  # What only a superuser can install is there again when it was there before.
  extensions=$(ask <<'END'
SELECT format('CREATE EXTENSION IF NOT EXISTS %I SCHEMA %I CASCADE;', e.extname, n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  JOIN pg_available_extension_versions v ON v.name = e.extname AND v.version = e.extversion
WHERE NOT v.trusted AND n.nspname IN ('public', 'pg_catalog');
END
)
  ask -d template1 <<END
CREATE DATABASE "${importRole}" TEMPLATE template0;
GRANT CREATE, TEMPORARY ON DATABASE "${importRole}" TO "${importRole}";
END
  ask -d "$into" <<END
ALTER SCHEMA public OWNER TO "${importRole}";
$extensions
END
fi
load() {
  export PGUSER='${importRole}' PGPASSWORD=$password PGDATABASE=$into
  unset DUMP_KEY PGOPTIONS
  if [ "$mode" = append ]; then one=--single-transaction; else one=; fi
  if [ "$format" = custom ]; then "$restore" --no-password --no-owner --no-privileges --exit-on-error $one -d "$into"; return; fi
  "$psql" -Xq --no-password -v ON_ERROR_STOP=1 -o /dev/null $one -f /dev/fd/3 -f - -f /dev/fd/4 3<<RESTRICTED 4<<WHOLE
\\\\restrict $key
RESTRICTED
\\\\set whole 1
WHOLE
}
key=$DUMP_KEY
if (load); then :; else
  code=$?
  clean
  exit "$code"
fi
printf '%s' "$hand" | ask -d "$into"
if [ "$mode" = append ]; then exit 0; fi
ask -d template1 -o /dev/null <<END
ALTER DATABASE $quoted ALLOW_CONNECTIONS false;
SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname IN ('${importRole}', '$own');
BEGIN;
ALTER DATABASE $quoted RENAME TO "${importRole}-replaced";
ALTER DATABASE "${importRole}" RENAME TO $quoted;
COMMIT;
END
# It is done. What holds the old one, such as a replication slot, is no reason to say that it is not.
echo 'DROP DATABASE "${importRole}-replaced" WITH (FORCE);' | ask -d template1 ||
  echo 'What was replaced is still there as the database "${importRole}-replaced". Drop it.' >&2
`
