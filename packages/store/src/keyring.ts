import type { SealingKey } from './sealing.ts'

/**
 * The keys of an open store. One seals; while the key is being replaced there are two, so that a read between the
 * commit and the change of keys opens the texts of both.
 */
export class Keyring {
  #current: SealingKey
  readonly #known = new Map<string, SealingKey>()

  constructor(current: SealingKey) {
    this.#current = current
    this.#known.set(current.id, current)
  }

  get current(): SealingKey {
    return this.#current
  }

  /** Undefined for a key that is not on the ring. */
  find(id: string): SealingKey | undefined {
    return this.#known.get(id)
  }

  all(): readonly SealingKey[] {
    return [...this.#known.values()]
  }

  /** Lets a key open; it does not seal yet. */
  admit(key: SealingKey): void {
    this.#known.set(key.id, key)
  }

  /** From here on this key seals, and it alone opens. */
  change(key: SealingKey): void {
    this.#known.clear()
    this.#known.set(key.id, key)
    this.#current = key
  }

  dismiss(id: string): void {
    if (id !== this.#current.id) this.#known.delete(id)
  }
}
