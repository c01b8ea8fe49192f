import type { Socket } from 'node:net'
import { keyOfClient } from './client-key.ts'

/**
 * Counts the connections that are not secure yet. Each costs memory, and whoever opens many of them and says nothing must not take
 * the place of others: when they become many, those with the largest part get no more.
 */
export class Handshakes {
  readonly #many: number
  readonly #most: number
  readonly #ofOne: number
  readonly #byClient = new Map<string, number>()
  #count = 0

  constructor({ many, most, ofOne }: { readonly many: number; readonly most: number; readonly ofOne: number }) {
    this.#many = many
    this.#most = most
    this.#ofOne = ofOne
  }

  get count(): number {
    return this.#count
  }

  /** Answers the function that ends it; null when there are too many. */
  begin(socket: Pick<Socket, 'remoteAddress'>): (() => void) | null {
    const client = keyOfClient(socket.remoteAddress ?? '')
    const own = this.#byClient.get(client) ?? 0
    if (this.#count >= this.#most || (this.#count >= this.#many && own >= this.#ofOne)) return null
    this.#count += 1
    this.#byClient.set(client, own + 1)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      this.#count -= 1
      const left = this.#byClient.get(client)! - 1
      if (left === 0) this.#byClient.delete(client)
      else this.#byClient.set(client, left)
    }
  }
}
