import { TargetError } from '../target.ts'

/**
 * Another machine that dumps and files are read from. Nothing is ever written there. What it says is believed in nothing: names, sizes
 * and contents may be anybody's. Every method throws `TargetError`, and the signal's reason when that aborts.
 */
export interface Remote {
  /** What a dump is called there, and how large it is where that can be known. */
  look(dump: RemoteDump, signal: AbortSignal): Promise<{ readonly name: string; readonly bytes: number | null }>
  /** Ends when it is whole, and throws otherwise. */
  read(dump: RemoteDump, signal: AbortSignal): AsyncIterable<Uint8Array>
  /** All that is in a folder, at any depth, a folder before what is in it. At most `most` entries. */
  walk(folder: string, most: number, signal: AbortSignal): AsyncIterable<RemoteEntry>
  close(): Promise<void>
}

export interface RemoteDump {
  /** A line for the shell of the machine. */
  readonly command?: string | undefined
  readonly path?: string | undefined
  /** Of the objects that begin like this, the newest. */
  readonly newest?: string | undefined
}

interface Named {
  /** Below the folder: plain names with a slash in between, none of them `.` or `..`. */
  readonly path: string
}

export interface RemoteFile extends Named {
  readonly kind: 'file'
  readonly size: number
  /** Permissions. */
  readonly mode: number
  /** Seconds since 1970. */
  readonly modified: number
  /** Exactly so many bytes, or it throws. */
  read(signal: AbortSignal): AsyncIterable<Uint8Array>
}

export type RemoteEntry = RemoteFile | (Named & { readonly kind: 'folder' }) | (Named & { readonly kind: 'other' })

export const deepest = 50

/** Throws for a name that would lead anywhere else than into its folder. */
export function requirePlainName(name: string, where: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name) && Buffer.byteLength(name) <= 255) return name
  throw new TargetError(
    'damaged',
    `${where} lists ${JSON.stringify(name.slice(0, 100))}, which leads out of its folder.`,
  )
}

export function tooMany(where: string, most: number): TargetError {
  return new TargetError('damaged', `${where} has more than ${most} entries.`)
}

/** The same, and neither more nor less than was said. */
export async function* exactly(
  content: AsyncIterable<Uint8Array>,
  size: number,
  what: string,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    if (bytes > size) break
    yield chunk
  }
  if (bytes !== size) throw new TargetError('damaged', `${what} became another size while it was read.`)
}
