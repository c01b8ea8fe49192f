/**
 * The half of the session that the page keeps. Storage belongs to scheme, host and port together, where a cookie goes to
 * every port of its host: what answers at another port finds no key, and the cookie alone opens nothing.
 */
const name = 'stackquay.session'

/** Where storage is closed to us, the key holds for this tab and its visit. */
let unstored: string | null = null

/** Read anew each time: another tab may have logged in or out since. */
export function sessionKey(): string | null {
  try {
    return localStorage.getItem(name) ?? unstored
  } catch {
    return unstored
  }
}

export function keepSessionKey(key: string | null): void {
  unstored = null
  try {
    if (key === null) localStorage.removeItem(name)
    else localStorage.setItem(name, key)
  } catch {
    unstored = key
  }
}

/** Called when another tab of this origin logged in or out. */
export function onSessionKey(act: (key: string | null) => void): void {
  globalThis.onstorage = ({ key, newValue, storageArea }) => {
    // Without a name, everything was cleared.
    if (storageArea === localStorage && (key === name || key === null)) act(key === null ? null : newValue)
  }
}
