import { createHash } from 'node:crypto'

/** The account that reads for people who look into a database. No dump and no count of contents has it. */
export const readerName = 'stackquay_reader'
export const readerPrefix = 'stackquay_reader:'

/** Made of the database’s own password, so that it changes with it and nobody has to keep it. */
export function readerPassword(password: string): string {
  return createHash('sha256')
    .update(readerPrefix + password)
    .digest('hex')
}
