import { removeStaleLock } from '../stale-lock.ts'

/*
 * A file of the log that belongs to its name: the server makes files for later use, under later names, out of old ones. What the first page
 * says of its place tells them apart (`xlp_pageaddr`). Pieces have 16 MiB, as initdb makes clusters.
 */
const isReal = `is_real() {
  rest=\${2#????????}
  log=\${rest%????????} piece=\${rest#??????????????}
  said=$(od -An -tx8 -j8 -N8 "$1" 2>/dev/null) || return 1
  said=$(printf '%s' "$said" | tr -d ' ' | tr 'a-f' 'A-F')
  [ "$said" = "$log\${piece}000000" ]
}
`

const hex = '[0-9A-F]'.repeat(24)

/** Words: the cluster whose server writes the archive, or nothing. */
export const lookScript = `set -eu
export LC_ALL=C
cluster=$1
wal=$STACKQUAY_ARCHIVE/wal
${isReal}newest=
pieces() {
  if [ -d "$wal" ]; then (cd "$wal" && ls) | sed -n 's/^\\(${hex}\\)\\.gz$/\\1/p'; fi
  if [ -n "$cluster" ]; then (cd "$cluster/pg_wal" && ls) | grep -x '${hex}' | while IFS= read -r name; do
    if [ -e "$wal/$name.gz" ] || is_real "$cluster/pg_wal/$name" "$name"; then echo "$name"; fi
  done; fi
}
time_of() {
  if [ -e "$wal/$1.gz" ]; then at=$wal/$1.gz; else at=$cluster/pg_wal/$1; fi
  date -u -r "$at" +%Y-%m-%dT%H:%M:%SZ
}
all=$(pieces | sort -u)
if [ -n "$cluster" ]; then
  for name in $all; do if [ -e "$cluster/pg_wal/$name" ]; then newest=$name; fi; done
fi
runs= first= last= expected=
end_run() {
  if [ -z "$first" ]; then return; fi
  if [ -n "$runs" ]; then runs=$runs,; fi
  runs=$runs"{\\"first\\":\\"$first\\",\\"last\\":\\"$last\\",\\"endsAt\\":\\"$(time_of "$last")\\"}"
}
for name in $all; do
  rest=\${name#????????}
  log=\${rest%????????} piece=\${rest#????????}
  place="\${name%????????????????}:$((0x$log * 256 + 0x$piece))"
  if [ "$place" != "$expected" ]; then end_run; first=$name; fi
  last=$name
  expected="\${name%????????????????}:$((0x$log * 256 + 0x$piece + 1))"
done
end_run
waiting=0 since=null
if [ -n "$cluster" ]; then
  ready=$(cd "$cluster/pg_wal/archive_status" && ls -tr | grep '^${hex}\\.ready$') || ready=
  for name in $ready; do
    if [ "$waiting" = 0 ]; then since="\\"$(date -u -r "$cluster/pg_wal/archive_status/$name" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null)\\"" || since=null; fi
    waiting=$((waiting + 1))
  done
fi
if [ "$since" = '""' ]; then since=null; fi
if [ -n "$newest" ]; then newest="\\"$newest\\""; else newest=null; fi
printf '{"runs":[%s],"newest":%s,"waiting":%s,"waitingSince":%s}\\n' "$runs" "$newest" "$waiting" "$since"
`

/** Words: the first piece that stays. Names of other kinds (histories, labels) stay. */
export const pruneScript = `set -eu
export LC_ALL=C
first=$1
cd "$STACKQUAY_ARCHIVE/wal" 2>/dev/null || exit 0
{ echo "$first.gz"; ls | grep '^${hex}\\.gz$' || true; } | sort -u | while IFS= read -r name; do
  if [ "$name" = "$first.gz" ]; then break; fi
  rm -f "$name"
done
`

/*
 * For the server that recovers: a piece from the archive, or of the log of the data that still has it. What was not finished in the moment
 * of the copy may go to the archive meanwhile, and its file may become another one: then the archive has it. Pieces that were given are
 * written down. A damaged one ends the recovery (by a code above 125): it is not the end of the log.
 */
const restoreScript = `name=$1 to=$2
archived=$STACKQUAY_ARCHIVE/wal/$name.gz kept=$STACKQUAY_ORIGIN/pg_wal/$name
give() {
  gzip -cd "$archived" > "$to" || { echo "The piece $name in the archive is damaged." >&2; exit 200; }
  echo "$name" >> "$STACKQUAY_GIVEN"
  exit 0
}
${isReal}if [ -e "$archived" ]; then give; fi
case $name in *[!0-9A-F]*) exit 1 ;; esac
if [ -z "$STACKQUAY_ORIGIN" ] || [ ! -e "$kept" ]; then exit 1; fi
cp "$kept" "$to" 2>/dev/null || true
if [ -e "$archived" ]; then give; fi
if is_real "$to" "$name"; then
  echo "$name" >> "$STACKQUAY_GIVEN"
  exit 0
fi
rm -f "$to"
exit 1
`

/**
 * Words: directory of the server's programs, the copied cluster, the cluster that it is a copy of or nothing, the moment, the last piece.
 * The server has a socket in a private folder, no port, and no archive. Where the log ends without a transaction after the moment, all of
 * it is before the moment, if its last piece was there: then it is brought to its end. On its way it can be killed and begun again.
 */
export const recoverScript = `set -eu
bin=$1 cluster=$2 origin=$3 to=$4 last=$5
umask 077
export LC_ALL=C
room=/tmp/stackquay-$(id -u)-recover-$(printf '%s' "$cluster" | cksum | cut -d ' ' -f 1)
server=
down() {
  code=$?
  trap - EXIT
  if [ -n "$server" ]; then kill -INT "$server" 2>/dev/null || true; wait "$server" || true; fi
  rm -rf "$room"
  exit "$code"
}
trap down EXIT
trap 'exit 143' TERM INT HUP
rm -rf "$room"
mkdir -m 700 "$room"
echo 'local all all reject' > "$room/hba"
: > "$room/given"
export STACKQUAY_ORIGIN="$origin" STACKQUAY_GIVEN="$room/given" STACKQUAY_RESTORE="$room/restore"
cat > "$room/restore" <<'END'
${restoreScript}END
${removeStaleLock}rm -f "$cluster/standby.signal"
: > "$cluster/recovery.signal"
recover() {
  "$bin/postgres" -D "$cluster" -p 5432 -c listen_addresses= -c "unix_socket_directories=$room" -c "hba_file=$room/hba" \\
    -c ssl=off -c logging_collector=off -c log_destination=stderr -c log_min_messages=log -c log_line_prefix= -c autovacuum=off \\
    -c archive_mode=off -c hot_standby=off -c timezone=UTC -c log_timezone=UTC -c datestyle=ISO \\
    -c 'restore_command=/bin/sh "$STACKQUAY_RESTORE" %f "%p"' -c recovery_target_timeline=current -c recovery_target_action=promote \\
    -c recovery_target_inclusive=on -c recovery_target= -c recovery_target_name= -c recovery_target_xid= -c recovery_target_lsn= \\
    -c primary_conninfo= "$@" > "$room/log" 2>&1 < /dev/null &
  server=$!
  while kill -0 "$server" 2>/dev/null; do
    if grep -q 'database system is ready to accept connections' "$room/log"; then
      kill -INT "$server"
      wait "$server" || return 1
      server=
      return 0
    fi
    sleep 0.1
  done
  wait "$server" || true
  server=
  return 1
}
committed() { sed -n 's/.*last completed transaction was at log time \\([-0-9]*\\) \\([0-9:.]*\\)+00.*/\\1T\\2Z/p' "$1" | tail -n 1; }
if recover -c "recovery_target_time=$to"; then
  at=$(committed "$room/log")
else
  at=$(committed "$room/log")
  if ! grep -q 'recovery ended before configured recovery target was reached' "$room/log"; then
    grep -E 'PANIC|FATAL|ERROR|No space left|damaged' "$room/log" | head -n 5 >&2
    exit 1
  fi
  if ! grep -q -x "$last" "$room/given"; then
    echo "The log of changes ends before that moment: after $(tail -n 1 "$room/given"), its last transaction is of \${at:-before the base}. A piece of it is missing." >&2
    exit 1
  fi
  mv "$room/log" "$room/log.first"
  if ! recover; then tail -n 5 "$room/log" >&2; exit 1; fi
  then=$(committed "$room/log")
  at=\${then:-$at}
fi
rm -f "$cluster/password.mark" "$cluster/backup_label.old" "$cluster/tablespace_map.old"
sync
if [ -n "$at" ]; then at="\\"$at\\""; else at=null; fi
printf '{"lastTransactionAt":%s}\\n' "$at"
`

export const markScript = `set -eu
export LC_ALL=C
printf '%s' "$2" | "$1/psql" -XqAt -v ON_ERROR_STOP=1 | grep '^{'
`
