import { ArchiveError, type Manifest, openSettings } from '@stackquay/archive'
import { ProblemError } from '@stackquay/contract'
import { settingsPart } from '@stackquay/domain'
import type { StepContext, Work } from '@stackquay/orchestrator'
import type { OperationRow } from '@stackquay/store'
import type { Copier, CopyIndex } from '@stackquay/targets'
import { findTarget, useTarget } from '../backup-targets/use-target.ts'
import { bytesText, requireRoom } from '../backups/free-room.ts'
import { takeIn } from '../backups/take-in.ts'
import { retryTold } from './copy-backup.ts'
import { deadlines, type OperationDeps } from './operation-deps.ts'
import { told } from './take-backup.ts'

/** A backup from a target, through the same checks as an upload: what lies there may be anybody’s. All of it or nothing. */
export function fetchBackup({ input }: OperationRow, deps: OperationDeps): Work {
  const wanted = { backup: String(input.backup), target: String(input.target) }
  return {
    deadlineSeconds: deadlines.week,
    stages: [
      async () => {
        const { name } = await findTarget(deps.store, wanted.target)
        const run = (context: StepContext) => fetch(wanted, context, deps)
        return [{ id: 'fetch', title: `Fetch the backup from ${name}`, run }]
      },
    ],
    settle: async () => {},
  }
}

async function fetch(
  { backup, target }: { readonly backup: string; readonly target: string },
  context: StepContext,
  deps: OperationDeps,
): Promise<void> {
  const { store, backups } = deps
  const row = await findTarget(store, target)
  const { manifest, index } = await useTarget(row, store, { onRetry: retryTold(context) }, async (opened) => {
    const found = await opened.find(backup, context.signal)
    if (found === null) throw new ProblemError('not_found', 'There is no complete copy of it on the target any more.')
    // It is here where an attempt before this one was ended after all had come.
    const here = backups.known.find(backup)?.manifest
    return { index: found, manifest: here ?? (await receive(found, opened, context, deps)) }
  })
  const identity = await openingIdentity(manifest, index, deps)
  await takeIn(manifest, deps, async (tx) => {
    if (identity !== null) await backups.keys.keep(tx, backup, { identity })
    backups.copies.put(await tx.backupTargets.putCopy(target, backup, 'complete'))
  })
}

async function receive(
  index: CopyIndex,
  opened: Copier,
  context: StepContext,
  { backups, config }: Pick<OperationDeps, 'backups' | 'config'>,
): Promise<Manifest> {
  const { id, archiveBytes } = index
  await requireRoom(config.home, archiveBytes, 'The backup')
  const counted = countedCopy(index, opened, context)
  const manifest = await backups.folder.upload(counted, { signal: context.signal, maxBytes: archiveBytes })
  if (manifest.id === id) return manifest
  await backups.folder.remove(manifest.id)
  throw new ProblemError('backup_damaged', `The copy of ${id} holds the backup ${manifest.id}.`)
}

/** The archive, with what came of it told. */
export async function* countedCopy(index: CopyIndex, opened: Copier, context: StepContext) {
  const tell = told(context, `of ${bytesText(index.archiveBytes)} fetched`)
  let received = 0
  for await (const chunk of opened.read(index, context.signal)) {
    yield chunk
    received += chunk.length
    tell(received)
  }
}

/** The key that the index names opens the settings, or the copy is not what it says. */
async function openingIdentity(
  manifest: Manifest,
  { identity }: CopyIndex,
  { backups }: Pick<OperationDeps, 'backups'>,
): Promise<string | null> {
  if (identity === null || !manifest.parts.some(({ id }) => id === settingsPart)) return null
  try {
    const sealed = await Array.fromAsync(backups.folder.openStored(manifest.id, settingsPart))
    await openSettings(Buffer.concat(sealed), identity)
    return identity
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error
    await backups.folder.remove(manifest.id)
    throw new ProblemError('backup_damaged', 'The key in the index of the copy does not open its settings.')
  }
}
