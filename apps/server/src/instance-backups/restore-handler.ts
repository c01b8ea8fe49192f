import { ProblemError } from '@stackquay/contract'
import { newId } from '@stackquay/store'
import { requireRoom } from '../backups/free-room.ts'
import { requireRoomForCopy, signWith } from '../backups/own-backups.ts'
import type { Handlers } from '../http/handler.ts'
import type { KeyPlace } from '../sealing-key.ts'
import { version } from '../version.ts'
import { acceptManifest } from './accept-manifest.ts'
import type { InstanceBackupDeps } from './handlers.ts'
import { prepareRestored } from './prepare-restored.ts'
import { stageState } from './restore-folder.ts'

export interface InstanceRestoreDeps extends InstanceBackupDeps {
  readonly keys: Pick<KeyPlace, 'find' | 'isSettled' | 'hold'>
  /** Closes the app and opens it again, once the answer is on its way; null where nobody can. */
  readonly restart: (() => void) | null
}

export function instanceRestoreHandlers(deps: InstanceRestoreDeps): Pick<Handlers, 'restoreInstanceBackup'> {
  const { store, config, now, keys, restart } = deps
  const { archives } = deps.backups.own
  let isRestoring = false
  return {
    restoreInstanceBackup: async ({ params: { backup: id }, body }, context) => {
      const manifest = await archives.read(id)
      if (manifest === null) throw new ProblemError('not_found', `There is no backup "${id}" of the instance.`)
      if (body.confirm !== id) {
        const detail = `Confirm with the id of the backup, ${id}.`
        throw new ProblemError('validation_failed', detail, {
          errors: [{ pointer: '/confirm', code: 'mismatch', detail }],
        })
      }
      if (restart === null) throw new ProblemError('unavailable_here', 'This service cannot open itself again.')
      acceptManifest(manifest, store.sealing)
      if (!keys.isSettled() && !isRestoring) throw new ProblemError('busy', 'The secret key is being replaced.')
      if (isRestoring) throw new ProblemError('busy', 'The instance is being restored.')
      isRestoring = true
      // What is made ready is sealed with the key of now.
      const release = keys.hold()
      const before = newId('ibk', now())
      const { createdAt } = manifest
      const entry = () => context.audit({ action: 'instance.restore', target: id, changes: { createdAt, before } })
      let isRecorded = false
      try {
        await refuseWhileWorking(deps)
        await requireRoomForCopy(config.home)
        await requireRoom(config.home, 2 * manifest.parts[0].contentBytes, 'The restored database')
        // First, so that it is in what is kept.
        await store.transaction((tx) => tx.audit.append(entry()))
        isRecorded = true
        const replaced = await archives.create({
          id: before,
          createdAt: now().toISOString(),
          note: `Before ${id} was restored`,
          source: 'before-restore',
          stackquayVersion: version,
          copyTo: (file) => store.copyTo(file, context.signal),
          sign: signWith(store),
          signal: context.signal,
        })
        const staged = await stageState(config.home)
        acceptManifest(await archives.extract(id, staged.database, context.signal), store.sealing)
        await prepareRestored(staged, manifest, {
          key: keys.find(store.sealing.keyId())!,
          now,
          entry: (act) => context.audit(act),
          replaced: { before, replaced: { seq: replaced.audit.seq, hash: replaced.audit.hash } },
          users: await store.projectUsers.all(),
        })
        context.signal.throwIfAborted()
        await staged.commit()
      } catch (error) {
        isRestoring = false
        release()
        if (isRecorded) await store.transaction((tx) => tx.audit.append({ ...entry(), outcome: 'failure' }))
        throw error
      }
      setImmediate(restart)
      return { status: 202, body: { restoring: id, before } }
    },
  }
}

/** What an operation does to the machine would stand in neither state. */
async function refuseWhileWorking({ store }: Pick<InstanceRestoreDeps, 'store'>): Promise<void> {
  const [working] = await store.operations.unfinished()
  if (working === undefined) return
  throw new ProblemError('busy', `The operation ${working.id} (${working.kind}) is under way.`, {
    hint: 'Wait for it, or cancel it, then try again.',
  })
}
