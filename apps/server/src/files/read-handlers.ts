import { createHash } from 'node:crypto'
import { createGzip } from 'node:zlib'
import { filePage, fileTrash } from '@stackquay/domain'
import { FilesError, type SftpFiles } from '@stackquay/engines'
import type { Store } from '@stackquay/store'
import type { Handlers } from '../http/handler.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { refuseUnready } from '../projects/refuse-unready.ts'
import { tarOf } from './archive.ts'
import type { FolderOf, ProjectFolders } from './folders.ts'
import { asProblemOf, asProblemsOf, notOrdinary, pathOf, placeOf, sftpPath } from './paths.ts'
import { viewOf } from './view.ts'

export interface FileDeps {
  readonly store: Store
  readonly folders: ProjectFolders
}

/** Beyond it nobody reads a list; the answer says so. */
const mostListed = 50_000
const usualLimit = 200
const chunkBytes = 128 << 10

/** What is in the folder of a project, while it runs and while it does not. */
export function fileReadHandlers(
  { store, folders }: FileDeps,
  { find }: Pick<ProjectAnswers, 'find'>,
): Pick<Handlers, 'listFiles' | 'readFile' | 'archiveFolder'> {
  return {
    listFiles: async ({ params, query }) => {
      const row = await find(params.id)
      refuseUnready(row)
      const names = pathOf(query.path ?? '', '?path')
      const listed = await asProblemOf(
        names,
        folders.use(row, async (files) => {
          const { entries, isWhole } = await files.list(sftpPath(names), mostListed)
          const shown = entries.filter(({ name }) => names.length > 0 || name !== fileTrash)
          const { items, next } = filePage(shown, {
            after: Buffer.from(query.cursor ?? '', 'base64url').toString('latin1'),
            limit: query.limit ?? usualLimit,
          })
          const views = await Promise.all(items.map((entry) => viewOf(files, names, entry.name, entry)))
          return { items: views, next, isWhole }
        }),
      )
      const { items, next, isWhole } = listed
      const nextCursor = next === null ? null : Buffer.from(next, 'latin1').toString('base64url')
      return { status: 200, body: { path: names.join('/'), items, nextCursor, isWhole } }
    },

    readFile: async ({ params, query }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const names = placeOf(query.path, '?path')
      const { size, etag } = await asProblemOf(
        names,
        folders.use(row, (files) => lookAt(files, names)),
      )
      // A range too: all but a byte is the file.
      await store.transaction((tx) =>
        tx.audit.append(
          context.audit({ action: 'file.read', target: `${row.slug}/${names.join('/')}`, project: row.id }),
        ),
      )
      const part = (range: { readonly from: number; readonly to: number }) =>
        asProblemsOf(names, bytesOfFile(row, names, etag, range, folders))
      return {
        status: 200,
        headers: { 'content-type': 'application/octet-stream', 'content-disposition': asAttachment(names.at(-1)!) },
        stream: part({ from: 0, to: size - 1 }),
        part,
        length: size,
        etag,
      }
    },

    archiveFolder: async ({ params, query }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const names = pathOf(query.path ?? '', '?path')
      // What keeps it from beginning is told with a status of its own.
      await asProblemOf(
        names,
        folders.use(row, (files) => files.list(sftpPath(names), 1)),
      )
      await store.transaction((tx) =>
        tx.audit.append(
          context.audit({ action: 'file.archive', target: `${row.slug}/${names.join('/')}`, project: row.id }),
        ),
      )
      const name = names.at(-1) ?? row.slug
      const tar = folders.stream(row, (files) => tarOf(files, names, name))
      return {
        status: 200,
        headers: { 'content-type': 'application/gzip', 'content-disposition': asAttachment(`${name}.tar.gz`) },
        stream: asProblemsOf(names, zipped(tar)),
      }
    },
  }
}

async function* zipped(content: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: 5 })
  const feed = (async () => {
    try {
      for await (const chunk of content)
        if (!gzip.write(chunk)) await new Promise((resolve) => gzip.once('drain', resolve).once('close', resolve))
      gzip.end()
    } catch (error) {
      gzip.destroy(error as Error)
    }
  })()
  try {
    yield* gzip
  } finally {
    gzip.destroy()
    await content.return(undefined)
    await feed
  }
}

export async function lookAt(files: SftpFiles, names: readonly string[]) {
  const handle = await files.openToRead(sftpPath(names)).catch((error: unknown) => {
    throw error instanceof FilesError && error.code === 'not_a_file' ? notOrdinary(names.join('/')) : error
  })
  try {
    const [{ size, mode }, mark] = [await files.info(handle), await files.mark(handle)]
    return { size, mode, etag: etagOf(mark) }
  } finally {
    await files.close(handle).catch(() => undefined)
  }
}

/** Inode numbers are nobody’s business. */
export function etagOf(mark: string): string {
  return createHash('sha256').update(mark).digest('hex').slice(0, 32)
}

/** Of the file that was announced: one that became another meanwhile breaks the answer off. */
async function* bytesOfFile(
  row: FolderOf,
  names: readonly string[],
  etag: string,
  { from, to }: { readonly from: number; readonly to: number },
  folders: ProjectFolders,
): AsyncGenerator<Uint8Array> {
  yield* folders.stream(row, async function* (files) {
    const handle = await files.openToRead(sftpPath(names))
    try {
      if (etagOf(await files.mark(handle)) !== etag) throw new FilesError('changed')
      for (let at = from; at <= to; ) {
        const bytes = await files.read(handle, at, Math.min(chunkBytes, to + 1 - at))
        if (bytes === null) throw new FilesError('changed')
        yield bytes
        at += bytes.length
      }
    } finally {
      await files.close(handle).catch(() => undefined)
    }
  })
}

/** Always saved and never shown: a file of a project is no page of ours. */
function asAttachment(name: string): string {
  const plain = name.replaceAll(/[^\w .()-]/g, '_')
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
