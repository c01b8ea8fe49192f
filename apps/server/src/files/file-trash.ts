import { ProblemError } from '@stackquay/contract'
import { fileTrash, purgeTime, readFilePath } from '@stackquay/domain'
import { FilesError, type SftpFiles } from '@stackquay/engines'
import { newId, type ProjectRow, type Store, type TrashItem } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { RequestContext } from '../http/handler.ts'
import type { Holding } from '../trash/settle-items.ts'
import { trashEvent } from '../trash/trash-view.ts'
import type { ProjectFolders } from './folders.ts'
import { asProblemOf, sftpPath } from './paths.ts'

export interface FileTrashDeps {
  readonly store: Store
  readonly folders: ProjectFolders
  readonly config: Pick<Config, 'trashDays'>
  now(): Date
}

/** Deleted files, in a folder of the project beside what is left of it. */
export interface FileTrash {
  put(row: ProjectRow, names: readonly string[], context: RequestContext, holding: Holding): Promise<TrashItem>
  restore(item: TrashItem, context: RequestContext): Promise<readonly string[]>
  /** What is wanted of a project that is gone is nothing: its source folder is its owner’s. */
  purge(item: TrashItem): Promise<void>
  /** Of one whose moving was cut off: it is where it is. */
  settle(item: TrashItem): Promise<void>
}

const trashPath = (...names: readonly string[]) => sftpPath([fileTrash, ...names])

export function createFileTrash(deps: FileTrashDeps): FileTrash {
  const { store, folders } = deps
  const projectOf = (item: TrashItem) => store.projects.find(item.project)
  const settle = async (item: TrashItem) => {
    const row = await projectOf(item)
    const isThere = row !== null && (await folders.use(row, (files) => lies(files, item)))
    await store.transaction(async (tx) => {
      if (isThere) await tx.trash.setState(item.id, ['moving', 'restoring'], 'kept')
      else await tx.trash.delete(item.id)
    })
  }
  return {
    put(row, names, context, holding) {
      const id = newId('trs', deps.now())
      const moved = () => folders.use(row, (files) => moveToTrash(files, { row, names, id, settle }, context, deps))
      return holding(id, () => asProblemOf(names, moved()))
    },

    async restore(item, context) {
      const row = await projectOf(item)
      if (row === null)
        throw new ProblemError('conflict', `The project "${item.slug}" was deleted itself.`, {
          hint: 'Restore the project first.',
        })
      const path = readFilePath(item.name)
      const names = path.ok ? path.names : []
      if (names.length === 0) throw new ProblemError('not_found', `There is no "${item.id}" in the trash.`)
      const restoring = await store.transaction((tx) => tx.trash.setState(item.id, ['kept'], 'restoring'))
      await asProblemOf(
        names,
        folders.use(row, async (files) => {
          try {
            await files.rename(trashPath(item.id, names.at(-1)!), sftpPath(names))
          } catch (error) {
            await settle(restoring)
            throw error
          }
          await files.removeFolder(trashPath(item.id)).catch(() => undefined)
        }),
      )
      await store.transaction(async (tx) => {
        await tx.trash.delete(item.id)
        const target = `${row.slug}/${item.name}`
        const entry = { action: 'trash.restore', target, project: row.id, changes: { item: item.id } }
        await tx.audit.append(context.audit(entry))
        await tx.events.append(trashEvent(item, 'restored'))
      })
      return names
    },

    async purge(item) {
      const row = await projectOf(item)
      if (row !== null) await folders.use(row, (files) => removeTree(files, trashPath(item.id), deepest))
    },

    settle,
  }
}

interface Moving {
  readonly row: ProjectRow
  readonly names: readonly string[]
  readonly id: string
  settle(item: TrashItem): Promise<void>
}

/** Written down first, then moved. */
async function moveToTrash(
  files: SftpFiles,
  { row, names, id, settle }: Moving,
  context: RequestContext,
  { store, config, now }: FileTrashDeps,
): Promise<TrashItem> {
  const at = now()
  const path = names.join('/')
  const { kind, size } = await files.look(sftpPath(names), 'keep')
  const item = await store.transaction((tx) =>
    tx.trash.add({
      ...{ id, kind: 'file', name: path, project: row.id, slug: row.slug, projectName: row.spec.name },
      ...{ engine: row.engine, operation: null, database: null, secrets: [] },
      data: [{ name: path, sizeBytes: kind === 'folder' ? null : size }],
      ...{ deletedAt: at.toISOString(), deletedBy: context.actor, purgeAt: purgeTime(at, config.trashDays) },
    }),
  )
  try {
    await makeTrash(files)
    await files.makeFolder(trashPath(id))
    await files.rename(sftpPath(names), trashPath(id, names.at(-1)!))
  } catch (error) {
    await files.removeFolder(trashPath(id)).catch(() => undefined)
    await settle(item)
    throw error
  }
  return store.transaction(async (tx) => {
    const kept = await tx.trash.setState(id, ['moving'], 'kept')
    const changes = { item: id, kind }
    await tx.audit.append(
      context.audit({ action: 'file.delete', target: `${row.slug}/${path}`, project: row.id, changes }),
    )
    await tx.events.append(trashEvent(kept, 'deleted'))
    return kept
  })
}

/** Git and whoever reads the project pass it over. */
async function makeTrash(files: SftpFiles): Promise<void> {
  await files.makeFolder(trashPath()).catch(unlessThere)
  const handle = await files.openNew(trashPath('.gitignore'), 0o640).catch(unlessThere)
  if (handle === undefined) return
  await files.write(handle, 0, Buffer.from('*\n'))
  await files.close(handle)
}

function unlessThere(error: unknown): undefined {
  if (error instanceof FilesError && error.code === 'exists') return undefined
  throw error
}

async function lies(files: SftpFiles, { id, name }: TrashItem): Promise<boolean> {
  const base = name.split('/').at(-1)!
  return files.look(trashPath(id, base), 'keep').then(
    () => true,
    (error: unknown) => {
      if (error instanceof FilesError && (error.code === 'missing' || error.code === 'not_a_folder')) return false
      throw error
    },
  )
}

const deepest = 1000
const mostAtOnce = 10_000

/** Links are removed and never entered. Folders that their owner may not read are opened to him. */
async function removeTree(files: SftpFiles, path: string, depth: number): Promise<void> {
  if (depth === 0) throw new FilesError('too_many')
  for (;;) {
    const listed = await files.list(path, mostAtOnce).catch(async (error: unknown) => {
      if (error instanceof FilesError && error.code === 'missing') return null
      if (!(error instanceof FilesError) || error.code !== 'denied') throw error
      await files.setMode(path, 0o700)
      return files.list(path, mostAtOnce)
    })
    if (listed === null) return
    if (listed.entries.length > 0) await files.setMode(path, 0o700)
    for (const { name, kind } of listed.entries) {
      if (kind === 'folder') await removeTree(files, `${path}/${name}`, depth - 1)
      else await files.removeFile(`${path}/${name}`)
    }
    if (listed.isWhole) break
  }
  await files.removeFolder(path)
}
