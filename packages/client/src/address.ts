import { apiPrefix } from './routes.ts'

export type QueryValue = string | number | boolean | null | undefined

/** `/projects/{id}` with values in their places, each one path segment whatever it contains. */
export function fillPath(template: string, params: Readonly<Record<string, unknown>> = {}): string {
  return template.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = params[name]
    if (value === undefined || value === null || value === '')
      throw new TypeError(`"${template}" needs the parameter "${name}".`)
    const text = String(value)
    // URL parsers resolve these two even when they are percent-encoded, so they can never be an id.
    if (text === '.' || text === '..') throw new TypeError(`"${text}" cannot be the parameter "${name}".`)
    return encodeURIComponent(text)
  })
}

/** Absent values are left out; numbers and booleans become text. */
export function queryString(query: Readonly<Record<string, QueryValue>> = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) search.set(name, String(value))
  }
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}

/** `path` is below `/api/v1`. An empty base means the page's own origin. */
export function httpUrl(baseUrl: string, path: string): string {
  return `${baseUrl.replace(/\/+$/, '')}${apiPrefix}${path}`
}

export function socketUrl(baseUrl: string, path: string): string {
  const absolute = new URL(httpUrl(baseUrl, path), globalThis.location?.href)
  absolute.protocol = absolute.protocol === 'https:' ? 'wss:' : 'ws:'
  return absolute.href
}
