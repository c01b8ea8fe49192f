import type { ArchiveTar } from '@stackquay/archive'
import { ProblemError } from '@stackquay/contract'
import type { Backups } from './open-backups.ts'
import type { Subject } from './scheduled-subject.ts'

/** A backup that is copied: of a project, or of the instance itself. */
export interface CopiedArchive {
  readonly id: string
  readonly createdAt: string
  /** Null: the instance. */
  readonly subject: Subject
  readonly manifest: object
  /** Compares what is stored with its checksums. */
  check(signal: AbortSignal): Promise<void>
  asTar(): Promise<ArchiveTar>
  /** Opens its settings; null where nobody here has it, and for the instance, which needs the secret key. */
  identity(): Promise<string | null>
}

/** Throws `not_found`. */
export async function copiedArchive(id: string, { folder, known, keys, own }: Backups): Promise<CopiedArchive> {
  if (isOfInstance(id)) {
    const { archives } = own
    const manifest = await archives.read(id)
    if (manifest === null) throw new ProblemError('not_found', `There is no backup "${id}" of the instance.`)
    return {
      id,
      createdAt: manifest.createdAt,
      subject: null,
      manifest,
      check: (signal) => archives.check(id, signal),
      asTar: () => archives.asTar(id),
      identity: async () => null,
    }
  }
  const manifest = known.find(id)?.manifest
  if (manifest === undefined) throw new ProblemError('not_found', `There is no backup "${id}".`)
  return {
    id,
    createdAt: manifest.createdAt,
    subject: manifest.project,
    manifest,
    check: (signal) => folder.check(id, undefined, signal),
    asTar: () => folder.asTar(id),
    identity: async () => (keys.opensHere(manifest) ? await keys.identityOf(manifest) : null),
  }
}

export function isOfInstance(backup: string): boolean {
  return backup.startsWith('ibk_')
}
