import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SourceFiles } from '@stackquay/catalog'

/**
 * What was last read of each project's source. Reading it takes a process that acts as the project's user; at the start of the
 * service that would be one for each project, before anybody asks for any. Whatever changes or starts a project reads anew.
 */
export interface SourceMemory {
  /** Null when not all of these names were asked for at that time. */
  recall(project: string, names: readonly string[]): Promise<SourceFiles | null>
  remember(project: string, names: readonly string[], files: SourceFiles): Promise<void>
  forget(project: string): Promise<void>
}

/** A file for each project in a folder of our own, which only we can enter. One that cannot be read or written is nothing to remember. */
export function createSourceMemory(home: string): SourceMemory {
  const folder = join(home, 'sources')
  const written = new Map<string, string>()
  const fileOf = (project: string) => join(folder, `${project}.json`)
  return {
    recall: async (project, names) => {
      const text = await readFile(fileOf(project), 'utf8').catch(() => null)
      const known = text === null ? null : remembered(text)
      if (known === null || !names.every((name) => known.names.includes(name))) return null
      return Object.fromEntries(Object.entries(known.files).filter(([name]) => names.includes(name)))
    },
    remember: async (project, names, files) => {
      const text = JSON.stringify({ names, files })
      if (written.get(project) === text) return
      const temporary = `${fileOf(project)}.tmp`
      await mkdir(folder, { recursive: true, mode: 0o700 })
        .then(() => writeFile(temporary, text, { mode: 0o600 }))
        .then(() => rename(temporary, fileOf(project)))
        .then(() => written.set(project, text))
        .catch(() => written.delete(project))
    },
    forget: async (project) => {
      written.delete(project)
      await rm(fileOf(project), { force: true })
    },
  }
}

/** A file that was cut off, or is of another release, is none. */
function remembered(text: string): { readonly names: readonly string[]; readonly files: SourceFiles } | null {
  try {
    const value = JSON.parse(text) as { names?: unknown; files?: unknown }
    if (!Array.isArray(value.names) || typeof value.files !== 'object' || value.files === null) return null
    return { names: value.names as string[], files: value.files as SourceFiles }
  } catch {
    return null
  }
}
