import type { IncomingMessage } from 'node:http'
import { S3Error } from './errors.ts'

/** What a request is about. */
export interface Address {
  /** Decoded, with its slashes; what the signature is made over. */
  readonly path: string
  readonly query: Query
  readonly bucket: string | null
  /** Null for the bucket itself. Any text: it never becomes a path of the disk. */
  readonly key: string | null
}

export interface Query {
  readonly entries: readonly (readonly [string, string])[]
  /** The first of this name. */
  get(name: string): string | undefined
}

/**
 * Buckets are named in the path. In front of `localhost` they may also be part of the host, as clients write them that were
 * given a name instead of an IP address.
 */
export function addressOf(request: IncomingMessage): Address {
  const url = request.url ?? '/'
  if (!url.startsWith('/')) throw new S3Error('InvalidURI')
  const [rawPath, rawQuery] = splitOnce(url, '?')
  const path = decoded(rawPath)
  const query = queryOf(rawQuery ?? '')
  const host = /^([a-z0-9][a-z0-9.-]*)\.localhost(?::\d+)?$/.exec(request.headers.host ?? '')?.[1]
  const [bucket, key] = host === undefined ? splitOnce(path.slice(1), '/') : [host, path.slice(1)]
  if (bucket === '' && key === undefined) return { path, query, bucket: null, key: null }
  if (key !== undefined && Buffer.byteLength(key) > 1024) throw new S3Error('KeyTooLongError')
  return { path, query, bucket, key: key === undefined || key === '' ? null : key }
}

export function queryOf(text: string): Query {
  const entries = text
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name, value = ''] = splitOnce(pair.replaceAll('+', '%20'), '=')
      return [decoded(name), decoded(value)] as const
    })
  return { entries, get: (name) => entries.find(([candidate]) => candidate === name)?.[1] }
}

/** Throws for what is no UTF-8: keys are text, and lists of them are XML. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new S3Error('InvalidURI')
  }
}

export function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)]
}

/** The naming rules of general purpose buckets, without the names that AWS keeps for itself. */
export function isBucketName(name: string): boolean {
  return (
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) &&
    !name.includes('..') &&
    !/^\d+\.\d+\.\d+\.\d+$/.test(name) &&
    !/^(xn--|sthree-|amzn-s3-demo-)|(-s3alias|--ol-s3|\.mrap|--x-s3)$/.test(name)
  )
}
