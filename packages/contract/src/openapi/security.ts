import type { Access } from '../operation.ts'
import type { Json } from './json.ts'

export const securitySchemes: Json = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API token: `stq_…`.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    // A name that HTTP knows as one: generated clients look for it among headers.
    name: 'stackquay_session',
    description:
      'A browser session, together with the header X-CSRF-Token that login answers, on every request. The name of the cookie goes on with `_` and the instance; under TLS it begins with `__Host-`. Where no header can be sent, the query parameter `ticket`.',
  },
}

/** What most operations take; it stands once in the document. */
export const usualSecurity: readonly Json[] = [{ bearer: [] }, { session: [] }]

/** Undefined where it is the usual one. */
export function securityOf(access: Access): readonly Json[] | undefined {
  if (access.kind === 'public') return []
  return access.session ? [{ session: [] }] : undefined
}
