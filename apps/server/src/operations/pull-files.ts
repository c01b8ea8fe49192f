import { posix } from 'node:path'
import { ProblemError } from '@stackquay/contract'
import { asideFolder, beforePullFolder, mostBeforeRestore } from '@stackquay/domain'
import { type ProjectFiles, runAsUser, writeTree } from '@stackquay/engines'
import type { StepContext } from '@stackquay/orchestrator'
import type { ProjectRow } from '@stackquay/store'
import { forever, type OperationDeps } from './operation-deps.ts'

/*
 * Folders of a source that are replaced by others. What was there is moved to `.stackquay/before-pull/<stamp>/`, the new one into its place: two
 * renames. Where an attempt was cut off is seen from what lies where, so that the next one goes on there.
 */

/** A pull, as far as its folders are concerned. */
export interface FolderSwap {
  readonly operation: string
  /** What was replaced is found by it. */
  readonly stamp: string
  /** Folders that were not there before. */
  readonly absent: readonly string[]
}

interface Places {
  readonly files: ProjectFiles
  readonly root: string
  readonly aside: string
  /** Of this operation: gone when it has ended. */
  readonly work: string
}

export function asideOf(stamp: string, path: string): string {
  return `${beforePullFolder}/${stamp}/${path}`
}

/** Those that are not there. Throws for what is something else than a folder. */
export async function absentFolders(
  row: ProjectRow,
  paths: readonly string[],
  { filesOf }: Pick<OperationDeps, 'filesOf'>,
): Promise<readonly string[]> {
  const marks = await (await filesOf(row)).statMany({ root: row.path, paths })
  return paths.filter((path, at) => {
    const mark = marks[at]
    if (mark == null) return true
    if (!isFolder(mark.mark))
      throw new ProblemError(
        'validation_failed',
        `"${path}" in the source is no folder, so none is put into its place.`,
      )
    return false
  })
}

/** Unpacks an archive beside the folder, and puts it into its place. */
export async function swapFolder(
  row: ProjectRow,
  path: string,
  swap: FolderSwap,
  archive: AsyncIterable<Uint8Array>,
  { signal }: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const account = await deps.provision(row.id, signal)
  const places = placesOf(row, path, swap, await deps.filesOf(row))
  const { files, root, aside, work } = places
  await files.makeFolder({ root, path: asideFolder })
  // Nothing of it is for git.
  const ignored = { root, path: `${asideFolder}/.gitignore`, bytes: Buffer.from('*\n'), exclusive: true }
  await files.write(ignored).catch(() => undefined)
  await files.makeFolder({ root, path: work })
  await removeInside(row, `${work}/new`, deps)
  const before = (await stateOf(places, path)).targetMode ?? (await modeOf(places, aside)) ?? 0o750
  await files.makeFolder({ root, path: `${work}/new`, mode: before })
  await writeTree(account, posix.join(root, work, 'new'), archive, signal)
  signal.throwIfAborted()
  const { isAside, targetMode } = await stateOf(places, path)
  if (targetMode !== null)
    if (isAside || swap.absent.includes(path)) {
      // An earlier attempt put it there.
      await removeInside(row, `${work}/old`, deps)
      await files.move({ root, from: path, to: `${work}/old` })
    } else {
      await files.makeFolder({ root, path: posix.dirname(aside) })
      await files.move({ root, from: path, to: aside })
    }
  if (posix.dirname(path) !== '.') await files.makeFolder({ root, path: posix.dirname(path) })
  await files.move({ root, from: `${work}/new`, to: path })
}

/** As it was before, wherever it was cut off. */
export async function undoSwap(row: ProjectRow, path: string, swap: FolderSwap, deps: OperationDeps): Promise<void> {
  const places = placesOf(row, path, swap, await deps.filesOf(row))
  const { files, root, aside, work } = places
  const { isAside, targetMode } = await stateOf(places, path)
  if (targetMode !== null && (isAside || swap.absent.includes(path))) {
    await files.makeFolder({ root, path: work })
    await removeInside(row, `${work}/old`, deps)
    await files.move({ root, from: path, to: `${work}/old` })
  }
  if (isAside) await files.move({ root, from: aside, to: path })
}

/** What the operation needed goes, and of what was replaced all but the newest. */
export async function tidySwaps(row: ProjectRow, { operation }: FolderSwap, deps: OperationDeps): Promise<void> {
  await removeInside(row, `${asideFolder}/pull-${operation}`, deps)
  const files = await deps.filesOf(row)
  const kept = await files.list({ root: row.path, path: beforePullFolder, maxEntries: 1000 }).catch(() => [])
  const names = kept
    .map(({ name }) => name)
    .filter((name) => name.startsWith('before-pull-'))
    .sort()
    .reverse()
  for (const name of names.slice(mostBeforeRestore)) await removeInside(row, `${beforePullFolder}/${name}`, deps)
}

function placesOf(row: ProjectRow, path: string, { operation, stamp }: FolderSwap, files: ProjectFiles): Places {
  const work = `${asideFolder}/pull-${operation}/${path.replaceAll('/', '!')}`
  return { files, root: row.path, aside: asideOf(stamp, path), work }
}

async function stateOf(places: Places, path: string) {
  const targetMode = await modeOf(places, path)
  return { targetMode, isAside: (await modeOf(places, places.aside)) !== null }
}

async function modeOf({ files, root }: Places, path: string): Promise<number | null> {
  const [mark] = await files.statMany({ root, paths: [path] })
  return mark == null ? null : Number(mark.mark.split(' ')[0]) & 0o777
}

function isFolder(mark: string): boolean {
  return (Number(mark.split(' ')[0]) & 0o170000) === 0o040000
}

/** As the project's user, who may have put a link there: rm(1) follows none. */
async function removeInside(row: ProjectRow, path: string, deps: OperationDeps): Promise<void> {
  const account = await deps.provision(row.id, forever)
  await runAsUser(account, ['rm', '-rf', '--', posix.join(row.path, path)], { timeoutMs: 600_000 })
}
