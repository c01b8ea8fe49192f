import { randomInt } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The one-time code for the first administrator; it stands in the home until somebody used it. */
export interface SetupCode {
  /** Null once there is a user. */
  value(): string | null
  used(): void
}

/** Without letters and digits that look alike. */
const alphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ'

export function setupCode(home: string, needed: boolean): SetupCode {
  const file = join(home, 'setup-code')
  let code: string | null = null
  if (needed) {
    try {
      code = readFileSync(file, 'utf8').trim()
    } catch {
      code = [4, 4, 4]
        .map((length) => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join(''))
        .join('-')
      writeFileSync(file, `${code}\n`, { mode: 0o600 })
    }
  }
  return {
    value: () => code,
    used: () => {
      code = null
      rmSync(file, { force: true })
    },
  }
}
