import { mkdirSync, readdirSync } from 'node:fs'
import { chmod, chown, mkdir } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fileSystemOf } from './system/file-system.ts'

/** Cannot be started as things are; the message says why and what to do. */
export class BootError extends Error {
  override readonly name = 'BootError'
}

/**
 * The folder above those of projects: others may pass through to what is theirs, and change nothing in it. One that somebody made
 * elsewhere keeps its owner.
 */
export async function openProjectsFolder(path: string, home: string): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: 0o711 })
  if (process.getuid?.() !== 0 || (made === undefined && !path.startsWith(home + sep))) return
  await chown(path, 0, 0)
  await chmod(path, 0o711)
}

/** What Node compiled of the program that acts as the users of projects. */
export async function compiledFolder(home: string): Promise<string> {
  const path = join(home, 'compiled')
  await mkdir(path, { recursive: true, mode: 0o700 })
  return path
}

export async function openHome(home: string): Promise<void> {
  try {
    // Others may pass through to what is theirs, and list nothing: the user of workloads reaches its projects this way.
    mkdirSync(home, { recursive: true, mode: 0o711 })
    if (process.getuid?.() === 0) await chmod(home, 0o711)
    readdirSync(home)
  } catch (error) {
    throw new BootError(
      `The home ${home} cannot be used: ${(error as Error).message}. Set STACKQUAY_HOME to a folder that is yours.`,
    )
  }
  const { name, network } = await fileSystemOf(home)
  if (network) {
    throw new BootError(
      `The home ${home} lies on ${name}, a network file system, where databases lose data. Set STACKQUAY_HOME to a folder on a local disk.`,
    )
  }
}
