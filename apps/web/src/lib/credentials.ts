export interface CredentialRow {
  readonly name: string
  /** Null when none is set. */
  readonly value: string | null
  /** What stands there until secrets are asked for; null when nothing in it is secret. */
  readonly hidden: string | null
}

const dots = '••••••••'
const secretNames = /password|secret|token|apikey/i

/**
 * What a credentials operation answered, as rows. A secret is hidden by its name, and also where it stands inside of
 * another value, such as a URL.
 */
export function credentialRows(credentials: Readonly<Record<string, unknown>>): readonly CredentialRow[] {
  const secrets = Object.entries(credentials)
    .filter(([name, value]) => secretNames.test(name) && typeof value === 'string' && value !== '')
    .flatMap(([, value]) => [String(value), encodeURIComponent(String(value))])
    .sort((one, other) => other.length - one.length)
  return Object.entries(credentials).map(([name, value]) => {
    if (value === null || value === '') return { name, value: null, hidden: null }
    const text = String(value)
    const hidden = secretNames.test(name)
      ? dots
      : secrets.reduce((shown, secret) => shown.replaceAll(secret, dots), text)
    return { name, value: text, hidden: hidden === text ? null : hidden }
  })
}
