import { S3Error } from './errors.ts'
import type { StoredObject } from './objects.ts'

type Headers = (name: string) => string | undefined

/**
 * RFC 9110, 13.2.2: whether the object may be sent. Throws PreconditionFailed; answers false when the client has it already.
 * `prefix` is for the conditions on the source of a copy.
 */
export function isWanted(header: Headers, object: StoredObject, prefix = ''): boolean {
  const modified = Math.floor(object.modified / 1000)
  const ifMatch = header(`${prefix}if-match`)
  if (ifMatch !== undefined) {
    if (!lists(ifMatch, object.etag)) throw new S3Error('PreconditionFailed')
  } else {
    const unmodified = seconds(header(`${prefix}if-unmodified-since`))
    if (unmodified !== null && modified > unmodified) throw new S3Error('PreconditionFailed')
  }
  const ifNoneMatch = header(`${prefix}if-none-match`)
  if (ifNoneMatch !== undefined) return !lists(ifNoneMatch, object.etag)
  const since = seconds(header(`${prefix}if-modified-since`))
  return since === null || modified > since
}

/**
 * RFC 9110, 13.1.5: whether a part may be sent to a client that has the rest already. A download that goes on after the
 * object was replaced would otherwise be put together of two.
 */
export function isPartWanted(header: Headers, object: StoredObject): boolean {
  const ifRange = header('if-range')?.trim()
  if (ifRange === undefined) return true
  if (/^(W\/)?"/.test(ifRange)) return ifRange === `"${object.etag}"`
  return ifRange === object.etag || seconds(ifRange) === Math.floor(object.modified / 1000)
}

/** Inside a change: whether the object that is there may be replaced. */
export function refuseOverwrite(header: Headers, object: StoredObject | undefined): void {
  const ifNoneMatch = header('if-none-match')
  if (ifNoneMatch !== undefined && ifNoneMatch !== '*') {
    throw new S3Error('NotImplemented', 'If-None-Match of a write can only be "*".')
  }
  if (ifNoneMatch === '*' && object !== undefined) throw new S3Error('PreconditionFailed')
  const ifMatch = header('if-match')
  if (ifMatch === undefined) return
  if (object === undefined) throw new S3Error('NoSuchKey')
  if (!lists(ifMatch, object.etag)) throw new S3Error('PreconditionFailed')
}

/** Clients of S3 leave the quotes out as often as not. */
function lists(field: string, etag: string): boolean {
  return field.split(',').some((one) => {
    const tag = one
      .trim()
      .replace(/^W\//, '')
      .replace(/^"(.*)"$/, '$1')
    return tag === '*' || tag === etag
  })
}

function seconds(date: string | undefined): number | null {
  const parsed = date === undefined ? Number.NaN : Date.parse(date)
  return Number.isNaN(parsed) ? null : Math.floor(parsed / 1000)
}
