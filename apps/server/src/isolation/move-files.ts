import { EngineError } from '@stackquay/engine-api'
import { type Account, runAs } from '@stackquay/engines'
import type { UserIds } from '@stackquay/store'

/**
 * Gives the files of a project of the state before to its own user. Only what belonged to the user that all projects shared is
 * given; links are given, not followed. A file with several names may be one of another project: it becomes a copy first, made with the
 * rights of the user that owns it. Doing it twice, or the rest after a kill, is fine.
 */
export async function moveFiles(paths: readonly string[], before: UserIds, to: Account): Promise<void> {
  for (const path of paths) {
    const own = await runAs(before, ['/bin/sh', '-c', UNSHARE, 'stackquay', path, String(before.uid)])
    if (own.code !== 0) throw notMoved(`Files of ${path} with several names could not be copied: ${own.errors}`)
    const given = await runAs(null, ['/bin/chown', '-RhP', `--from=${before.uid}`, '--', `${to.uid}:${to.gid}`, path])
    // One that is not there has nothing to give.
    if (given.code !== 0 && !/No such file or directory/.test(given.errors))
      throw notMoved(`Files of ${path} could not be given to ${to.name ?? to.uid}: ${given.errors}`)
  }
}

function notMoved(message: string): EngineError {
  return new EngineError('io_failed', message, {
    hint: 'Correct that, then start the project again: its files are moved from where this stopped.',
  })
}

const UNSHARE = `[ -d "$1" ] || exit 0
find "$1" -xdev -type f -links +1 -user "$2" -exec sh -c '
  for file; do cp -p -- "$file" "$file.stackquay-copy" && mv -f -- "$file.stackquay-copy" "$file" || exit 1; done
' stackquay {} +`
