/**
 * Starts the server with its settings on standard input: the password is neither in argv, which every user of the machine
 * may read, nor in a file, nor left in the server's environment; and it is the one of now at every start. There are no
 * settings of the distribution and none that a client could have written back. An empty password, which also a tool that is
 * missing would make, is a server that is open to everybody: it does not start.
 *
 * The password is written byte by byte as `\xNN`, so that no character of it can end the quotes or the line.
 *
 * A killed server leaves half-written rewrites of its append-only file behind, as large as its data. They are never read
 * again, and their names hold a process id, so no later one replaces them. The same holds for further names that a killed
 * backup gave to its files.
 */
export function startScript(program: string, settings: readonly string[]): readonly [string, ...string[]] {
  return ['/bin/sh', '-c', script, 'redis', program, settings.join('\n')]
}

const script = `set -eu
program=$1 settings=$2
password=$(printf %s "$PASSWORD" | od -An -v -tx1 | tr -cd 0-9a-f | sed 's/../\\\\x&/g')
unset PASSWORD
if [ -z "$password" ]; then echo "There is no password, and no server without one." >&2; exit 1; fi
rm -f temp-*.rdb temp-*.aof
rm -rf copy-*
exec "$program" - <<END
$settings
requirepass "$password"
END
`
