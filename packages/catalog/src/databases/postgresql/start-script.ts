/**
 * argv in front of the server's own. Two traps stand between a killed server and its next start:
 *
 * - PostgreSQL refuses to start while the process named in `postmaster.pid` lives. After a crash or a boot that number may
 *   belong to any other program of the same user, and the refusal would last for ever. The file is removed only when that
 *   process is not at home in this cluster (a server's working directory is its cluster). Were a server of this cluster
 *   still there, its shared memory would stop the second one all the same.
 * - Data of another major version cannot be read; the server's own words do not say what to do.
 *
 * Without /proc the file stays and PostgreSQL decides. `exec` keeps the process id the engine knows.
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
pid=$(head -n 1 "$cluster/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then
  home=$(readlink "/proc/$pid/cwd" 2>/dev/null)
  if [ "$home" != "$(cd "$cluster" && pwd -P)" ]; then rm -f "$cluster/postmaster.pid"; fi
fi
exec "$@"
`
