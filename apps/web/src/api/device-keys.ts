/**
 * What the service answers a browser at its first log-in, for each user name: sent with the next log-in, so that failures of
 * others do not count for it. It is no credential; without it a log-in works too.
 */
const storageKey = 'stackquay.device-keys'
const mostNames = 8

export function deviceKeyFor(username: string): { readonly deviceKey?: string } {
  const key = readAll()[username]
  return key === undefined ? {} : { deviceKey: key }
}

export function keepDeviceKey(username: string, key: string | undefined): void {
  if (key === undefined) return
  const { [username]: _, ...others } = readAll()
  const kept = [...Object.entries(others), [username, key] as const].slice(-mostNames)
  try {
    localStorage.setItem(storageKey, JSON.stringify(Object.fromEntries(kept)))
  } catch {
    // Storage may be closed to us: then this browser stays a new one.
  }
}

function readAll(): Readonly<Record<string, string>> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '{}')
    const entries = Object.entries(stored ?? {}).filter(([, key]) => typeof key === 'string' && key.length <= 100)
    return Object.fromEntries(entries)
  } catch {
    return {}
  }
}
