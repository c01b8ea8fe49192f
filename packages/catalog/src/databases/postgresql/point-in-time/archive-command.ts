import { dataPath } from '@stackquay/engine-api/workload'

/** The variable by which shell lines of the server find the archive: no path has to be quoted inside of a setting. */
export function archiveVariables(archive: string): Readonly<Record<string, string>> {
  return { STACKQUAY_ARCHIVE: dataPath(archive) }
}

/*
 * PostgreSQL puts the path in for %p and the name for %f. A piece is in the archive under its name when it is whole and on the disk, with the time at
 * which it was finished. Killed at any moment and run again, it comes to the same end; a piece that is there with another content is
 * never replaced. A folder that is gone is not made again: it is no longer the one that is kept.
 */
const archiveCommand = `umask 077
to="$STACKQUAY_ARCHIVE/wal/%f.gz" new="$STACKQUAY_ARCHIVE/wal/new"
[ -d "$STACKQUAY_ARCHIVE/wal" ] || mkdir "$STACKQUAY_ARCHIVE/wal" || exit 1
if [ -e "$to" ]; then
  if gzip -cd "$to" | cmp -s - "%p"; then exit 0; fi
  echo "The archive has another %f, which is not replaced." >&2
  exit 1
fi
gzip -1c < "%p" > "$new" && touch -r "%p" "$new" && sync "$new" && mv "$new" "$to" && sync "$STACKQUAY_ARCHIVE/wal"`

/** A piece is finished at least once a minute while something is written. Zeroes at its end take no room. */
export const archiveOptions: readonly string[] = [
  'wal_level=replica',
  'archive_mode=on',
  'archive_timeout=60',
  'archive_library=',
  `archive_command=${archiveCommand}`,
].flatMap((option) => ['-c', option])
