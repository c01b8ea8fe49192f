import { createHmac } from 'node:crypto'
import { z } from 'zod'

/*
 * What lies on a target; docs/backup-format.md describes it:
 *   stackquay-key.age        the identity of the target, encrypted by the passphrase
 *   backups/<name>.age       the index of a copy, written last: without it nothing is a copy
 *   pieces/<name>/000000.age the archive of the backup in pieces, each encrypted for the identity
 */

export const copyFormatVersion = 2

/** Of the archive. A piece is read, encrypted and sent at once, so this is what a copy takes in memory a few times over. */
export const pieceBytes = 8 << 20
/** 4 TiB. */
const mostPieces = 500_000
/** Each piece takes two hundred bytes of the index; the manifest is in it too. */
export const mostIndexBytes = 128 << 20
/** What age adds to a piece: its header, and 16 bytes for each 64 KiB. */
const mostSealedBytes = 2 * pieceBytes

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/)

const Piece = z.strictObject({
  /** Of the piece as it lies on the target. */
  bytes: z.int().positive().max(mostSealedBytes),
  sha256: Sha256,
  /** Of its content: the same content is not sent again, though encrypted anew it would look different. */
  contentSha256: Sha256,
})
export type Piece = Readonly<z.infer<typeof Piece>>

export const CopyIndex = z.strictObject({
  format: z.literal('stackquay-copy'),
  formatVersion: z.union([z.literal(1), z.literal(copyFormatVersion)]),
  /** Id of the backup: of a project `bak_…`, of an instance itself `ibk_…`. */
  id: z.string().regex(/^(bak|ibk)_[a-z0-9]{10,40}$/),
  /** The instance that copied it; version 1 does not say. */
  instance: z
    .string()
    .regex(/^[a-z0-9_]{1,40}$/)
    .nullable()
    .default(null),
  /** Whether a schedule had it copied, and not a person. */
  bySchedule: z.boolean().default(false),
  copiedAt: z.iso.datetime(),
  /** The age identity that opens the settings of the backup; null where the instance that copied it had none. */
  identity: z
    .string()
    .regex(/^AGE-SECRET-KEY-1[0-9A-Z]{58}$/)
    .nullable(),
  /** Size of the archive. */
  archiveBytes: z.int().positive(),
  pieceBytes: z.literal(pieceBytes),
  pieces: z.array(Piece).min(1).max(mostPieces),
  /** The manifest of the backup. */
  manifest: z.json(),
})
export type CopyIndex = z.infer<typeof CopyIndex>

/** The same backup has the same name on a target, whoever copies it, and nobody without the key knows which one it is. */
export function copyName(identity: string, backup: string): string {
  return createHmac('sha256', identity).update(`stackquay copy ${backup}`).digest('hex').slice(0, 40)
}

export const indexFolder = 'backups'

export function indexName(copy: string): string {
  return `${indexFolder}/${copy}.age`
}

export const piecesFolder = 'pieces'

export function pieceFolder(copy: string): string {
  return `${piecesFolder}/${copy}`
}

/** Whether something in `pieces/` is called as copies are. */
export function isCopyName(name: string): boolean {
  return /^[0-9a-f]{40}$/.test(name)
}

/** Within the folder of its copy. */
export function pieceName(at: number): string {
  return `${String(at).padStart(6, '0')}.age`
}

export function countPieces(archiveBytes: number): number {
  return Math.ceil(archiveBytes / pieceBytes)
}
