import { dataPath } from '@stackquay/engine-api/workload'
import type { BackupMethod, BackupProgram } from '../../backup-method.ts'
import type { ServiceInput } from '../../entry-types.ts'
import { countingScript } from './counting-script.ts'

/** `redis-cli` lies beside every server: in the packages of systems, in the image, and where somebody built it. */
export const backup: BackupMethod<ServiceInput> = {
  online: (input) => program(input, 'copy', copyScript, dataPath('redis')),
  contents: (input) => program(input, 'contents', contentsScript, countingScript),
}

function program(input: ServiceInput, act: string, script: string, word: string): BackupProgram {
  return {
    argv: ['/bin/sh', '-c', script, act, input.toolchain?.directory ?? '', String(input.listen('redis').port), word],
    env: { REDISCLI_AUTH: input.secret('password'), LC_ALL: 'C' },
    cwd: dataPath('redis'),
    beside: 'redis',
  }
}

/** An error of the server is an answer for redis-cli, which ends with 0; with "-e" only from version 7 on. */
const asking = `set -eu
bin=$1 port=$2
redis() {
  said=$("$bin/redis-cli" -p "$port" --raw "$@")
  case $said in
    ERR*|NOAUTH*|WRONGPASS*|NOPERM*|LOADING*|OOM*|MISCONF*|BUSY*) echo "$said" >&2; return 1 ;;
  esac
  printf '%s\\n' "$said"
}
`

/*
 * As redis.io describes it under "Backing up AOF data": with automatic rewrites off and none under way, the files are given
 * further names; then rewrites are on again. Under those names they stay, whatever the server does: a rewrite makes new files,
 * and the last one only grows. What is added while tar reads is left out, and a command that is cut at the end the server
 * drops when it starts. tar ends with 1 when a file grew: that is no failure.
 *
 * Killed within the moment between off and on, it leaves the server without automatic rewrites until its next start. Killed
 * later it leaves further names, which the next start and the next copy remove.
 */
const copyScript = `${asking}data=$3
names=$data/copy-$$
for old in "$data"/copy-*; do
  kill -0 "\${old##*-}" 2>/dev/null || rm -rf "$old"
done
setting=$(redis CONFIG GET auto-aof-rewrite-percentage)
percentage=\${setting##*
}
rewrites() { redis CONFIG SET auto-aof-rewrite-percentage "$1" > /dev/null; }
trap 'rewrites "$percentage" || true; rm -rf "$names"' EXIT
trap 'exit 1' HUP INT TERM
rewrites 0
is_still() {
  persistence=$(redis INFO persistence) || exit 1
  case $persistence in *aof_enabled:1*) ;; *)
    echo "Somebody turned the append-only file of Redis off. Restart the project to turn it on." >&2
    exit 1 ;;
  esac
  case $persistence in *aof_rewrite_in_progress:1*|*aof_rewrite_scheduled:1*) return 1 ;; esac
}
name_all() {
  rm -rf "$names"
  mkdir -m 700 "$names"
  # One file before version 7, then several in a folder.
  if [ ! -d "$data/appendonlydir" ]; then ln "$data/appendonly.aof" "$names/"; return; fi
  mkdir -m 700 "$names/appendonlydir"
  ln "$data"/appendonlydir/* "$names/appendonlydir/"
}
tries=0
# A client may ask for a rewrite at any moment.
until is_still && name_all && is_still; do
  tries=$((tries + 1))
  if [ "$tries" -gt 600 ]; then echo "Redis has been rewriting its file for ten minutes. Try again later." >&2; exit 1; fi
  sleep 1
done
rewrites "$percentage"
status=0
tar -C "$names" -cf - . || status=$?
exit $((status > 1 ? status : 0))
`

/*
 * Keys that expire are left out: they go by themselves, also between two counts. Each step looks at a thousand keys, and others
 * are served between two steps. SCAN may name a key twice while a table shrinks; then there are more than the server counts, and
 * it is done again.
 */
const contentsScript = `${asking}script=$3
deadline=$(($(date +%s) + 600))
lasting() {
  keyspace=$(redis INFO keyspace)
  counts=$(printf '%s\\n' "$keyspace" | sed -n "s/^db$1:keys=\\([0-9]*\\),expires=\\([0-9]*\\).*/\\1 - \\2/p")
  echo $((\${counts:-0}))
}
count() {
  cursor=0 keys=0 checksum=0 long=0
  while :; do
    answer=$(redis -n "$1" EVAL "$script" 0 "$cursor" "$keys" "$checksum" "$long")
    read -r cursor keys checksum long <<END
$(echo $answer)
END
    if [ "$cursor" = 0 ]; then return; fi
    if [ "$(date +%s)" -gt "$deadline" ]; then whole=false; return; fi
  done
}
keyspace=$(redis INFO keyspace)
between= line=
for database in $(printf '%s\\n' "$keyspace" | sed -n 's/^db\\([0-9]*\\):.*/\\1/p'); do
  whole=true
  for _ in 1 2 3; do
    count "$database"
    if [ "$whole" = false ] || [ "$keys" = "$(lasting "$database")" ]; then break; fi
  done
  line="$line$between\\"$database\\":{\\"keys\\":$keys,\\"checksum\\":\\"$checksum\\",\\"onlyMeasured\\":$long,\\"whole\\":$whole}"
  between=,
done
printf '{"databases":{%s}}\\n' "$line"
`
