import type { Job } from '@stackquay/engine-api'
import { dataPath } from '@stackquay/engine-api/workload'
import type { DatabaseInput } from '../../entry-types.ts'
import { serverPath } from '../mysql-family.ts'

/**
 * Makes the system tables beside the final place and moves them there as the last act. Killed at any moment it leaves
 * either nothing or a whole directory, and it never touches one that is there.
 */
export function initJob(input: DatabaseInput, line: string): Job {
  return {
    name: 'init',
    title: `Create the MariaDB ${input.version} database "${input.database}"`,
    argv: ['/bin/sh', '-c', script, 'init', basedirOf(input), serverPath(input), line],
    cwd: dataPath(input.name),
    env: { LC_ALL: 'C' },
    timeoutSeconds: 600,
    inputs: [],
    creates: serverPath(input),
    once: true,
  }
}

/** The directory an installation lies in: `/usr` for `/usr/sbin/mariadbd`. */
export function basedirOf({ toolchain }: DatabaseInput): string {
  return toolchain.directory.replace(/\/[^/]+\/?$/, '') || '/'
}

// "cross-bootstrap" leaves out what belongs to this machine: accounts for its host name, and asking for it in the DNS.
// "socket" gives the administrator a password that nothing matches, and there is no socket to come in by.
const script = `set -eu
base=$1 server=$2 line=$3
if [ -s "$server/release" ]; then echo "The database is there already."; exit 0; fi
install=
for at in bin/mariadb-install-db scripts/mariadb-install-db bin/mysql_install_db scripts/mysql_install_db; do
  if [ -x "$base/$at" ]; then install=$base/$at; break; fi
done
if [ -z "$install" ]; then
  echo "The program mariadb-install-db is missing below $base. Install the whole of MariaDB Server." >&2
  exit 1
fi
rm -rf "$server.new"
"$install" --no-defaults "--basedir=$base" "--datadir=$server.new" --cross-bootstrap --skip-test-db \\
  --auth-root-authentication-method=socket --auth-root-socket-user=root
echo "$line" > "$server.new/release"
mv "$server.new" "$server"
`
