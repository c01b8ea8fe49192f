import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Takes over a sane X-Request-Id, so that a chain of services shares it; else makes one that is unique over restarts. */
export function requestIdOf(message: IncomingMessage): string {
  const given = message.headers['x-request-id']
  return typeof given === 'string' && sane.test(given)
    ? given
    : `req_${start}${(count++).toString(36).padStart(6, '0')}`
}

const sane = /^[A-Za-z0-9._:-]{1,100}$/
const start = randomBytes(6).toString('hex')
let count = 0
