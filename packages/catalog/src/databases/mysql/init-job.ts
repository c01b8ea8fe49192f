import type { Job } from '@stackquay/engine-api'
import { dataPath } from '@stackquay/engine-api/workload'
import type { DatabaseInput } from '../../entry-types.ts'
import { serverPath } from '../mysql-family.ts'
import { ownOptions } from './own-options.ts'

/**
 * Makes the data directory beside the final place and moves it there as the last act. Killed at any moment it leaves
 * either nothing or a whole directory, and it never touches one that is there.
 *
 * "insecure" is an administrator without a password, instead of one whose password is printed: nothing listens yet, and
 * the first start locks the account before it takes a connection.
 */
export function initJob(input: DatabaseInput, line: string): Job {
  const server = serverPath(input)
  return {
    name: 'init',
    title: `Create the MySQL ${input.version} database "${input.database}"`,
    argv: [
      '/bin/sh',
      '-c',
      script,
      'init',
      server,
      line,
      input.toolchain.program,
      '--no-defaults',
      '--initialize-insecure',
      `--datadir=${server}.new`,
      '--character-set-server=utf8mb4',
      ...ownOptions,
    ],
    cwd: dataPath(input.name),
    env: { LC_ALL: 'C' },
    timeoutSeconds: 600,
    inputs: [],
    creates: server,
    once: true,
  }
}

// Ubuntu's package keeps the server in its own folders, whatever the permissions of others; its own words do not say so.
const script = `set -eu
server=$1 line=$2
shift 2
if [ -s "$server/release" ]; then echo "The database is there already."; exit 0; fi
rm -rf "$server.new"
if ! "$@"; then
  if [ "$1" = /usr/sbin/mysqld ] && [ -e /etc/apparmor.d/usr.sbin.mysqld ]; then
    echo "AppArmor may keep mysqld out of this folder: /etc/apparmor.d/usr.sbin.mysqld says where it may write." >&2
    echo "Add the line \\"\${server%/*}/** rwk,\\" to /etc/apparmor.d/local/usr.sbin.mysqld, then run: systemctl reload apparmor" >&2
  fi
  exit 1
fi
echo "$line" > "$server.new/release"
mv "$server.new" "$server"
`
