import { z } from 'zod'
import { parseAs } from '../read-manifest.ts'

/** The one format that this version writes and reads; docs/backup-format.md describes it. */
const format = 'stackquay-instance-backup'
const formatVersion = 1

export const databaseFile = 'stackquay.db.zst'

export const InstanceArchiveId = z.string().regex(/^ibk_[a-z0-9]{10,40}$/)

const text = (most: number) => z.string().max(most)
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/)

export const InstanceManifest = z.strictObject({
  format: z.literal(format),
  formatVersion: z.literal(formatVersion),
  id: InstanceArchiveId,
  createdAt: z.iso.datetime(),
  note: text(1000).nullable(),
  source: z.enum(['manual', 'schedule', 'before-migration', 'before-restore']),
  stackquayVersion: text(60),
  /** Of the database: how many migrations it has had. */
  schema: z.int().positive(),
  /** Of the secret key that its secrets are sealed with. */
  keyId: text(100),
  /** Where its audit log ends, and whether it was whole up to there. */
  audit: z.strictObject({ seq: z.int().nonnegative(), hash: Sha256, whole: z.boolean() }),
  counts: z.record(z.string().regex(/^[a-z_]{1,40}$/), z.int().nonnegative()),
  parts: z.tuple([
    z.strictObject({
      file: z.literal(databaseFile),
      id: z.literal('database'),
      bytes: z.int().nonnegative(),
      contentBytes: z.int().nonnegative(),
      sha256: Sha256,
    }),
  ]),
  /** Made with the secret key over all of the above, checksums included: whoever has not the key changes nothing unseen. */
  mac: Sha256,
})
export type InstanceManifest = Readonly<z.infer<typeof InstanceManifest>>

export function parseInstanceManifest(bytes: Buffer): InstanceManifest {
  return parseAs(bytes, InstanceManifest, { format, formatVersion })
}

/** Read as it will be read from the disk. */
export function newInstanceManifest(
  fields: Omit<InstanceManifest, 'format' | 'formatVersion' | 'mac'>,
  sign: (text: string, keyId: string) => string,
): InstanceManifest {
  const unsigned = parseInstanceManifest(
    Buffer.from(JSON.stringify({ format, formatVersion, ...fields, mac: '0'.repeat(64) })),
  )
  return { ...unsigned, mac: sign(signedText(unsigned), fields.keyId) }
}

/** The schema gives fields their order, so this is the same text however the manifest was written. */
export function signedText({ mac: _, ...manifest }: InstanceManifest): string {
  return JSON.stringify({ ...manifest, counts: Object.entries(manifest.counts).sort() })
}
