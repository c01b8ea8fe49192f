import { parentPort } from 'node:worker_threads'
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'
import type { AgeAct, AgeAnswer, AgeRequest } from './messages.ts'

/*
 * Everything with age, away from the thread that answers requests: a piece of 8 MiB takes a tenth of a second, a passphrase a whole
 * one and 256 MiB, which the system has back when this thread ends.
 */

/** What `age --passphrase` uses. */
const workFactor = 18
/** A key file may be anybody’s, and says itself how much memory it takes to open it: 256 MiB, or twice that. */
const mostWorkFactor = 19

parentPort?.on('message', ({ id, act }: AgeRequest) => {
  void carryOut(act).then(
    (bytes) => answer({ id, bytes }),
    (error: Error) => answer({ id, error: error.message }),
  )
})

function answer(message: AgeAnswer): void {
  parentPort?.postMessage(message, 'bytes' in message ? [message.bytes.buffer as ArrayBuffer] : [])
}

/** Not of a Buffer’s pool, whose memory stays with this thread. */
function text(value: string): Uint8Array {
  return new TextEncoder().encode(value)
}

async function carryOut(act: AgeAct): Promise<Uint8Array> {
  switch (act.do) {
    case 'new-identity': {
      const identity = await generateX25519Identity()
      return text(`${identity} ${await identityToRecipient(identity)}`)
    }
    case 'recipient':
      return text(await identityToRecipient(act.identity))
    case 'encrypt': {
      const encrypter = new Encrypter()
      encrypter.addRecipient(act.recipient)
      return encrypter.encrypt(act.bytes)
    }
    case 'decrypt': {
      const decrypter = new Decrypter()
      decrypter.addIdentity(act.identity)
      return decrypter.decrypt(act.bytes)
    }
    case 'encrypt-with-passphrase': {
      const encrypter = new Encrypter()
      encrypter.setPassphrase(act.passphrase)
      encrypter.setScryptWorkFactor(workFactor)
      return encrypter.encrypt(act.bytes)
    }
    case 'decrypt-with-passphrase': {
      const factor = /^-> scrypt \S+ (\d+)$/m.exec(Buffer.from(act.bytes.subarray(0, 500)).toString('latin1'))?.[1]
      if (Number(factor) > mostWorkFactor) throw new Error('scrypt work factor is too high')
      const decrypter = new Decrypter()
      decrypter.addPassphrase(act.passphrase)
      return decrypter.decrypt(act.bytes)
    }
    default:
      return act satisfies never
  }
}
