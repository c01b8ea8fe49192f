import { ProblemError } from '@stackquay/contract'
import type { OperationRow } from '@stackquay/store'
import { finders } from '../backups/backup-handlers.ts'
import { type CopiedArchive, copiedArchive } from '../backups/copied-archive.ts'
import { queueCopy } from '../backups/queue-copy.ts'
import { actOn } from '../backups/scheduled-subject.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import { instanceBackupView } from '../instance-backups/handlers.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { operationView } from '../projects/view.ts'
import type { TargetHandlerDeps } from './target-handlers.ts'

export function copyHandlers(
  deps: TargetHandlerDeps,
  { wait }: ProjectAnswers,
): Pick<Handlers, 'copyBackup' | 'copyInstanceBackup'> {
  const { backups } = deps
  const { any, view } = finders(deps)
  return {
    copyBackup: async ({ params, query, body }, context) => {
      const { id } = any(params.backup).manifest
      const operation = await begun(await copiedArchive(id, backups), body.target, context, deps)
      const ended = await wait(operation, query.wait, context)
      return ended.state === 'succeeded'
        ? { status: 200, body: view(any(id)) }
        : { status: 202, body: operationView(ended) }
    },

    copyInstanceBackup: async ({ params, query, body }, context) => {
      const operation = await begun(await copiedArchive(params.backup, backups), body.target, context, deps)
      const ended = await wait(operation, query.wait, context)
      const copied = ended.state === 'succeeded' ? await backups.own.archives.read(params.backup) : null
      return copied === null
        ? { status: 202, body: operationView(ended) }
        : { status: 200, body: instanceBackupView(copied, deps) }
    },
  }
}

async function begun(
  { id, subject }: CopiedArchive,
  named: string,
  context: RequestContext,
  { store, backups, orchestrator }: TargetHandlerDeps,
): Promise<OperationRow> {
  const target = await store.backupTargets.find(named)
  if (target === null) throw unknownTarget(named)
  const { operation, begin } = await store.transaction(async (tx) => {
    const running = (await store.operations.unfinished()).find(isCopy(id, target.id))
    if (running !== undefined) throw copied(running)
    const queued = await queueCopy(tx, { backup: id, target: target.id, bySchedule: false }, context, backups)
    const changes = { target: target.id, name: target.name }
    const operationId = queued.operation.id
    await tx.audit.append(context.audit({ ...actOn(subject, 'copy', id), operationId, changes }))
    return queued
  })
  begin({ orchestrator })
  return operation
}

function isCopy(backup: string, target: string) {
  return ({ kind, input }: OperationRow) => kind === 'copy-backup' && input.backup === backup && input.target === target
}

function copied({ id }: OperationRow): ProblemError {
  return new ProblemError('busy', `The operation ${id} copies this backup to this target.`, {
    hint: `Wait for it (GET /operations/${id}?wait=60) or cancel it (POST /operations/${id}/cancel).`,
    extensions: { operation: id },
  })
}

function unknownTarget(target: string): ProblemError {
  const detail = `There is no backup target "${target}".`
  return new ProblemError('validation_failed', detail, {
    errors: [{ pointer: '/target', code: 'unknown_target', detail }],
  })
}
