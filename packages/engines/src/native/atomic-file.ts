import { randomBytes } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { errorCode, orNull } from './errors.ts'

/**
 * The file is either the old one or the new one, whole, whatever happens in between (power loss included). On a full
 * disk a file that is there is written over in place: a workload must be able to stop where nothing else works.
 */
export async function writeJson(path: string, value: unknown): Promise<void> {
  const text = `${JSON.stringify(value, null, 1)}\n`
  try {
    await replaceFile(path, text)
  } catch (error) {
    if (errorCode(error) !== 'ENOSPC' || !(await overwrite(path, text))) throw error
  }
}

async function overwrite(path: string, text: string): Promise<boolean> {
  try {
    const file = await open(path, 'r+')
    try {
      await file.write(text, 0)
      await file.truncate(Buffer.byteLength(text))
      return true
    } finally {
      await file.close()
    }
  } catch {
    return false
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.datasync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw error
  }
}

/** Null when there is no such file, or when what it holds is not JSON: then it is as good as none. */
export async function readJson(path: string): Promise<unknown> {
  const text = await orNull(readFile(path, 'utf8'))
  if (text === null) return null
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}
