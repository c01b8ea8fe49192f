import type { Job } from '@stackquay/engine-api'
import { dataPath } from '@stackquay/engine-api/workload'
import type { DatabaseInput } from '../../entry-types.ts'
import { passwordMark } from './password-job.ts'
import { quoted } from './quoted.ts'

/**
 * Makes the cluster with its user and its database beside the final place and moves it there as the last act. Killed at
 * any moment it leaves either nothing or a whole cluster, and running it again is always right: it never touches a
 * cluster that is there.
 */
export function initJob(input: DatabaseInput, cluster: string): Job {
  return {
    name: 'init',
    title: `Create the PostgreSQL ${input.version} database "${input.database}"`,
    argv: [
      '/bin/sh',
      '-c',
      script,
      'init',
      input.toolchain.directory,
      cluster,
      passwordMark(input),
      // One of this name is in every new cluster, and belongs to the same user.
      input.database === 'postgres'
        ? 'SELECT 1'
        : `CREATE DATABASE ${quoted(input.database)} OWNER ${quoted(input.username)}`,
      `--username=${input.username}`,
      '--pwfile=/dev/stdin',
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      ...localeOptions(input.toolchain.version),
      '--no-instructions',
      ...(input.throwaway === true ? ['--no-sync'] : []),
    ],
    cwd: dataPath(input.name),
    env: { LC_ALL: 'C' },
    stdin: input.secret('password'),
    timeoutSeconds: 600,
    inputs: [],
    creates: cluster,
    once: true,
  }
}

// An upgrade that was killed between its two renames left the data beside its place: it is there, and no new one is made.
// `cat |` makes standard input a pipe: initdb opens /dev/stdin by name, which fails when it is a socket, as the one of a
// child of Node is. `exit_on_error` gives the single-user server an exit code that tells of failures.
// The host rule is for `exposePort`; until then the server listens on loopback alone.
const script = `set -eu
bin=$1 cluster=$2 mark=$3 sql=$4
shift 4
if [ ! -e "$cluster" ] && [ -e "$cluster.old" ]; then mv "$cluster.old" "$cluster"; fi
if [ -s "$cluster/PG_VERSION" ]; then cat > /dev/null; echo "The database is there already."; exit 0; fi
rm -rf "$cluster.new"
cat | "$bin/initdb" -D "$cluster.new" "$@"
echo 'host all all all scram-sha-256' >> "$cluster.new/pg_hba.conf"
printf '%s\\n' "$sql" | "$bin/postgres" --single -D "$cluster.new" -c exit_on_error=true postgres
printf '%s' "$mark" > "$cluster.new/password.mark"
mv "$cluster.new" "$cluster"
`

/** The same order and case rules on every machine: those of Unicode code points, not of the host's locale. */
export function localeOptions(version: string): string[] {
  return Number.parseInt(version, 10) >= 17
    ? ['--no-locale', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
    : ['--locale=C.UTF-8']
}
