import { ArchiveError, type InstanceManifest, parseInstanceManifest, signedText } from '@stackquay/archive'
import { isSigned, knownSchema, type SealingKey, type SealingReader } from '@stackquay/store'
import { signaturePurpose } from '../backups/own-backups.ts'

/** Refuses what this service cannot open with this key, and what was changed since it was made with it. */
export function acceptManifest(manifest: InstanceManifest, key: Pick<SealingReader, 'keyId' | 'isSigned'>): void {
  const { keyId, schema, mac } = manifest
  if (schema > knownSchema)
    throw new ArchiveError(
      'newer',
      null,
      `The backup has schema ${schema}; this version of Stackquay knows schemas up to ${knownSchema}. Update Stackquay, then try again.`,
    )
  if (keyId !== key.keyId())
    throw new ArchiveError(
      'locked',
      null,
      `The backup is sealed with the secret key ${keyId}; this service has the key ${key.keyId()}. Give it the key ${keyId}.`,
    )
  if (!key.isSigned({ keyId, mac }, signedText(manifest), signaturePurpose))
    throw new ArchiveError('damaged', null, `The manifest is not as the service with the key ${keyId} signed it.`)
}

/** A key before there is a store that has it. */
export function readerOfKey(key: SealingKey): Pick<SealingReader, 'keyId' | 'isSigned'> {
  return { keyId: () => key.id, isSigned: ({ mac }, text, purpose) => isSigned(key, purpose, text, mac) }
}

/** What the index of a copy says of it. Throws `ArchiveError` for what no version of this one wrote. */
export function manifestOf({ manifest }: { readonly manifest: unknown }): InstanceManifest {
  return parseInstanceManifest(Buffer.from(JSON.stringify(manifest)))
}
