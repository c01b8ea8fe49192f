import { clientMissing } from '../../../dump-method.ts'
import { removeStaleLock } from '../stale-lock.ts'

/**
 * Shell lines in front of each program. Words: the directory of this server’s programs, the cluster, the line that wrote it, the line that it
 * becomes, and the project’s user.
 */
export const prelude = `set -eu
bin=$1 cluster=$2 first=$3 last=$4 user=$5
shift 5
umask 077
`

/*
 * A dump may be read by its own release line or a later one, so the newest program between the two lines is taken: on a machine both halves
 * of a transfer find the same.
 */
const findClient = `find_client() {
  found= best=0
  for at in "$bin/$1" /usr/lib/postgresql/*/bin/"$1" /usr/pgsql-*/bin/"$1" /opt/homebrew/opt/*/bin/"$1" /usr/local/opt/*/bin/"$1" /usr/bin/"$1" /usr/local/bin/"$1"; do
    if [ ! -x "$at" ]; then continue; fi
    version=$("$at" --version 2>/dev/null | sed -n 's/^[^(]*(PostgreSQL) \\([0-9]*\\).*/\\1/p')
    version=\${version:-0}
    if [ "$version" -ge "$first" ] && [ "$version" -le "$last" ] && [ "$version" -gt "$best" ]; then found=$at best=$version; fi
  done
  if [ -n "$found" ]; then return; fi
  echo "The program $1 of PostgreSQL $last (or of $first at least) is not on this machine." >&2
  exit ${clientMissing}
}
`

export const checkScript = `${prelude}${findClient}for one in pg_dump pg_dumpall pg_restore psql; do find_client "$one"; done
`

/*
 * A server that this program alone can reach: a socket in a folder of its own and no port, whatever the cluster's own rules say. Its path is
 * short, because sockets want that, and always the same, so that nothing is left of one that was killed. The server ends with the program. What waits for nothing but the disk is left out for data that is thrown away after a crash anyway.
 */
const serve = `${findClient}find_client psql
psql=$found room= server=
down() {
  code=$?
  trap - EXIT
  if [ -n "$server" ]; then kill -INT "$server" 2>/dev/null || true; wait "$server" || true; fi
  # What its clients say of a server that crashed is that it went.
  if [ "$code" != 0 ] && [ -e "$room/log" ]; then
    grep -E 'PANIC|FATAL|No space left' "$room/log" | grep -v 'the database system is' | head -n 3 >&2 || true
  fi
  rm -rf "$room"
  exit "$code"
}
trap down EXIT
trap 'exit 143' TERM INT HUP
begin() {
  "$bin/postgres" -D "$cluster" -p 5432 -c listen_addresses= -c "unix_socket_directories=$room" -c "hba_file=$room/hba" \\
    -c ssl=off -c logging_collector=off -c log_destination=stderr -c autovacuum=off -c archive_mode=off "$@" > "$room/log" 2>&1 < /dev/null &
  server=$!
}
serve() {
  cluster=$1 tries=50
  shift
  ${removeStaleLock.replaceAll('\n', '\n  ').trimEnd()}
  room=/tmp/stackquay-$(id -u)-$0-$(printf '%s' "$cluster" | cksum | cut -d ' ' -f 1)
  rm -rf "$room"
  mkdir -m 700 "$room"
  echo 'local all all trust' > "$room/hba"
  begin "$@"
  export PGHOST="$room" PGPORT=5432 PGUSER="$user" PGDATABASE=template1 PGOPTIONS='-c default_transaction_read_only=off'
  until "$psql" -XqAtc 'SELECT 1' > "$room/answer" 2>&1; do
    sleep 0.1
    if kill -0 "$server" 2>/dev/null; then continue; fi
    server= tries=$((tries - 1))
    # What a server that was killed had started takes a moment to go.
    if [ "$tries" = 0 ] || ! grep -q 'still in use\\|postmaster.pid' "$room/log"; then
      tail -n 5 "$room/log" >&2
      exit 1
    fi
    begin "$@"
  done
}
ask() { "$psql" -XqAt -v ON_ERROR_STOP=1 "$@"; }
`
const quick = '-c fsync=off -c full_page_writes=off -c synchronous_commit=off'

/**
 * The old cluster is in its place, and nothing of the new one is left. One that lies beside a cluster of the old line is of an upgrade before
 * this, and of no use. What is deleted loses its name first: half of a cluster must never look like one.
 */
const restored = `version=$(cat "$cluster/PG_VERSION" 2>/dev/null) || version=
if [ -e "$cluster.old" ] && { [ ! -e "$cluster" ] || [ "$version" = "$last" ]; }; then
  if [ -e "$cluster" ]; then
    rm -rf "$cluster.gone"
    mv "$cluster" "$cluster.gone"
  fi
  mv "$cluster.old" "$cluster"
fi
rm -rf "$cluster.gone"
if [ -e "$cluster.old" ]; then mv "$cluster.old" "$cluster.gone"; fi
rm -rf "$cluster.new" "$cluster.gone"
`

export const lookScript = `${prelude}${restored}${serve}serve "$cluster"
printf '%s' "$1" | ask
`

/** pg_dumpall ends its text for psql by words that one of a few months ago does not know; the cluster has its first user already. */
export const readSettingsScript = `${prelude}${serve}find_client pg_dumpall
dumpall=$found
serve "$cluster"
"$dumpall" --no-password --globals-only > "$room/globals"
grep -v -x -F -e "CREATE ROLE $user;" -e "CREATE ROLE \\"$user\\";" "$room/globals" | sed -E '/^\\\\(un)?restrict [A-Za-z0-9]+$/d'
`

/*
 * Settings that ALTER SYSTEM wrote come along one by one, as far as the new server knows them.
 */
export const writeSettingsScript = `${prelude}${serve}rm -rf "$cluster.new"
"$bin/initdb" -D "$cluster.new" "--username=$user" --auth=trust --encoding=UTF8 "$@" --no-instructions --no-sync < /dev/null > /dev/null
for name in pg_hba.conf pg_ident.conf password.mark; do
  if [ -e "$cluster/$name" ]; then cp "$cluster/$name" "$cluster.new/$name"; fi
done
if [ -e "$cluster/postgresql.auto.conf" ]; then
  cp "$cluster.new/postgresql.auto.conf" "$cluster.new/as-made"
  grep -v '^[[:space:]]*\\(#\\|$\\)' "$cluster/postgresql.auto.conf" > "$cluster.new/wanted" || true
  while IFS= read -r line; do
    cp "$cluster.new/postgresql.auto.conf" "$cluster.new/before"
    printf '%s\\n' "$line" >> "$cluster.new/postgresql.auto.conf"
    if "$bin/postgres" -D "$cluster.new" -C config_file < /dev/null > /dev/null 2>&1; then continue; fi
    mv "$cluster.new/before" "$cluster.new/postgresql.auto.conf"
    echo "Not known by PostgreSQL $last, and left out: $line" >&2
  done < "$cluster.new/wanted"
  rm -f "$cluster.new/as-made" "$cluster.new/wanted" "$cluster.new/before"
fi
serve "$cluster.new" ${quick}
ask -o /dev/null -f -
`

export const readDatabaseScript = `${prelude}${serve}find_client pg_dump
dump=$found
name=$(printf '%b.' "$1")
serve "$cluster"
export PGDATABASE="\${name%.}"
"$dump" --no-password --format=custom --compress=0
`

/** The databases that every cluster has are made anew, so that they have the owner, the rights and the language rules that they had. */
export const writeDatabaseScript = `${prelude}${serve}find_client pg_restore
restore=$found
name=$(printf '%b.' "$1")
name=\${name%.}
serve "$cluster.new" ${quick}
case "$name" in
  template1) via=postgres clean='--clean --if-exists' ;;
  postgres) via=template1 clean='--clean --if-exists' ;;
  *) via=template1 clean= ;;
esac
"$restore" --no-password --exit-on-error --create $clean -d "$via"
PGDATABASE=$name ask -c ANALYZE || echo 'Its statistics could not be collected. The server does that by itself later.' >&2
`

export const countScript = `${prelude}${serve}roles=$2 count=$3
serve "$1" -c default_transaction_read_only=on
line="{\\"cluster\\":$(printf '%s' "$roles" | ask),\\"databases\\":{"
names=$(ask -c "SELECT datname FROM pg_database WHERE datname <> 'template0' ORDER BY datname COLLATE \\"C\\"")
between=
while IFS= read -r name; do
  entry=$(printf '%s' "$count" | PGDATABASE=$name ask)
  line=$line$between$entry between=,
done <<END
$names
END
printf '%s}}\\n' "$line"
`

/**
 * On the disk first, then in its place. Between the two renames there is no cluster: whoever comes then, the next attempt or a start, finds the
 * old one beside it. Done twice it is the same as done once.
 */
export const swapScript = `${prelude}if [ -e "$cluster.new" ]; then
  "$bin/initdb" --sync-only -D "$cluster.new" < /dev/null > /dev/null
  if [ -e "$cluster" ]; then mv "$cluster" "$cluster.old"; fi
  mv "$cluster.new" "$cluster"
  sync
fi
if [ "$(cat "$cluster/PG_VERSION")" != "$last" ]; then echo "The data of PostgreSQL $last is not there." >&2; exit 1; fi
`

export const undoScript = `${prelude}${restored}if [ "$(cat "$cluster/PG_VERSION")" != "$first" ]; then echo "The data of PostgreSQL $first is not there." >&2; exit 1; fi
sync
`

export const finishScript = `${prelude}if [ "$(cat "$cluster/PG_VERSION")" != "$last" ]; then echo "The data of PostgreSQL $last is not there." >&2; exit 1; fi
rm -rf "$cluster.gone"
if [ -e "$cluster.old" ]; then mv "$cluster.old" "$cluster.gone"; fi
rm -rf "$cluster.gone" "$cluster.new"
`
