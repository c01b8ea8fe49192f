import { dataPath } from '@stackquay/engine-api/workload'
import type { BackupMethod, BackupProgram } from '../../backup-method.ts'
import type { DatabaseInput } from '../../entry-types.ts'
import { clusterSql, databaseSql, databasesSql } from './backup/contents-sql.ts'

/**
 * On a machine a built-in program speaks to the server, for not every installation has its client programs. In a container
 * there is no Node, but all of PostgreSQL.
 */
export const backup: BackupMethod<DatabaseInput> = {
  online(input) {
    // The command of the protocol had another form before.
    if (Number.parseInt(input.toolchain.version, 10) < 15) return null
    return { ...program(input, 'copy', copyScript), prefix: 'cluster' }
  },
  live(input) {
    // Its functions had other names before.
    if (Number.parseInt(input.toolchain.version, 10) < 15) return null
    return { ...program(input, 'hold', holdScript), leftOut, later: ['cluster/pg_wal'] }
  },
  contents: (input) => program(input, 'contents', contentsScript, clusterSql, databasesSql, databaseSql),
}

/** What a base backup leaves out: of this run of the server alone. */
const leftOut = [
  'postmaster.pid',
  'postmaster.opts',
  'backup_label',
  'backup_manifest',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
].map((name) => `cluster/${name}`)

function program(input: DatabaseInput, act: string, script: string, ...words: readonly string[]): BackupProgram {
  const { node, file } = input.ourProgram('postgresql-backup')
  return {
    argv:
      input.inContainer === true
        ? ['/bin/sh', '-c', script, act, input.toolchain.directory, ...words]
        : [node, file, act],
    env: connectionVariables(input),
    cwd: dataPath(input.name),
    beside: input.name,
  }
}

/** For libpq and the built-in program. */
export function connectionVariables(input: DatabaseInput): BackupProgram['env'] {
  return {
    // Rules that initdb writes let backups in from there alone.
    PGHOST: '127.0.0.1',
    PGPORT: String(input.listen.port),
    PGUSER: input.username,
    PGDATABASE: input.database,
    PGPASSWORD: input.secret('password'),
    PGCONNECT_TIMEOUT: '30',
    LC_ALL: 'C',
  }
}

/*
 * The slot is gone with the session of psql, which waits for the backup and is ended by a failure of it: psql has no exit code
 * for that before version 16. Until then the server keeps the log that the backup has in it at the end. psql reads the script
 * from standard input, where only the text after "\!" goes to a shell.
 */
const copyScript = `set -eu
export bin=$1
"$bin/psql" -XqAt -o /dev/null -v ON_ERROR_STOP=1 -v slot="stackquay_backup_$$" <<'END'
SELECT pg_create_physical_replication_slot(:'slot', true, true);
\\! "$bin/pg_basebackup" -D - -Ft -X fetch -c fast -l Stackquay --no-password </dev/null || kill -KILL "$PPID"
END
`

/*
 * What is read from standard input is kept aside, for psql reads the script from there. Whatever ends the session ends the backup mode,
 * and the slot goes with it.
 */
const holdScript = `set -eu
bin=$1
exec 3<&0
"$bin/psql" -XqAt -v ON_ERROR_STOP=1 -v slot="stackquay_copy_$$" <<'END'
SET statement_timeout = 0;
SET idle_session_timeout = 0;
\\o /dev/null
DO $check$ BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_tablespace WHERE spcname NOT IN ('pg_default', 'pg_global')) THEN
    RAISE 'The cluster has tablespaces outside its folder, which a copy cannot hold. Move what is in them to pg_default, then drop them.';
  END IF;
END $check$;
SELECT pg_create_physical_replication_slot(:'slot', true, true);
SELECT pg_backup_start('Stackquay', true);
\\o
\\! echo ready; read -r line <&3 || kill -KILL "$PPID"
SELECT json_build_object('cluster/backup_label', labelfile) FROM pg_backup_stop(false);
\\! cat <&3 >/dev/null
END
`

const contentsScript = `set -eu
bin=$1 cluster=$2 databases=$3 database=$4
ask() { "$bin/psql" -XqAt -v ON_ERROR_STOP=1; }
line="{\\"cluster\\":$(printf '%s' "$cluster" | ask),\\"databases\\":{"
names=$(printf '%s' "$databases" | ask)
between=
while IFS= read -r name; do
  entry=$(printf '%s' "$database" | PGDATABASE=$name ask)
  line=$line$between$entry between=,
done <<END
$names
END
printf '%s}}\\n' "$line"
`
