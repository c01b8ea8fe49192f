import { Worker } from 'node:worker_threads'
import { TargetError } from '../target.ts'
import type { AgeAct, AgeAnswer, AgeRequest } from './messages.ts'

/** An age identity (`AGE-SECRET-KEY-1…`) and the recipient (`age1…`) that it opens for. */
export interface AgeKey {
  readonly identity: string
  readonly recipient: string
}

/** Encrypts and decrypts with age, in a thread of its own that begins with the first act and ends with `close`. */
export interface Sealer extends AsyncDisposable {
  newKey(): Promise<AgeKey>
  keyOf(identity: string): Promise<AgeKey>
  /** The bytes are handed over: they are empty afterwards. So they are for `decrypt`. */
  encrypt(bytes: Uint8Array, recipient: string): Promise<Buffer>
  /** Throws `damaged`, also for what is encrypted for another key. */
  decrypt(bytes: Uint8Array, identity: string): Promise<Buffer>
  encryptWithPassphrase(bytes: Uint8Array, passphrase: string): Promise<Buffer>
  /** Throws `locked` for another passphrase, `damaged` for what is none of age’s. */
  decryptWithPassphrase(bytes: Uint8Array, passphrase: string): Promise<Buffer>
}

export function openSealer(): Sealer {
  let worker: Worker | null = null
  let last = 0
  const waiting = new Map<number, PromiseWithResolvers<Buffer>>()
  const fail = (error: Error) => {
    worker = null
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  const begin = (): Worker => {
    const begun = new Worker(new URL('./age-thread.ts', import.meta.url))
    begun.on('message', (answer: AgeAnswer) => {
      const { resolve, reject } = waiting.get(answer.id) ?? {}
      waiting.delete(answer.id)
      if ('error' in answer) reject?.(new Error(answer.error))
      else resolve?.(Buffer.from(answer.bytes.buffer, answer.bytes.byteOffset, answer.bytes.byteLength))
    })
    begun.once('error', (error) => fail(error as Error))
    begun.once('exit', () => fail(new Error('The thread that encrypts ended.')))
    return begun
  }
  const ask = (act: AgeAct): Promise<Buffer> => {
    worker ??= begin()
    const id = ++last
    const answer = Promise.withResolvers<Buffer>()
    waiting.set(id, answer)
    worker.postMessage({ id, act } satisfies AgeRequest, handedOver(act))
    return answer.promise
  }
  return {
    newKey: async () => {
      const [identity = '', recipient = ''] = (await ask({ do: 'new-identity' })).toString().split(' ')
      return { identity, recipient }
    },
    keyOf: async (identity) => ({ identity, recipient: (await ask({ do: 'recipient', identity })).toString() }),
    encrypt: (bytes, recipient) => ask({ do: 'encrypt', bytes, recipient }),
    decrypt: (bytes, identity) => ask({ do: 'decrypt', bytes, identity }).catch(asDamaged),
    encryptWithPassphrase: (bytes, passphrase) => ask({ do: 'encrypt-with-passphrase', bytes, passphrase }),
    decryptWithPassphrase: (bytes, passphrase) =>
      ask({ do: 'decrypt-with-passphrase', bytes, passphrase }).catch((error: Error) => {
        if (!/no identity matched/.test(error.message)) return asDamaged(error)
        throw new TargetError('locked', 'The passphrase does not open the key of the target.', { cause: error })
      }),
    [Symbol.asyncDispose]: async () => {
      await worker?.terminate()
    },
  }
}

/** Memory that nobody else uses; a small Buffer shares its own with others. */
function handedOver(act: AgeAct): ArrayBuffer[] {
  if (act.do !== 'encrypt' && act.do !== 'decrypt') return []
  const { buffer, byteLength } = act.bytes
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []
}

function asDamaged(error: Error): never {
  throw new TargetError('damaged', `It cannot be decrypted: ${error.message}.`, { cause: error })
}
