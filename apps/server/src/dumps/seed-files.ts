import { type FieldError, ProblemError } from '@stackquay/contract'
import { databaseWorkload, seedTurn, snapshotSubject } from '@stackquay/domain'
import type { Engine } from '@stackquay/engine-api'
import { FilesError } from '@stackquay/engines'
import type { ProjectRow, Store } from '@stackquay/store'
import { bytesText, freeBytes, reserveBytes } from '../backups/free-room.ts'
import type { Config } from '../config.ts'
import type { FilesOf } from '../projects/files-of.ts'

/** The seed of a database that was not read yet. */
export interface DueSeed {
  readonly database: string
  /** Its data, which is its workload. */
  readonly data: string
  readonly title: string
  readonly paths: readonly string[]
  /** `look`: when there is nothing in it. `again`: what an earlier attempt left is emptied. */
  readonly turn: 'look' | 'again'
}

export interface SeedDeps {
  readonly engine: Pick<Engine, 'dataNames'>
  readonly store: Pick<Store, 'seeds'>
  readonly filesOf: FilesOf
  readonly config: Pick<Config, 'home'>
}

export async function dueSeeds(row: ProjectRow, { store }: Pick<SeedDeps, 'store'>): Promise<readonly DueSeed[]> {
  const due: DueSeed[] = []
  for (const [database, { type, seed = [] }] of Object.entries(row.spec.databases)) {
    if (seed.length === 0) continue
    const data = databaseWorkload(type, database)
    const turn = seedTurn(seed, await store.seeds.find(row.id, data))
    if (turn === 'none') continue
    due.push({ database, data, title: snapshotSubject(row.spec, database)?.title ?? database, paths: seed, turn })
  }
  return due
}

/** What a start of a project asks. */
export function seedsOfStart(deps: SeedDeps) {
  return {
    due: async (row: ProjectRow) => (await dueSeeds(row, deps)).map((seed) => ({ ...seed, step: seedTitle(seed) })),
    require: async (row: ProjectRow, asked: readonly { readonly data: string }[], signal: AbortSignal) => {
      if (asked.length === 0) return
      const due = (await dueSeeds(row, deps)).filter(({ data }) => asked.some((one) => one.data === data))
      await requireDueSeeds(row, due, deps, signal)
    },
  }
}

export function seedTitle({ title, paths }: Pick<DueSeed, 'title' | 'paths'>): string {
  return `Fill ${title} from ${paths.join(', ')}`
}

/** Throws what keeps databases that are surely filled from being so, before anything is touched: all of it at once. */
export async function requireDueSeeds(
  row: ProjectRow,
  due: readonly DueSeed[],
  deps: SeedDeps,
  signal: AbortSignal,
): Promise<void> {
  if (due.length === 0) return
  const there = await deps.engine.dataNames(row.id, signal)
  // What is in data that is there is only known when it runs.
  await requireSeeds(
    row,
    due.filter(({ data, turn }) => turn === 'again' || !there.includes(data)),
    deps,
    signal,
  )
}

/** Each is a file of the source that the project's user may read, and there is room to receive it. */
export async function requireSeeds(
  row: ProjectRow,
  seeds: readonly Pick<DueSeed, 'database' | 'paths'>[],
  { filesOf, config }: Pick<SeedDeps, 'filesOf' | 'config'>,
  signal: AbortSignal,
): Promise<void> {
  const files = await filesOf(row)
  const room = Math.max(0, (await freeBytes(config.home)) - reserveBytes)
  const errors: FieldError[] = []
  for (const { database, paths } of seeds)
    for (const [index, path] of paths.entries()) {
      const pointer = `/databases/${database}/seed/${index}`
      try {
        const { size } = await files.readPart({ root: row.path, path, offset: 0, length: 1, signal })
        if (size === 0) errors.push({ pointer, code: 'seed_empty', detail: `The seed "${path}" is empty.` })
        else if (size > room)
          errors.push({
            ...{ pointer, code: 'seed_too_large' },
            detail: `The seed "${path}" has ${bytesText(size)}, and ${bytesText(room)} are free for it.`,
          })
      } catch (error) {
        errors.push(seedFault(path, pointer, error))
      }
    }
  const first = errors[0]
  if (first === undefined) return
  throw new ProblemError('validation_failed', first.detail, {
    errors,
    hint: 'Put the file into the source of the project, or change "seed" of the database; then try again.',
  })
}

function seedFault(path: string, pointer: string, error: unknown): FieldError {
  if (!(error instanceof FilesError)) throw error
  const known = faults[error.code]
  if (known === undefined)
    return { pointer, code: 'seed_unreadable', detail: `The seed "${path}" cannot be read: ${error.message}` }
  return { pointer, code: known[0], detail: `The seed "${path}" ${known[1]}` }
}

const faults: Readonly<Record<string, readonly [string, string]>> = {
  missing: ['seed_missing', 'is not in the source.'],
  not_a_folder: ['seed_missing', 'is not in the source: on its way is something that is no folder.'],
  outside: ['seed_outside', 'leads out of the source.'],
  not_a_file: ['seed_not_a_file', 'is no file.'],
  denied: ['seed_denied', 'may not be read by the user of the project.'],
}

/** Its content, read as the project's user. Throws when it is written to meanwhile. */
export async function* seedContent(
  row: ProjectRow,
  path: string,
  filesOf: FilesOf,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const files = await filesOf(row)
  let known: string | null = null
  for (let offset = 0; ; ) {
    const part = await files.readPart({ root: row.path, path, offset, length: partBytes, signal })
    known ??= part.mark
    if (part.mark !== known) throw new FilesError('changed', `The seed "${path}" was changed while it was read.`)
    if (part.bytes.length === 0) return
    offset += part.bytes.length
    yield part.bytes
    if (offset >= part.size) return
  }
}

const partBytes = 1 << 20
