import { createHash } from 'node:crypto'
import { readerPrefix } from './reader-name.ts'

export { readerName } from './reader-name.ts'

/** Made of the database’s own password, so that it changes with it and nobody has to keep it. */
export function readerPassword(password: string): string {
  return createHash('sha256')
    .update(readerPrefix + password)
    .digest('hex')
}
