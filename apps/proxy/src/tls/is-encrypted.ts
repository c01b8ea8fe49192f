import type { Socket } from 'node:net'

/** Cheap enough for each request: plain connections have no such field. */
export function isEncrypted(socket: Socket): boolean {
  return (socket as { readonly encrypted?: boolean }).encrypted === true
}
