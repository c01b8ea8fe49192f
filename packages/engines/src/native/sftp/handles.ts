import { closeSync, type Dir } from 'node:fs'

/** What a session has open: a file, or a folder that is listed. */
export type Handle =
  | { readonly kind: 'file'; readonly fd: number; readonly appends: boolean }
  | { readonly kind: 'folder'; readonly dir: Dir; readonly path: Buffer; close(): void }

export interface Handles {
  /** Null when too many are open. */
  add(handle: Handle): Buffer | null
  /** Throws for one that is not open, or of another kind. */
  file(name: Buffer): Handle & { readonly kind: 'file' }
  folder(name: Buffer): Handle & { readonly kind: 'folder' }
  close(name: Buffer): void
}

export const mostHandles = 512

export function createHandles(): Handles {
  const open = new Map<number, Handle>()
  let next = 0
  const find = (name: Buffer): Handle => {
    const found = name.length === 4 ? open.get(name.readUInt32BE()) : undefined
    if (found !== undefined) return found
    throw Object.assign(new Error('There is no such handle'), { code: 'EBADF' })
  }
  const wrongKind = () => Object.assign(new Error('The handle is of another kind'), { code: 'EBADF' })
  return {
    add: (handle) => {
      if (open.size >= mostHandles) return null
      next = (next + 1) >>> 0
      while (open.has(next)) next = (next + 1) >>> 0
      open.set(next, handle)
      const name = Buffer.alloc(4)
      name.writeUInt32BE(next)
      return name
    },
    file: (name) => {
      const found = find(name)
      if (found.kind !== 'file') throw wrongKind()
      return found
    },
    folder: (name) => {
      const found = find(name)
      if (found.kind !== 'folder') throw wrongKind()
      return found
    },
    close: (name) => {
      const found = find(name)
      open.delete(name.readUInt32BE())
      if (found.kind === 'file') closeSync(found.fd)
      else found.close()
    },
  }
}
