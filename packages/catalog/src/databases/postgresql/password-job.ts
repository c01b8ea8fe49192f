import type { Job } from '@stackquay/engine-api'
import { dataPath } from '@stackquay/engine-api/workload'
import type { DatabaseInput } from '../../entry-types.ts'
import { quoted } from './quoted.ts'
import { removeStaleLock } from './stale-lock.ts'

/**
 * Makes a rotated password the one of the cluster's user. The engine runs it when the reference has a new version (its
 * fingerprint changed); the cluster itself remembers whose password it has, so that a fresh one, or a job that ran before,
 * costs no start of a server. Killed at any moment it leaves the old password or the new one, and runs again.
 */
export function passwordJob(input: DatabaseInput, cluster: string): Job {
  return {
    name: 'password',
    title: `Set the password of "${input.username}"`,
    argv: [
      '/bin/sh',
      '-c',
      script,
      'password',
      input.toolchain.directory,
      cluster,
      passwordMark(input),
      quoted(input.username),
    ],
    cwd: dataPath(input.name),
    env: { LC_ALL: 'C' },
    stdin: input.secret('password'),
    timeoutSeconds: 600,
    inputs: [],
  }
}

/** Which secret in which version: what the file `password.mark` of a cluster says of the password that was set last. */
export function passwordMark(input: DatabaseInput): string {
  return JSON.stringify(input.secret('password'))
}

// A single-user server takes one statement a line from standard input and has no other clients. Whatever the cluster's own
// configuration logs, this statement is not written anywhere; `exit_on_error` makes a failure the job's.
const script = `set -eu
bin=$1 cluster=$2 mark=$3 role=$4
if [ "$(cat "$cluster/password.mark" 2>/dev/null || true)" = "$mark" ]; then
  cat > /dev/null
  echo "The password is set already."
  exit 0
fi
password=$(LC_ALL=C sed -e "s/'/''/g")
${removeStaleLock}printf "ALTER ROLE %s PASSWORD '%s'\\n" "$role" "$password" | "$bin/postgres" --single -D "$cluster" \\
  -c exit_on_error=true -c standard_conforming_strings=on -c password_encryption=scram-sha-256 \\
  -c log_statement=none -c log_min_duration_statement=-1 -c log_min_error_statement=panic postgres > /dev/null
printf '%s' "$mark" > "$cluster/password.mark.new"
mv "$cluster/password.mark.new" "$cluster/password.mark"
`
