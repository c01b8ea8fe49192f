import { dataPath } from '@stackquay/engine-api/workload'
import { clientMissing, type DumpMethod, type DumpProgram } from '../dump-method.ts'
import { StatementReader } from '../dumps/statement-reader.ts'
import type { DatabaseInput } from '../entry-types.ts'
import { familyDialect } from './mysql-family-dialect.ts'

/**
 * A dump is read with the rights of the database's own user, who has them on this database alone. The server knows no transaction for
 * what defines tables, so a load that fails has changed what it came to.
 */
export function familyDump(clients: string): DumpMethod<DatabaseInput> {
  return {
    formats: [{ name: 'sql', extension: 'sql' }],
    isAtomic: false,
    installClients: () => `apt-get install -y ${clients}`,
    look: (input) => program(input, 'look', lookScript),
    write: (input) => program(input, 'write', writeScript),
    load: (input, { mode }) => program(input, 'load', loadScript, mode),
    clean: (input, empties) => (empties ? program(input, 'clean', emptyScript) : null),
    reader: () => new StatementReader(familyDialect()),
  }
}

function program(input: DatabaseInput, act: string, script: string, ...words: readonly string[]): DumpProgram {
  return {
    argv: [
      '/bin/sh',
      '-c',
      findClient + script,
      act,
      input.toolchain.directory,
      String(input.listen.port),
      input.username,
      input.database,
      ...words,
    ],
    env: { MYSQL_PWD: input.secret('password'), LC_ALL: 'C' },
    cwd: dataPath(input.name),
    beside: input.name,
  }
}

const findClient = `set -eu
directory=$1 port=$2 user=$3 database=$4
shift 4
find_client() {
  for at in "$directory" "$directory/../bin" /usr/bin /usr/local/bin; do
    for name in "$@"; do
      if [ -x "$at/$name" ]; then found=$at/$name; return; fi
    done
  done
  echo "Neither of the programs $* is on this machine." >&2
  exit ${clientMissing}
}
connected() {
  program=$1
  shift
  "$program" --no-defaults --protocol=TCP --host=127.0.0.1 "--port=$port" "--user=$user" --default-character-set=utf8mb4 "$@"
}
`

const lookScript = `find_client mariadb mysql
client=$found
connected "$client" --batch --raw --skip-column-names -e "SELECT CONCAT('{\\"isEmpty\\":', IF(
  (SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()) +
  (SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = DATABASE()) +
  (SELECT COUNT(*) FROM information_schema.events WHERE event_schema = DATABASE()) = 0, 'true', 'false'), '}')" "$database"
`

// What one of the two programs alone understands is "loose" for the other. Tablespaces take rights on the whole server.
const writeScript = `find_client mariadb-dump mysqldump
connected "$found" --single-transaction --quick --routines --events --triggers --hex-blob --no-tablespaces \\
  --loose-set-gtid-purged=OFF --loose-column-statistics=0 "$database"
`

const emptyScript = `find_client mariadb mysql
connected "$found" --batch -e "DROP DATABASE IF EXISTS \\\`$database\\\`; CREATE DATABASE \\\`$database\\\` CHARACTER SET utf8mb4"
`

/*
 * The client carries out commands of its own that stand in what it reads, and could start programs. With --binary-mode it knows none of
 * them in what does not come from a terminal, but for the delimiter and the character set; MariaDB's has a sandbox besides. It asks for no
 * file of this machine that a server names.
 */
const loadScript = `mode=$1
if [ "$mode" = replace ]; then (
${emptyScript}); fi
find_client mariadb mysql
sandbox=
if "$found" --no-defaults --sandbox --version >/dev/null 2>&1; then sandbox=--sandbox; fi
connected "$found" --binary-mode --local-infile=0 --batch $sandbox --max-allowed-packet=1G "$database" >/dev/null
`
