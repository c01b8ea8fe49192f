import { usageError } from './errors.ts'

export const defaultUrl = 'http://127.0.0.1:8700'

/** `127.0.0.1:8700`, `https://quay.example/api/v1/` … as scheme, host, port and path prefix, without a slash at the end. */
export function serviceUrl(text: string): string {
  const trimmed = text.trim()
  let url: URL
  try {
    url = new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`)
  } catch {
    throw usageError(`"${text}" is not a URL.`, `An example: ${defaultUrl}`)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw usageError(`"${text}" is not an http or https URL.`)
  if (url.username !== '' || url.password !== '')
    throw usageError('The URL must not contain a password.', 'Log in with a token instead.')
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}`
}

/** Whether the service shares this machine's folders. */
export function isLocal(url: string): boolean {
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || /^127\./.test(hostname)
}
