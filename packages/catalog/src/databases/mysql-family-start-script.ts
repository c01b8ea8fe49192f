import { dataPath } from '@stackquay/engine-api/workload'
import { readerName, readerPrefix } from '../browse/reader-name.ts'
import type { DatabaseInput } from '../entry-types.ts'

/**
 * argv in front of the server's own. Before each start it writes what the server carries out before it takes the first
 * connection (`--init-file`): the database, its user with the present password, all rights on this database alone, an
 * administrator who cannot log in, and a user who reads this database and no more, for people who look into it. A rotated password, a copy of another project's data and a start that was cut off all
 * come right by the next start.
 *
 * The password comes in the environment and leaves it before the server starts; the file is as private as the data beside
 * it, which every reader of it has already. `exec` keeps the process id the engine knows.
 */
export function startScript(input: DatabaseInput, label: string, line: string): readonly [string, ...string[]] {
  return [
    '/bin/sh',
    '-c',
    script,
    'start',
    dataPath(input.name),
    label,
    line,
    identifier(input.database),
    // In a grant "_" stands for any character unless it is escaped.
    identifier(input.database.replaceAll(/[\\_%]/g, String.raw`\$&`)),
    `${literal(input.username)}@'%'`,
    `${literal(readerName)}@'%'`,
  ]
}

const script = String.raw`set -eu
data=$1 label=$2 line=$3 database=$4 granted=$5 account=$6 reading=$7
shift 7
found=$(cat "$data/server/release" 2>/dev/null || true)
if [ -n "$found" ] && [ "$found" != "$line" ]; then
  echo "The data was written by $label $found and is not opened by $line. Choose version $found again." >&2
  exit 1
fi
password=$(printf '%s' "$ACCOUNT_PASSWORD" | LC_ALL=C sed -e 's/\\/\\\\/g' -e "s/'/''/g")
reader=$(printf '%s' "${readerPrefix}$ACCOUNT_PASSWORD" | { sha256sum || shasum -a 256; } 2>/dev/null | cut -c1-64)
unset ACCOUNT_PASSWORD
mask=$(umask)
umask 077
cat > "$data/account.sql.new" <<SQL
CREATE DATABASE IF NOT EXISTS $database CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS $account IDENTIFIED BY '$password';
ALTER USER $account IDENTIFIED BY '$password';
GRANT ALL PRIVILEGES ON $granted.* TO $account;
ALTER USER IF EXISTS 'root'@'localhost' ACCOUNT LOCK;
SQL
if [ -n "$reader" ]; then cat >> "$data/account.sql.new" <<SQL
CREATE USER IF NOT EXISTS $reading IDENTIFIED BY '$reader';
ALTER USER $reading IDENTIFIED BY '$reader';
REVOKE ALL PRIVILEGES, GRANT OPTION FROM $reading;
GRANT SELECT, SHOW VIEW ON $granted.* TO $reading;
SQL
fi
mv "$data/account.sql.new" "$data/account.sql"
umask "$mask"
exec "$@"
`

function identifier(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
