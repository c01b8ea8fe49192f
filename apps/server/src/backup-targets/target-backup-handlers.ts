import { ArchiveError, parseManifest } from '@stackquay/archive'
import { ProblemError, type TargetBackup } from '@stackquay/contract'
import type { BackupTargetRow, OperationRow } from '@stackquay/store'
import type { CopyIndex } from '@stackquay/targets'
import { finders } from '../backups/backup-handlers.ts'
import { isOfInstance } from '../backups/copied-archive.ts'
import { requireRoom } from '../backups/free-room.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { acceptManifest, manifestOf } from '../instance-backups/accept-manifest.ts'
import { instanceBackupView, opens } from '../instance-backups/handlers.ts'
import { queueOperation, submitted } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { operationView } from '../projects/view.ts'
import { copierId } from './old-copies.ts'
import { type TargetHandlerDeps, untilAnswered } from './target-handlers.ts'
import { targetBackupView, targetInstanceBackupView } from './target-view.ts'
import { findTarget, useTarget } from './use-target.ts'

/** What lies on a target may be anybody’s. */
const mostUnreadable = 100

type TargetBackupHandlers = Pick<
  Handlers,
  'listTargetBackups' | 'fetchBackup' | 'fetchInstanceBackup' | 'deleteTargetBackup'
>

/** What people do with backups that lie on a target. */
export function targetBackupHandlers(deps: TargetHandlerDeps, { wait }: ProjectAnswers): TargetBackupHandlers {
  const { store, backups } = deps
  const { archives } = backups.own
  const { view } = finders(deps)
  return {
    listTargetBackups: async ({ params }, context) => {
      const row = await findTarget(store, params.target)
      const listed = await useTarget(row, store, {}, (opened) => opened.list(untilAnswered(context)))
      const unreadable = [...listed.unreadable]
      const copier = await copierId(store)
      const own = new Set((await archives.list()).map(({ id }) => id))
      const items = listed.found.flatMap((index) => shown(index, { own, copier }, unreadable, deps) ?? [])
      items.sort((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt))
      return { status: 200, body: { items, unreadable: unreadable.slice(0, mostUnreadable) } }
    },

    fetchBackup: async ({ params, query, body }, context) => {
      const target = await findTarget(store, params.target)
      if (backups.known.find(body.backup) !== null) throw isHere(body.backup)
      const operation = await fetched(target, body.backup, context, deps)
      const ended = await wait(operation, query.wait, context)
      const here = ended.state === 'succeeded' ? backups.known.find(body.backup) : null
      return here === null
        ? { status: 202, body: operationView(ended) }
        : { status: 201, body: view(here), headers: { location: `/api/v1/backups/${body.backup}` } }
    },

    fetchInstanceBackup: async ({ params, query, body }, context) => {
      const target = await findTarget(store, params.target)
      if ((await archives.read(body.backup)) !== null) throw isHere(body.backup)
      const operation = await fetched(target, body.backup, context, deps)
      const ended = await wait(operation, query.wait, context)
      const here = ended.state === 'succeeded' ? await archives.read(body.backup) : null
      return here === null
        ? { status: 202, body: operationView(ended) }
        : { status: 201, body: instanceBackupView(here, deps) }
    },

    deleteTargetBackup: async ({ params, query }, context) => {
      const { backup } = params
      const target = await findTarget(store, params.target)
      if (query.confirm !== backup) throw notConfirmed(backup)
      const signal = untilAnswered(context)
      if (!(await useTarget(target, store, {}, (opened) => opened.has(backup, signal)))) throw noCopy(backup)
      const audit = { action: 'backup.copy.delete', target: backup } as const
      const operation = await queued('delete-copy', target, { backup, audit }, context, deps)
      const ended = await wait(operation, query.wait, context)
      return { status: ended.state === 'succeeded' ? 200 : 202, body: operationView(ended) }
    },
  }
}

/** Null for a manifest that no version of this one wrote: that is told. */
function shown(
  index: CopyIndex,
  { own, copier }: { readonly own: ReadonlySet<string>; readonly copier: string },
  unreadable: string[],
  { backups: { known, keys }, store }: TargetHandlerDeps,
): TargetBackup | null {
  const isOwn = index.instance === copier
  try {
    if (isOfInstance(index.id)) {
      const manifest = manifestOf(index)
      const isHere = own.has(index.id)
      return targetInstanceBackupView(index, manifest, { own: isOwn, opens: opens(manifest, store.sealing), isHere })
    }
    const manifest = parseManifest(Buffer.from(JSON.stringify(index.manifest)))
    return targetBackupView(index, manifest, {
      own: isOwn,
      opens: index.identity !== null || keys.opensHere(manifest),
      isHere: known.find(manifest.id) !== null,
    })
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error
    unreadable.push(`${index.id}: ${error.message}`)
    return null
  }
}

/** What cannot be fetched is refused before an operation is there for it. */
async function fetched(
  target: BackupTargetRow,
  backup: string,
  context: RequestContext,
  deps: TargetHandlerDeps,
): Promise<OperationRow> {
  const { store, config } = deps
  const index = await useTarget(target, store, {}, (opened) => opened.find(backup, context.signal))
  if (index === null) throw noCopy(backup)
  if (isOfInstance(backup)) acceptManifest(manifestOf(index), store.sealing)
  await requireRoom(config.home, index.archiveBytes, 'The backup')
  const action = isOfInstance(backup) ? 'instance.backup.fetch' : 'backup.fetch'
  return queued('fetch-backup', target, { backup, audit: { action, target: backup } }, context, deps)
}

async function queued(
  kind: OperationRow['kind'],
  { id, name }: BackupTargetRow,
  { backup, audit }: { readonly backup: string; readonly audit: { readonly action: string; readonly target: string } },
  context: RequestContext,
  { store, orchestrator }: TargetHandlerDeps,
): Promise<OperationRow> {
  const operation = await store.transaction(async (tx) => {
    const written = await queueOperation(tx, kind, null, context, { backup, target: id })
    const changes = { target: id, name }
    await tx.audit.append(context.audit({ ...audit, operationId: written.id, changes }))
    return written
  })
  submitted(operation, orchestrator)
  return operation
}

function isHere(backup: string): ProblemError {
  return new ProblemError('conflict', `The backup "${backup}" is here already.`, {
    hint: 'Delete it first, or keep it.',
  })
}

function noCopy(backup: string): ProblemError {
  return new ProblemError('not_found', `There is no complete copy of "${backup}" on the target.`)
}

function notConfirmed(backup: string): ProblemError {
  const detail = `Confirm with the id of the backup, ${backup}.`
  return new ProblemError('validation_failed', detail, { errors: [{ pointer: '/confirm', code: 'mismatch', detail }] })
}
