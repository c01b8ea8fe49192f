import { z } from 'zod'

/** The one format that this version writes and reads; docs/backup-format.md describes it. */
export const formatVersion = 1

/** Far more than a backup of a hundred parts with thousands of tables needs. */
export const mostManifestBytes = 4 << 20
export const mostParts = 200
export const mostWarnings = 500
export const mostWarningText = 1000
/** Of the contents of one part, as JSON. */
export const mostContentsText = 1 << 19
export const mostDepth = 12

export const manifestFile = 'manifest.json'

const text = (most: number) => z.string().max(most)
const Moment = z.iso.datetime()

export const ArchiveId = z.string().regex(/^bak_[a-z0-9]{10,40}$/)

export const PartId = z.string().regex(/^(settings|files|(database|service):[a-z][a-z0-9_-]{0,40})$/)

/** What was counted in a part when it was taken: `{ "tables": { "public.users": 12 } }`. */
export const PartContents = z.record(text(500), z.json())
export type PartContents = z.infer<typeof PartContents>

export const PartEntry = z
  .strictObject({
    file: z.string(),
    id: PartId,
    title: text(200),
    type: text(60),
    version: text(60).nullable(),
    method: z.enum(['copy', 'online']),
    bytes: z.int().nonnegative(),
    contentBytes: z.int().nonnegative(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    takenAt: Moment,
    warnings: z.array(text(mostWarningText)).max(mostWarnings),
    contents: PartContents.optional(),
  })
  // A name is never taken from an archive: it follows from the id.
  .refine(({ id, file }) => fileNames(id).includes(file), { path: ['file'], error: 'is not the file of this part' })
export type PartEntry = Readonly<z.infer<typeof PartEntry>>
/** What is needed of a part to read it. */
export type StoredPart = Pick<PartEntry, 'id' | 'file' | 'bytes' | 'contentBytes' | 'sha256'>

export const Manifest = z.strictObject({
  format: z.literal('stackquay-backup'),
  formatVersion: z.literal(formatVersion),
  id: ArchiveId,
  createdAt: Moment,
  note: text(1000).nullable(),
  source: z.enum(['manual', 'schedule', 'before-restore', 'before-import', 'before-upgrade', 'upload']),
  engine: text(60),
  project: z.strictObject({ id: text(60), slug: text(100), name: text(200) }),
  stackquayVersion: text(60),
  architecture: text(60),
  parts: z
    .array(PartEntry)
    .max(mostParts)
    .refine((parts) => new Set(parts.map(({ id }) => id)).size === parts.length, 'names a part twice'),
  /** The age identity that opens the settings, sealed with the instance’s secret key of this id; null when nothing in the backup is sealed. */
  key: z.strictObject({ keyId: text(100), sealed: text(10_000) }).nullable(),
})
export type Manifest = Readonly<Omit<z.infer<typeof Manifest>, 'parts'>> & { readonly parts: readonly PartEntry[] }

export type PartForm = 'tar.zst' | 'json.zst' | 'json.age'
const partForms: readonly PartForm[] = ['tar.zst', 'json.zst', 'json.age']

/** `database:main` is stored as `database-main.tar.zst`. */
export function fileName(part: string, form: PartForm): string {
  return `${part.replace(':', '-')}.${form}`
}

/** Every name that a part can have, and no other: safe in any folder. */
export const partFilePattern =
  /^(settings|files|(database|service)-[a-z][a-z0-9_-]{0,40})\.(tar\.zst|json\.zst|json\.age)$/

function fileNames(part: string): readonly string[] {
  return partForms.map((form) => fileName(part, form))
}
