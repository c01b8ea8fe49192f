import type { SecretHandle } from '@stackquay/domain'
import type { SecretRef } from '@stackquay/engine-api'
import { randomText } from '../projects/prepare.ts'

/** Secrets of one run, in memory alone: nothing of them is stored, and nothing of it is left after a crash. */
export interface RunSecrets {
  /** Makes the secret when it is first asked for. */
  handle(name: string, length: number): SecretHandle
  /** Undefined when it is not one of these. */
  find(ref: SecretRef): Promise<string> | undefined
}

export function createRunSecrets(run: string): RunSecrets {
  const texts = new Map<string, string>()
  return {
    handle: (name, length) => {
      const secret = `${run}/${name}`
      if (!texts.has(secret)) texts.set(secret, randomText(length))
      return { secret, version: 1 }
    },
    find: ({ secret }) => {
      const text = texts.get(secret)
      return text === undefined ? undefined : Promise.resolve(text)
    },
  }
}
