const often = 4
const withinMs = 30_000

/**
 * Notes that a host sent the browser here. True when it did so again and again: the browser does not keep its cookie, and would be sent to and fro
 * for ever.
 */
export function enteredAgain(storage: Pick<Storage, 'getItem' | 'setItem'>, host: string, now: number): boolean {
  const key = `stackquay.enter.${host}`
  const before = (storage.getItem(key) ?? '').split(' ').map(Number)
  const recent = before.filter((time) => time > now - withinMs && time <= now)
  storage.setItem(key, [...recent, now].slice(-often).join(' '))
  return recent.length + 1 >= often
}

/** What the proxy says in the address: where to go on. */
export interface EnterSearch {
  host?: string
  path?: string
  secure?: true
}

export function readEnterSearch({ host, path, secure }: Record<string, unknown>): EnterSearch {
  return {
    ...(typeof host === 'string' && host.length <= 253 && { host }),
    ...(typeof path === 'string' && path.startsWith('/') && path.length <= 2_000 && { path }),
    ...((secure === true || secure === 'true') && { secure: true }),
  }
}
