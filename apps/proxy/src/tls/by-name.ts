/** What stands for a host name: its own entry, else that of the wildcard one label above; of several the first. */
export class ByName<Value> {
  readonly #values = new Map<string, Value>()

  constructor(entries: Iterable<readonly [name: string, value: Value]>) {
    for (const [name, value] of entries) if (!this.#values.has(name)) this.#values.set(name, value)
  }

  get(host: string): Value | undefined {
    const own = this.#values.get(host)
    if (own !== undefined) return own
    const dot = host.indexOf('.')
    return dot === -1 ? undefined : this.#values.get(`*${host.slice(dot)}`)
  }
}
