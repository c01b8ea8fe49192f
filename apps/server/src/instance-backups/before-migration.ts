import type { InstanceArchives, InstanceManifest } from '@stackquay/archive'
import { newId, type OldDatabase, sign } from '@stackquay/store'
import { signaturePurpose } from '../backups/own-backups.ts'
import { version } from '../version.ts'

const keptBeforeMigration = 3

/**
 * A backup of the instance before a newer program changes the schema of its database. It throws when none can be made, and then
 * nothing is changed. The newest three stay; of attempts that found the same state again only the last.
 */
export async function backupBeforeMigration(archives: InstanceArchives, old: OldDatabase, now: Date): Promise<void> {
  await archives.sweep()
  const made = await archives.create({
    id: newId('ibk', now),
    createdAt: now.toISOString(),
    note: `Schema ${old.schema}, before ${old.nextSchema}`,
    source: 'before-migration',
    stackquayVersion: version,
    copyTo: old.copyTo,
    sign: (text) => sign(old.key, signaturePurpose, text),
  })
  const earlier = (await archives.list()).filter(({ id, source }) => source === 'before-migration' && id !== made.id)
  const [same, other] = [earlier.filter((one) => isSame(one, made)), earlier.filter((one) => !isSame(one, made))]
  for (const { id } of [...same, ...other.slice(keptBeforeMigration - 1)]) await archives.remove(id)
}

/** A start that fails again and again must not push out what is older. */
function isSame(one: InstanceManifest, other: InstanceManifest): boolean {
  return one.schema === other.schema && one.audit.hash === other.audit.hash && one.keyId === other.keyId
}
