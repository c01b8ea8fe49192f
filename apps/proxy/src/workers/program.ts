import { accessSync, constants } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** How each process of the proxy is started: the main one and its workers. */
export const program = fileURLToPath(new URL(`../main${extname(import.meta.url)}`, import.meta.url))

/**
 * The Node that runs this. A user of its own may be unable to reach that file by its path, and can run it all the same by
 * the descriptor that the kernel keeps for each process.
 */
export function nodeFile(): string {
  try {
    accessSync(process.execPath, constants.X_OK)
    return process.execPath
  } catch {
    return '/proc/self/exe'
  }
}

/** Measured with 1, 4 and 16 MB: more costs memory and serves no faster, less doubles the slowest percent of answers. */
export const memoryFlags: readonly string[] = ['--max-semi-space-size=4']

/** Each thread of V8 and of Node would get a heap of its own from glibc, of which most stays empty. */
export const memoryEnvironment: NodeJS.ProcessEnv = { MALLOC_ARENA_MAX: '2' }
