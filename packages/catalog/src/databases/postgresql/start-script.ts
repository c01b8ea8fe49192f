import { removeStaleLock } from './stale-lock.ts'

/**
 * argv in front of the server's own: a lock without an owner is no blocker, and data of another major version, which
 * cannot be read, is refused with what to do, because the server's own words do not say it. `exec` keeps the process id
 * the engine knows.
 */
export function startScript(cluster: string, line: string): readonly [string, ...string[]] {
  return ['/bin/sh', '-c', script, 'postgresql', cluster, line]
}

const script = `cluster=$1 line=$2
shift 2
found=$(cat "$cluster/PG_VERSION" 2>/dev/null)
if [ -n "$found" ] && [ "$found" != "$line" ]; then
  echo "The data was written by PostgreSQL $found and cannot be read by $line. Choose version $found again." >&2
  exit 1
fi
${removeStaleLock}exec "$@"
`
