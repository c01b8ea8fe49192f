/**
 * Shell lines, for `cluster` in a variable, that stand before every program which opens a cluster. PostgreSQL refuses to
 * while the process named in `postmaster.pid` lives. After a crash or a boot that number may belong to any other program
 * of the same user, and the refusal would last for ever. The file is removed only when that process is not at home in
 * this cluster (a server's working directory is its cluster). Were a server of this cluster still there, its shared memory
 * would stop the second one all the same. The number is negative when a single-user server wrote it.
 *
 * Without /proc the file stays and PostgreSQL decides.
 */
export const removeStaleLock = `pid=$(head -n 1 "$cluster/postmaster.pid" 2>/dev/null) || true
pid=\${pid#-}
if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then
  home=$(readlink "/proc/$pid/cwd" 2>/dev/null) || true
  if [ "$home" != "$(cd "$cluster" && pwd -P)" ]; then rm -f "$cluster/postmaster.pid"; fi
fi
`
