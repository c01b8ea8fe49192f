import { ProblemError } from '@stackquay/contract'
import { type BackupTargetRow, newId, type OperationRow, TakenError } from '@stackquay/store'
import { openCopier, type TargetAccess } from '@stackquay/targets'
import type { Backups } from '../backups/open-backups.ts'
import type { Config } from '../config.ts'
import type { Handlers, RequestContext } from '../http/handler.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import { accessOf } from './access-of-request.ts'
import { sealAccess, targetSecret } from './sealed-access.ts'
import { placeOf, targetView } from './target-view.ts'
import { findTarget, useTarget } from './use-target.ts'

export interface TargetHandlerDeps extends ChangeDeps {
  readonly backups: Backups
  readonly config: Pick<Config, 'home' | 'projectsDir'>
}

/** A person waits for these. */
const answerMs = 120_000

type TargetHandlers = Pick<
  Handlers,
  'listBackupTargets' | 'createBackupTarget' | 'getBackupTarget' | 'deleteBackupTarget' | 'checkBackupTarget'
>

export function targetHandlers(deps: TargetHandlerDeps): TargetHandlers {
  const { store, backups } = deps
  const { copies } = backups
  return {
    listBackupTargets: async () => {
      const rows = await store.backupTargets.all()
      return { status: 200, body: { items: rows.map((row) => targetView(row, copies)) } }
    },
    getBackupTarget: async ({ params }) => ({
      status: 200,
      body: targetView(await findTarget(store, params.target), copies),
    }),

    createBackupTarget: async ({ body }, context) => {
      await refuseTakenName(body.name, deps)
      const access = await accessOf(body, deps)
      const made = await setUp(access, body.passphrase ?? null, context)
      const row = await keep(body.name, access, made.key, context, deps)
      const { recoveryPassphrase, isNew } = made
      return {
        status: 201,
        body: { ...targetView(row, copies), recoveryPassphrase, isNew },
        headers: { location: `/api/v1/backup-targets/${row.id}` },
      }
    },

    deleteBackupTarget: async ({ params }, context) => {
      const row = await findTarget(store, params.target)
      await store.transaction(async (tx) => {
        const user = (await store.operations.unfinished()).find(({ input }) => input.target === row.id)
        if (user !== undefined) throw inUse(row, user)
        await refuseScheduled(row, deps)
        await tx.backupTargets.delete(row.id)
        await tx.secrets.delete(null, targetSecret(row.id))
        await tx.audit.append(context.audit({ action: 'backup-target.delete', target: row.name, changes: told(row) }))
        await tx.events.append({ type: 'backup-target.changed', project: null, data: { id: row.id } })
      })
      copies.forgetTarget(row.id)
      return { status: 204 }
    },

    checkBackupTarget: async ({ params, body }, context) => {
      const row = await findTarget(store, params.target)
      const signal = untilAnswered(context)
      await useTarget(row, store, {}, async (target) => {
        await target.check(signal)
        if (body?.restoreKeyFile === true) await target.restoreKey(signal)
        await target.requireKey(signal)
      })
      const checked = await store.transaction(async (tx) => {
        await tx.audit.append(context.audit({ action: 'backup-target.check', target: row.name, changes: told(row) }))
        await tx.events.append({ type: 'backup-target.changed', project: null, data: { id: row.id } })
        return tx.backupTargets.checked(row.id)
      })
      return { status: 200, body: targetView(checked, copies) }
    },
  }
}

async function refuseTakenName(name: string, { store }: Pick<TargetHandlerDeps, 'store'>): Promise<void> {
  if ((await store.backupTargets.all()).some((row) => row.name === name)) throw nameTaken(name)
}

/** Before anything is kept: that it does what a target must, and its key. */
async function setUp(access: TargetAccess, passphrase: string | null, context: RequestContext) {
  const signal = untilAnswered(context)
  await using target = openCopier({ access })
  await target.check(signal)
  return await target.setUpKey(passphrase, signal)
}

async function keep(
  name: string,
  access: TargetAccess,
  key: Parameters<typeof sealAccess>[3],
  context: RequestContext,
  { store, backups }: TargetHandlerDeps,
): Promise<BackupTargetRow> {
  const id = newId('tgt')
  const { kind, settings } = access
  const row = await store
    .transaction(async (tx) => {
      const made = await tx.backupTargets.insert({ id, name, kind, settings: { ...settings } })
      await sealAccess(tx, id, access, key)
      await tx.audit.append(context.audit({ action: 'backup-target.create', target: name, changes: told(made) }))
      await tx.events.append({ type: 'backup-target.changed', project: null, data: { id } })
      return made
    })
    .catch((error: unknown) => {
      throw error instanceof TakenError ? nameTaken(name) : error
    })
  backups.copies.named(id, name)
  return row
}

/** What is left out of a schedule in silence would be missed on the day it is needed. */
async function refuseScheduled({ id, name }: BackupTargetRow, { store, model }: TargetHandlerDeps): Promise<void> {
  const schedules = [...(await store.backupSchedules.all())]
  const naming = schedules.filter(([, { targets }]) => targets.some(({ target }) => target === id))
  if (naming.length === 0) return
  const nameOf = (project: string | null) =>
    project === null ? 'the instance' : (model.find(project)?.row.slug ?? project)
  const slugs = naming.map(([project]) => nameOf(project)).sort()
  const projects = slugs.slice(0, 10).join(', ') + (slugs.length > 10 ? ' …' : '')
  throw new ProblemError('conflict', `Backup schedules copy to the target "${name}": ${projects}.`, {
    hint: 'Take it out of them first: "targets" of PUT …/backup-schedule.',
  })
}

export function untilAnswered({ signal }: RequestContext): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(answerMs)])
}

function told(row: BackupTargetRow) {
  return { id: row.id, kind: row.kind, place: placeOf(row) }
}

function nameTaken(name: string): ProblemError {
  return new ProblemError('conflict', `There is a backup target "${name}" already.`, { hint: 'Choose another name.' })
}

function inUse({ name }: BackupTargetRow, { id, kind }: OperationRow): ProblemError {
  return new ProblemError('busy', `The operation ${id} (${kind}) uses the target "${name}".`, {
    hint: `Wait for it (GET /operations/${id}?wait=60) or cancel it (POST /operations/${id}/cancel).`,
    extensions: { operation: id },
  })
}
