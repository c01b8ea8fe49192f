/**
 * The values of many names, looked up at every request. A `Map` would bring the name among V8’s own strings first,
 * which is a call into its runtime and, with a thousand names, several trips to memory more. Full by half at most; only the
 * control plane puts names in, so no client can fill one place of it.
 */
export class HostTable<Value> {
  /** Name and value in turns: who finds the one has the other at hand. */
  readonly #entries: (string | Value | null)[]
  readonly #mask: number

  /** The last one of a name counts. */
  constructor(entries: readonly (readonly [name: string, value: Value])[]) {
    const size = 2 ** Math.ceil(Math.log2(entries.length * 2 + 2))
    this.#mask = size - 1
    this.#entries = Array.from({ length: 2 * size }, () => null)
    for (const [name, value] of entries) {
      const place = this.#placeOf(name)
      this.#entries[place] = name
      this.#entries[place + 1] = value
    }
  }

  get(name: string): Value | undefined {
    return (this.#entries[this.#placeOf(name) + 1] as Value | null) ?? undefined
  }

  /** Where it is, or would be. */
  #placeOf(name: string): number {
    let hash = 0
    for (let index = 0; index < name.length; index += 1) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
    let place = (hash ^ (hash >>> 15)) & this.#mask
    while (this.#entries[2 * place] !== null && this.#entries[2 * place] !== name) place = (place + 1) & this.#mask
    return 2 * place
  }
}
