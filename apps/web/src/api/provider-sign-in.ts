import { client } from './client.ts'

/** A round through the provider that this tab began. Storage of the tab: another one cannot end it. */
interface Begun {
  readonly verifier: string
  /** What it is for: to come in, or to link the account that is logged in. */
  readonly purpose: 'login' | 'link'
  readonly next: string
}

const begunName = 'stackquay.provider-round'
/** Whether the session of this origin began at the provider. */
const sessionName = 'stackquay.provider-session'

/** Leaves the page. Throws where the browser gives no hashes: over plain HTTP from another machine. */
export async function beginProviderRound(purpose: Begun['purpose'], next: string): Promise<void> {
  const verifier = textOf(crypto.getRandomValues(new Uint8Array(32)))
  const challenge = textOf(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
  const begun: Begun = { verifier, purpose, next }
  sessionStorage.setItem(begunName, JSON.stringify(begun))
  window.location.assign(`/api/v1/auth/oidc/start?challenge=${challenge}`)
}

export function canBeginProviderRound(): boolean {
  return globalThis.crypto?.subtle !== undefined
}

export type Returned =
  | { readonly kind: 'code'; readonly code: string; readonly begun: Begun }
  | { readonly kind: 'failed'; readonly reason: string }

/** What the address says of a round that ended here; it is taken out of the address, and of the storage. */
export function takeReturned(): Returned | null {
  const parts = new URLSearchParams(window.location.hash.slice(1))
  const [code, reason] = [parts.get('oidc'), parts.get('oidc-error')]
  if (code === null && reason === null) return null
  window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search)
  const begun = readBegun()
  sessionStorage.removeItem(begunName)
  if (code === null) return { kind: 'failed', reason: reason ?? '' }
  return begun === null ? { kind: 'failed', reason: 'expired' } : { kind: 'code', code, begun }
}

function readBegun(): Begun | null {
  try {
    return JSON.parse(sessionStorage.getItem(begunName) ?? 'null') as Begun | null
  } catch {
    return null
  }
}

export function keepProviderSession(isOne: boolean): void {
  try {
    if (isOne) localStorage.setItem(sessionName, 'yes')
    else localStorage.removeItem(sessionName)
  } catch {}
}

/** Ends the session; answers where one logs out at the provider too. */
export async function endSession(): Promise<string | null> {
  const isOne = localStorage.getItem(sessionName) !== null
  keepProviderSession(false)
  if (isOne) return (await client.call('logoutOidc')).url
  await client.call('logout')
  return null
}

function textOf(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}
