import type { Backup, Plan } from '@stackquay/contract'
import { ProblemError } from '@stackquay/contract'
import { newId, type OperationRow, type ProjectRow } from '@stackquay/store'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptAlone, begin } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { operationView } from '../projects/view.ts'
import { backupView } from './backup-view.ts'
import { archiveReply } from './download.ts'
import { type KnownBackup, placeOf } from './known-backups.ts'
import type { Backups } from './open-backups.ts'
import { type FoundParts, findParts, takingTitle, withChosen } from './project-parts.ts'
import { removeBackup } from './remove-backup.ts'

export interface BackupHandlerDeps extends ChangeDeps {
  readonly backups: Backups
}

type BackupHandlers = Pick<
  Handlers,
  | 'listBackups'
  | 'createBackup'
  | 'getBackup'
  | 'deleteBackup'
  | 'downloadBackup'
  | 'listAllBackups'
  | 'getAnyBackup'
  | 'deleteAnyBackup'
  | 'downloadAnyBackup'
>

export function backupHandlers(deps: BackupHandlerDeps, { find, wait }: ProjectAnswers): BackupHandlers {
  const { backups } = deps
  const { view, ofProject, any } = finders(deps)

  return {
    listBackups: async ({ params, query }) => {
      const row = await find(params.id)
      return { status: 200, body: pageOf(backups.known.of(row.id), query, view) }
    },

    listAllBackups: async ({ query }) => {
      const isWanted = ({ manifest }: KnownBackup) =>
        query.deleted === undefined || (deps.model.find(manifest.project.id) === null) === (query.deleted === 'true')
      return { status: 200, body: pageOf(backups.known.all().filter(isWanted), query, view) }
    },

    getBackup: async ({ params }) => ({
      status: 200,
      body: view(ofProject(await find(params.id), params.backup)),
    }),
    getAnyBackup: async ({ params }) => ({ status: 200, body: view(any(params.backup)) }),

    createBackup: async ({ params, query, body }, context) => {
      const row = await find(params.id)
      refuseUnready(row)
      const all = await findParts(row, deps, context.signal)
      refuseUnknownParts(body?.parts, all)
      const found = withChosen(all, body?.parts)
      if (query.dryRun === true) return { status: 200, body: planOfBackup(found) }
      const request = {
        id: newId('bak'),
        source: 'manual',
        note: body?.note ?? null,
        ...(body?.parts === undefined ? {} : { parts: body.parts }),
        includeRebuildable: body?.includeRebuildable === true,
      }
      const operation = await accept(row, request, context, deps)
      const ended = await wait(operation, query.wait, context)
      const made = ended.state === 'succeeded' ? backups.known.find(request.id) : null
      return made === null
        ? { status: 202, body: operationView(ended) }
        : { status: 201, body: view(made), headers: { location: pathOf(row, request.id) } }
    },

    deleteBackup: async ({ params }, context) => {
      await removeBackup(ofProject(await find(params.id), params.backup).manifest, context, deps)
      return { status: 204 }
    },
    deleteAnyBackup: async ({ params }, context) => {
      await removeBackup(any(params.backup).manifest, context, deps)
      return { status: 204 }
    },

    downloadBackup: async ({ params }, context) =>
      archiveReply(ofProject(await find(params.id), params.backup).manifest, context, deps),
    downloadAnyBackup: async ({ params }, context) => archiveReply(any(params.backup).manifest, context, deps),
  }
}

/** How a backup is looked up and shown. */
export function finders({ backups, model }: Pick<BackupHandlerDeps, 'backups' | 'model'>) {
  const any = (id: string): KnownBackup => {
    const found = backups.known.find(id)
    if (found === null) throw new ProblemError('not_found', `There is no backup "${id}".`)
    return found
  }
  return {
    any,
    /** Of this project: another project's is not there for it. */
    ofProject: (row: ProjectRow, id: string): KnownBackup => {
      const found = backups.known.find(id)
      if (found?.manifest.project.id === row.id) return found
      throw new ProblemError('not_found', `The project "${row.slug}" has no backup "${id}".`)
    },
    view: (known: KnownBackup): Backup =>
      backupView(known, {
        keys: backups.keys,
        copies: backups.copies,
        isThere: (project) => model.find(project) !== null,
      }),
  }
}

export function refuseUnready(row: ProjectRow): void {
  if (row.phase === 'ready') return
  throw new ProblemError(
    'busy',
    `The project "${row.slug}" is being ${row.phase === 'creating' ? 'created' : 'deleted'}.`,
  )
}

/** Each name that is no part of what is backed up or put back, with those that are. */
export function refuseUnknownParts(
  chosen: readonly string[] | undefined,
  { parts }: { readonly parts: readonly { readonly id: string }[] },
): void {
  const known = parts.map(({ id }) => id)
  const there = `There is ${known.join(', ')}.`
  const errors = (chosen ?? []).flatMap((id, at) =>
    known.includes(id)
      ? []
      : [{ pointer: `/parts/${at}`, code: 'unknown_part', detail: `There is no "${id}". ${there}` }],
  )
  const [first] = errors
  if (first !== undefined) throw new ProblemError('validation_failed', first.detail, { errors })
}

function planOfBackup({ parts, observed }: FoundParts): Plan {
  const running = observed.filter(({ state }) => state === 'running').map(({ ref }) => ref.workload)
  const restarts = parts.flatMap(({ stops, data }) => (stops && data !== null ? [data] : []))
  return planShown({
    steps: parts.map((part) => ({ title: takingTitle(part), workload: part.data, because: [] })),
    restarts,
    keepsRunning: running.filter((name) => !restarts.includes(name)),
    warnings: parts
      .filter(({ stops }) => stops)
      .map(({ title }) => `${title} stops while its data is copied; requests wait meanwhile, at most half a minute.`),
  })
}

export function planShown(shown: Partial<Plan['plan']>): Plan {
  const nothing = {
    steps: [],
    starts: [],
    restarts: [],
    stops: [],
    keepsRunning: [],
    deletesData: [],
    trashUntil: null,
  }
  return { plan: { ...nothing, changes: [], warnings: [], after: null, exact: true, ...shown } }
}

async function accept(
  row: ProjectRow,
  request: { readonly id: string },
  context: RequestContext,
  deps: BackupHandlerDeps,
): Promise<OperationRow> {
  const { store } = deps
  const accepted = await store.transaction(async (tx) => {
    const made = await acceptAlone(tx, store, row, context, { request }, 'backup')
    await tx.audit.append(
      context.audit({
        action: 'backup.create',
        target: `${row.slug}/${request.id}`,
        project: row.id,
        operationId: made.operation.id,
        changes: { ...request },
      }),
    )
    return made
  })
  begin(accepted, deps)
  return accepted.operation
}

function pathOf({ id }: ProjectRow, backup: string): string {
  return `/api/v1/projects/${id}/backups/${backup}`
}

/** `found` is newest first, and so are pages; the cursor is the place of the last one that was seen. */
function pageOf(
  found: readonly KnownBackup[],
  { limit = 50, cursor }: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
  view: (known: KnownBackup) => Backup,
) {
  const after = cursor === undefined ? null : Buffer.from(cursor, 'base64url').toString('utf8')
  const left = after === null ? found : found.filter(({ manifest }) => placeOf(manifest) < after)
  const shown = left.slice(0, limit)
  const last = shown.at(-1)
  const nextCursor =
    left.length > limit && last !== undefined ? Buffer.from(placeOf(last.manifest)).toString('base64url') : null
  return { items: shown.map(view), nextCursor }
}
