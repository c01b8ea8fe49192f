import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The program `zstd` of this machine; null when there is none. */
export function findZstd(path = process.env.PATH ?? ''): string | null {
  const files = path.split(delimiter).filter((folder) => folder.startsWith('/'))
  return files.map((folder) => join(folder, 'zstd')).find(isProgram) ?? null
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
