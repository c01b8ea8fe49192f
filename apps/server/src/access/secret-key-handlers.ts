import { randomBytes } from 'node:crypto'
import { ProblemError } from '@stackquay/contract'
import type { SealingKey, Store } from '@stackquay/store'
import { ConfigError, parseKey } from '../config.ts'
import type { Handlers } from '../http/handler.ts'
import { type KeyPlace, sealingKeyOf } from '../sealing-key.ts'
import type { PasswordAgain } from './password-again.ts'

export interface SecretKeyDeps {
  readonly store: Pick<Store, 'sealing' | 'replaceKey' | 'transaction'>
  readonly keys: KeyPlace
  readonly passwordAgain: PasswordAgain
  /** Seals anew what is kept outside the store; what is cut off there is made up for by the next start. */
  keyReplaced(): Promise<void>
}

/** The key of the instance. Whoever has it and the database has every secret, so it is shown and replaced to a person only. */
export function secretKeyHandlers({ store, keys, passwordAgain, keyReplaced }: SecretKeyDeps) {
  let replacing = false

  return {
    async getSecretKey() {
      return { status: 200, body: await view() }
    },

    async revealSecretKey({ body }, context) {
      await passwordAgain.check(context, body.password, 'secret_key.reveal', 'password')
      const { id, key } = keys.find(store.sealing.keyId())!
      await store.transaction((tx) => tx.audit.append(context.audit({ action: 'secret_key.reveal', target: id })))
      return { status: 200, body: { id, key: key.toString('base64') } }
    },

    async replaceSecretKey({ body }, context) {
      await passwordAgain.check(context, body.password, 'secret_key.replace', 'password')
      if (keys.source === 'environment') {
        throw new ProblemError('secret_key_external', 'The key is given by STACKQUAY_SECRET_KEY or …_FILE.', {
          hint: 'Write it to the file secret.key in the home (mode 0600), remove the setting, start again, and replace it then.',
        })
      }
      if (replacing || !keys.isSettled()) {
        throw new ProblemError(
          'unavailable',
          'The key is being replaced, or an earlier replacement could not be ended.',
          {
            hint: 'Wait a moment. If it stays so, start the service again: it ends what was begun.',
          },
        )
      }
      const previousId = store.sealing.keyId()
      const next = body.key === undefined ? sealingKeyOf(randomBytes(32)) : givenKey(body.key, previousId)
      replacing = true
      try {
        keys.putNext(next)
        const { resealed, unreadable, settled } = await store
          .replaceKey(next, async (tx, counts) => {
            const changes = { before: { id: previousId }, after: { id: next.id, ...counts } }
            await tx.audit.append(context.audit({ action: 'secret_key.replace', target: next.id, changes }))
          })
          .catch((error: unknown) => {
            keys.settle(previousId)
            throw error
          })
        if (settled) keys.settle(next.id)
        await keyReplaced()
        return { status: 200, body: { ...(await view()), previousId, resealed, unreadable } }
      } finally {
        replacing = false
      }
    },
  } satisfies Partial<Handlers>

  async function view() {
    return { id: store.sealing.keyId(), source: keys.source, createdAt: await store.sealing.since() }
  }
}

function givenKey(text: string, current: string): SealingKey {
  const fault = (code: string, detail: string) =>
    new ProblemError('validation_failed', detail, { errors: [{ pointer: '/key', code, detail }] })
  try {
    const key = sealingKeyOf(parseKey(text))
    if (key.id === current) throw fault('same_key', 'This is the key that is in use.')
    return key
  } catch (error) {
    throw error instanceof ConfigError ? fault('invalid_value', error.message) : error
  }
}
