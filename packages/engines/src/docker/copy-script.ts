/*
 * Runs with /stackquay-from (read only) and /stackquay-copy, in an image of anybody's: with `cp` of GNU or of busybox, which shares no
 * blocks.
 *
 * Arguments: probe | room | all <live> <left out…> | later <live> <folder…> -- <path> <text>…
 *
 * Blocks are shared by all files or by none: what the answer says is true of each. A file that went away while programs write is none.
 */
export const copyScript = `set -u
act=$1 live=$2
shift 2
from=/stackquay-from into=/stackquay-copy
if [ "$act" = room ]; then
  df -Pk "$into" | tail -n 1 | { read -r _disk _all _used free _rest; echo "$free"; }
  exit
fi
probe=$into/.stackquay-probe
printf x > "$probe" || exit 1
if cp --reflink=always "$probe" "$probe-copy" 2>/dev/null; then method=copy-on-write; else method=copy; fi
rm -f "$probe" "$probe-copy"
if [ "$act" = probe ]; then echo "$method"; exit 0; fi
complaints() {
  if [ "$live" = 1 ]; then grep -v 'No such file or directory$'; else cat; fi | head -n 3
}
copy() {
  if [ "$method" = copy-on-write ]; then set -- --reflink=always "$@"; fi
  { cp -a "$@" || [ "$live" = 1 ] || echo "cp failed"; } 2>&1 | complaints
}
empty() {
  if [ -d "$1" ] && [ ! -L "$1" ]; then rm -rf "$1"/* "$1"/.[!.]* "$1"/..?*; else rm -f "$1"; fi
}
said=
if [ "$act" = all ]; then
  said=$(copy "$from/." "$into/")
  case $said in *clone*)
    method=copy
    empty "$into"
    said=$(copy "$from/." "$into/")
  esac
  for path in "$@"; do empty "$into/$path"; done
else
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    empty "$into/$1"
    said=$said$(copy "$from/$1/." "$into/$1/")
    case $said in *clone*)
      method=copy
      empty "$into/$1"
      said=$(copy "$from/$1/." "$into/$1/")
    esac
    shift
  done
  shift
  while [ $# -gt 1 ]; do
    folder=$into/\${1%/*}
    printf '%s' "$2" > "$into/$1" && chmod 600 "$into/$1" && chown "$(stat -c %u:%g "$folder")" "$into/$1" || said="$1 could not be written"
    shift 2
  done
fi
if [ -n "$said" ]; then echo "$said" >&2; exit 1; fi
sync -f "$into" 2>/dev/null || sync || exit 1
kilobytes=$(du -sk "$into") || exit 1
echo "$method \${kilobytes%%[!0-9]*}"
`
