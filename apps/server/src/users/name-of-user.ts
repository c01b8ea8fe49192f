import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Null when nobody has this number, or the machine does not say. */
export async function nameOfUser(uid: number): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)('getent', ['passwd', String(uid)])
    return stdout.split(':')[0] || null
  } catch {
    return null
  }
}
