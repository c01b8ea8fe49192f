import { createHash } from 'node:crypto'
import { fdatasync, fstatSync, fsync, readSync } from 'node:fs'
import { promisify } from 'node:util'
import type { StoredBytes } from '../files.ts'

const pieceBytes = 1 << 20
/** So much is on its way to the disk before the end, while more is written: then little is left to wait for. */
const syncEveryBytes = 32 << 20

/** The file while it is written by whoever has its descriptor: its checksum, taken of what is there already, and its way to the disk. */
export interface Outcome {
  /** Looks at what has come. */
  look(): void
  /** When all of it is there. */
  end(): Promise<StoredBytes>
}

export function outcomeOf(file: number): Outcome {
  const hash = createHash('sha256')
  const piece = Buffer.allocUnsafeSlow(pieceBytes)
  let bytes = 0
  let synced = 0
  let syncing: Promise<void> | null = null
  let failure: { readonly error: unknown } | null = null
  const lookAt = (atLeast: number) => {
    const { size } = fstatSync(file)
    while (size - bytes >= atLeast) {
      const length = readSync(file, piece, 0, Math.min(pieceBytes, size - bytes), bytes)
      hash.update(piece.subarray(0, length))
      bytes += length
    }
  }
  const sync = () => {
    synced = bytes
    // Of a descriptor an error is told once.
    syncing = promisify(fdatasync)(file).then(
      () => {
        syncing = null
      },
      (error: unknown) => {
        failure ??= { error }
      },
    )
  }
  return {
    look: () => {
      lookAt(pieceBytes)
      if (syncing === null && bytes - synced >= syncEveryBytes) sync()
    },
    end: async () => {
      lookAt(1)
      await syncing
      if (failure !== null) throw failure.error
      await promisify(fsync)(file)
      return { bytes, sha256: hash.digest('hex') }
    },
  }
}
