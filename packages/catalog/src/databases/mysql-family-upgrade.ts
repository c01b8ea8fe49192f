import { dataPath } from '@stackquay/engine-api/workload'
import { clientMissing } from '../dump-method.ts'
import type { DatabaseInput } from '../entry-types.ts'
import type { UpgradeMethod } from '../upgrade-method.ts'
import { serverPath } from './mysql-family.ts'

export interface FamilyUpgrade {
  /** Options of this server alone, in front of those that keep everybody else out. */
  options(input: DatabaseInput): readonly string[]
  /** The program that brings its own tables to the new version, where the server does not do that by itself when it starts. */
  readonly program?: string
  /** The package of that program. */
  readonly package: string
}

/**
 * The later server opens the data of the earlier one after a clean end of that, and changes it. It does so here alone, reached by a socket in a
 * folder of this program, before it runs for everybody; the line in the file `release` is changed as the last act.
 */
export function familyUpgrade({ options, program, package: name }: FamilyUpgrade): UpgradeMethod<DatabaseInput> {
  return {
    manner: 'in-place',
    blocker: () => null,
    installClients: () => `apt-get install -y ${name}`,
    convert: ({ next }) => ({
      argv: [
        '/bin/sh',
        '-c',
        script,
        'convert',
        serverPath(next),
        next.version,
        next.toolchain.directory,
        program ?? '',
        next.toolchain.program,
        '--no-defaults',
        `--datadir=${serverPath(next)}`,
        ...options(next),
      ],
      env: { LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin' },
      cwd: dataPath(next.name),
      beside: next.name,
    }),
  }
}

const script = `set -eu
data=$1 line=$2 bin=$3 program=$4
shift 4
umask 077
found=$(cat "$data/release")
if [ "$found" = "$line" ]; then echo 'It is done already.' >&2; exit 0; fi
tool=
if [ -n "$program" ]; then
  for at in "$bin/$program" "$bin/../bin/$program" "/usr/bin/$program" "/usr/local/bin/$program"; do
    if [ -x "$at" ]; then tool=$at; break; fi
  done
  if [ -z "$tool" ]; then echo "The program $program is not on this machine." >&2; exit ${clientMissing}; fi
fi
room=/tmp/stackquay-$(id -u)-$0-$(printf '%s' "$data" | cksum | cut -d ' ' -f 1)
rm -rf "$room"
mkdir -m 700 "$room"
server=
down() {
  code=$?
  trap - EXIT
  if [ -n "$server" ]; then kill -TERM "$server" 2>/dev/null || true; wait "$server" || code=1; fi
  if [ "$code" != 0 ]; then tail -n 10 "$room/log" >&2 || true; fi
  rm -rf "$room"
  exit "$code"
}
trap down EXIT
trap 'exit 143' TERM INT HUP
: > "$room/log"
"$@" --skip-networking "--socket=$room/socket" "--pid-file=$room/pid" > "$room/log" 2>&1 < /dev/null &
server=$!
until grep -q 'ready for connections' "$room/log"; do
  if ! kill -0 "$server" 2>/dev/null; then server=; exit 1; fi
  sleep 0.1
done
if [ -n "$tool" ]; then TMPDIR=$room "$tool" --no-defaults "--socket=$room/socket" --user=root --force >&2; fi
kill -TERM "$server"
ended=$server server=
wait "$ended"
echo "$line" > "$data/release.new"
mv "$data/release.new" "$data/release"
sync
`
