import { dataPath } from '@stackquay/engine-api/workload'
import type { BackupMethod } from '../backup-method.ts'
import type { DatabaseInput } from '../entry-types.ts'

/**
 * Data is copied while the server is stopped. What is in it a client program counts, which lies beside every server but a bare
 * one. `limit` is the statement that limits those which follow, in the server's own words.
 */
export function familyBackup(limit: string): BackupMethod<DatabaseInput> {
  return {
    contents: (input) => ({
      argv: [
        '/bin/sh',
        '-c',
        script,
        'contents',
        input.toolchain.directory,
        String(input.listen.port),
        input.username,
        input.database,
        limit,
      ],
      env: { MYSQL_PWD: input.secret('password'), LC_ALL: 'C' },
      cwd: dataPath(input.name),
      beside: input.name,
    }),
  }
}

/*
 * The user sees its own database, which is all that people have in it. CHECKSUM TABLE reads every row. A table whose turn comes
 * too late, or that takes longer than the rest of the time, is named in `uncounted`; every other error ends it with the server's words.
 */
const script = `set -eu
tab=$(printf '\\t') tick='CHAR(96 USING utf8mb4)'
line_end='
'
directory=$1 port=$2 user=$3 database=$4 limit=$5
client=
for at in "$directory" "$directory/../bin"; do
  for name in mariadb mysql; do
    if [ -z "$client" ] && [ -x "$at/$name" ]; then client=$at/$name; fi
  done
done
if [ -z "$client" ]; then
  echo "There is no client program beside the server in $directory, so nobody can count. Install it." >&2
  exit 1
fi
ask() {
  "$client" --no-defaults --protocol=TCP --host=127.0.0.1 "--port=$port" "--user=$user" \\
    --default-character-set=utf8mb4 --batch --raw --skip-column-names "--init-command=$limit" -e "$1" "$database"
}
counts=$(ask "SELECT CONCAT(
  '\\"views\\":', (SELECT COUNT(*) FROM information_schema.views WHERE table_schema = DATABASE()),
  ',\\"routines\\":', (SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = DATABASE()),
  ',\\"triggers\\":', (SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()),
  ',\\"events\\":', (SELECT COUNT(*) FROM information_schema.events WHERE event_schema = DATABASE()))")
tables=$(ask "SELECT CONCAT(JSON_QUOTE(table_name), '$tab', $tick, REPLACE(table_name, $tick, CONCAT($tick, $tick)), $tick)
  FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY BINARY table_name")
deadline=$(($(date +%s) + 600))
counted= uncounted=
while IFS= read -r line; do
  if [ -z "$line" ]; then continue; fi
  json=\${line%%"$tab"*} table=\${line#*"$tab"}
  if [ "$(date +%s)" -gt "$deadline" ]; then uncounted=$uncounted,$json; continue; fi
  if answer=$(ask "SELECT COUNT(*) FROM $table; CHECKSUM TABLE $table" 2>&1); then
    counted="$counted,$json:{\\"rows\\":\${answer%%"$line_end"*},\\"checksum\\":\\"\${answer##*"$tab"}\\"}"
  else
    case $answer in
      *"ERROR 1969 "*|*"ERROR 3024 "*) uncounted=$uncounted,$json ;;
      *) echo "$answer" >&2; exit 1 ;;
    esac
  fi
done <<END
$tables
END
printf '{%s,"tables":{%s},"uncounted":[%s]}\\n' "$counts" "\${counted#,}" "\${uncounted#,}"
`
