import { ProblemError } from '@stackquay/contract'
import type { OperationRow } from '@stackquay/store'
import { findCopy } from '@stackquay/targets'
import { finders } from '../backups/backup-handlers.ts'
import { requireRoom } from '../backups/free-room.ts'
import { queueCopy } from '../backups/queue-copy.ts'
import type { Handlers } from '../http/handler.ts'
import { queueOperation, submitted } from '../projects/accept.ts'
import type { ProjectAnswers } from '../projects/answers.ts'
import { operationView } from '../projects/view.ts'
import type { TargetHandlerDeps } from './target-handlers.ts'
import { findTarget, useTarget } from './use-target.ts'

export function copyHandlers(
  deps: TargetHandlerDeps,
  { wait }: ProjectAnswers,
): Pick<Handlers, 'copyBackup' | 'fetchBackup'> {
  const { store, backups, config, orchestrator } = deps
  const { any, view } = finders(deps)
  return {
    copyBackup: async ({ params, query, body }, context) => {
      const { manifest } = any(params.backup)
      const { id, project } = manifest
      const target = await store.backupTargets.find(body.target)
      if (target === null) throw unknownTarget(body.target)
      const { operation, begin } = await store.transaction(async (tx) => {
        const running = (await store.operations.unfinished()).find(isCopy(id, target.id))
        if (running !== undefined) throw copied(running)
        const queued = await queueCopy(tx, { backup: id, target: target.id }, context, backups)
        await tx.audit.append(
          context.audit({
            action: 'backup.copy',
            target: `${project.slug}/${id}`,
            project: project.id,
            operationId: queued.operation.id,
            changes: { target: target.id, name: target.name },
          }),
        )
        return queued
      })
      begin({ orchestrator })
      const ended = await wait(operation, query.wait, context)
      return ended.state === 'succeeded'
        ? { status: 200, body: view(any(id)) }
        : { status: 202, body: operationView(ended) }
    },

    fetchBackup: async ({ params, query, body }, context) => {
      const target = await findTarget(store, params.target)
      if (backups.known.find(body.backup) !== null)
        throw new ProblemError('conflict', `The backup "${body.backup}" is here already.`, {
          hint: 'Delete it first, or keep it.',
        })
      const index = await useTarget(target, store, {}, (opened) =>
        findCopy(body.backup, { ...opened, signal: context.signal }),
      )
      if (index === null)
        throw new ProblemError('not_found', `There is no complete copy of "${body.backup}" on the target.`)
      await requireRoom(config.home, index.archiveBytes, 'The backup')
      const operation = await store.transaction(async (tx) => {
        const input = { backup: body.backup, target: target.id }
        const queued = await queueOperation(tx, 'fetch-backup', null, context, input)
        const changes = { target: target.id, name: target.name }
        const entry = { action: 'backup.fetch', target: body.backup, operationId: queued.id, changes }
        await tx.audit.append(context.audit(entry))
        return queued
      })
      submitted(operation, orchestrator)
      const ended = await wait(operation, query.wait, context)
      const fetched = ended.state === 'succeeded' ? backups.known.find(body.backup) : null
      return fetched === null
        ? { status: 202, body: operationView(ended) }
        : { status: 201, body: view(fetched), headers: { location: `/api/v1/backups/${body.backup}` } }
    },
  }
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
