import { type FileView, ProblemError } from '@stackquay/contract'
import { isWithin } from '@stackquay/domain'
import { ChangedError, type ProjectRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import type { Holding } from '../trash/settle-items.ts'
import { trashView } from '../trash/trash-view.ts'
import type { FileTrash } from './file-trash.ts'
import { createPartFiles } from './part-files.ts'
import { asProblemOf, newPlaceOf, placeOf, sftpPath } from './paths.ts'
import type { FileDeps } from './read-handlers.ts'
import { viewAt } from './view.ts'
import { mostBytes, writeWhole } from './write-file.ts'

export interface FileWriteDeps extends FileDeps {
  readonly fileTrash: FileTrash
  readonly holding: Holding
}

type Written = 'writeFile' | 'createFolder' | 'renameFile' | 'deleteFile' | 'restoreFile'

export function fileWriteHandlers(
  { store, folders, fileTrash, holding }: FileWriteDeps,
  { find }: Pick<ProjectAnswers, 'find'>,
): Pick<Handlers, Written> {
  const alone = onePerKey()
  const parts = createPartFiles()
  const ready = async (id: string) => {
    const row = await find(id)
    refuseUnready(row)
    return row
  }
  const note = (row: ProjectRow, action: string, path: string, context: RequestContext, changes: object = {}) =>
    store.transaction((tx) =>
      tx.audit.append(context.audit({ action, target: `${row.slug}/${path}`, project: row.id, changes })),
    )

  const viewed = (row: ProjectRow, names: readonly string[]) => viewedIn(folders, row, names)
  return {
    writeFile: async ({ params, query, body }, context) => {
      const row = await ready(params.id)
      const ifMatch = preconditionOf(context)
      const names = ifMatch === null ? newPlaceOf(query.path, '?path') : placeOf(query.path, '?path')
      if ((context.contentLength ?? 0) > mostBytes)
        throw new ProblemError('too_large', 'The file has more than 4 GiB.', { hint: 'Copy it with SFTP or rsync.' })
      const path = names.join('/')
      const wanted = {
        ...{ project: row.id, names, ifMatch, content: body },
        alone: <T>(work: () => Promise<T>) => alone(`${row.id}/${path}`, work),
      }
      const { size, etag, isNew } = await asProblemOf(
        names,
        folders.use(row, (files) => writeWhole(files, wanted, parts)),
      )
      await note(row, 'file.write', path, context, { bytes: size, new: isNew })
      return { status: isNew ? 201 : 200, body: { path, size, etag }, etag }
    },

    createFolder: async ({ params, body }, context) => {
      const row = await ready(params.id)
      const names = newPlaceOf(body.path, '/path')
      await asProblemOf(
        names,
        folders.use(row, (files) => files.makeFolder(sftpPath(names))),
      )
      await note(row, 'file.folder', names.join('/'), context)
      return { status: 201, body: await viewed(row, names) }
    },

    renameFile: async ({ params, body }, context) => {
      const row = await ready(params.id)
      const [from, to] = [placeOf(body.from, '/from'), newPlaceOf(body.to, '/to')]
      if (isWithin(to, from))
        throw new ProblemError('conflict', 'A folder cannot be moved into itself, nor renamed to its own name.', {
          hint: 'Choose another place.',
        })
      await folders.use(row, async (files) => {
        await asProblemOf(from, files.look(sftpPath(from), 'keep'))
        await asProblemOf(to, files.rename(sftpPath(from), sftpPath(to)))
      })
      await note(row, 'file.rename', from.join('/'), context, { to: to.join('/') })
      return { status: 200, body: await viewed(row, to) }
    },

    deleteFile: async ({ params, query }, context) => {
      const row = await ready(params.id)
      const item = await fileTrash.put(row, placeOf(query.path, '?path'), context, holding)
      return { status: 200, body: trashView(item, row) }
    },

    restoreFile: async ({ params, body }, context) => {
      const row = await ready(params.id)
      const item = await store.trash.find(body.item)
      if (item === null || item.kind !== 'file' || item.project !== row.id || item.state !== 'kept')
        throw new ProblemError('not_found', `There is no file "${body.item}" of this project in the trash.`)
      const names = await holding(item.id, () => fileTrash.restore(item, context)).catch(orHeld)
      return { status: 200, body: await viewed(row, names) }
    },
  }
}

/** What lies there after a change, which is on record by then: a program of the project may have replaced or removed it since. */
function viewedIn(folders: FileDeps['folders'], row: ProjectRow, names: readonly string[]): Promise<FileView> {
  return asProblemOf(
    names,
    folders.use(row, (files) => viewAt(files, names)),
  )
}

function orHeld(error: unknown): never {
  if (!(error instanceof ChangedError)) throw error
  throw new ProblemError('conflict', 'Somebody else restores or deletes it right now.', { hint: 'Look again.' })
}

/** Null: it must not be there. One of the two is needed, so that nobody overwrites by accident. */
function preconditionOf(context: RequestContext): string | null {
  if (context.header('if-none-match')?.trim() === '*' && context.ifMatch === null) return null
  if (context.ifMatch !== null && context.header('if-none-match') === null) return context.ifMatch
  throw new ProblemError('precondition_required', 'Writing a file needs If-Match or If-None-Match: *, and not both.', {
    hint: 'If-None-Match: * for a new file; If-Match with the ETag that was read, or * for whatever is there.',
  })
}

function onePerKey() {
  const last = new Map<string, Promise<unknown>>()
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const before = last.get(key) ?? Promise.resolve()
    const mine = before.then(work, work)
    const settled = mine.catch(() => undefined)
    last.set(key, settled)
    try {
      return await mine
    } finally {
      if (last.get(key) === settled) last.delete(key)
    }
  }
}
