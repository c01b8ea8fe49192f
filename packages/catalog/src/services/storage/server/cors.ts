import type { IncomingMessage } from 'node:http'
import { S3Error } from './errors.ts'
import type { Answer } from './exchange.ts'

/**
 * Pages in development come from any address, so every origin may talk to the storage. That gives nobody anything: there are no
 * cookies, a request counts for its signature, and a page that has none reads what everybody may read.
 */
export function corsHeaders({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  if (headers.origin === undefined) return {}
  return { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': '*' }
}

export function answerPreflight({ headers }: IncomingMessage): Answer {
  if (headers.origin === undefined || headers['access-control-request-method'] === undefined) {
    throw new S3Error('BadRequest', 'OPTIONS is answered to browsers that ask before they send.')
  }
  const asked = headers['access-control-request-headers']
  return {
    status: 200,
    headers: {
      'Access-Control-Allow-Methods': 'GET, HEAD, PUT, POST, DELETE',
      // "*" would leave out Authorization.
      ...(typeof asked === 'string' ? { 'Access-Control-Allow-Headers': asked } : {}),
      'Access-Control-Max-Age': 3600,
      Vary: 'Access-Control-Request-Headers',
    },
  }
}
