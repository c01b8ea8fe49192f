import { largestPut, openBody } from './body.ts'
import { checksumHeaders, declaredChecksum } from './checksum.ts'
import { refuseOverwrite } from './conditional.ts'
import { copyObject } from './copy-object.ts'
import { S3Error } from './errors.ts'
import type { Exchange, Operation } from './exchange.ts'
import { findObject, replaceObject } from './objects.ts'
import { bucketAt } from './parameters.ts'
import { headersToStore } from './stored-headers.ts'

export const putObject: Operation = async (exchange) => {
  const { store, address, header } = exchange
  if (header('x-amz-copy-source') !== undefined) return copyObject(exchange)
  const { name } = bucketAt(store, address)
  const key = address.key ?? ''
  const headers = headersToStore(exchange)
  refuseMissingChecksum(exchange)
  // What is known to fail need not be sent first.
  refuseOverwrite(header, findObject(store, name, key))
  const body = openBody(exchange, largestPut)
  const written = await store.contents.write(body.chunks)
  const sum = body.checksum()
  const object = await store.change([written], (gone) => {
    refuseOverwrite(header, findObject(store, name, key))
    return replaceObject(
      store,
      name,
      key,
      {
        size: written.size,
        etag: body.md5().toString('hex'),
        headers,
        checksum: sum && { ...sum, type: 'FULL_OBJECT' },
        upload: null,
        pieces: [written],
      },
      gone,
    )
  })
  return { status: 200, headers: { ETag: `"${object.etag}"`, ...checksumHeaders(object.checksum) } }
}

/** A client that says it sends a checksum, and does not, has lost it on the way. */
export function refuseMissingChecksum({ header, owner }: Exchange): void {
  // A URL that was signed ahead says what the SDK would do, not what its user does.
  if (owner.signedBy === 'query' || header('x-amz-sdk-checksum-algorithm') === undefined) return
  if (declaredChecksum(header) === null && header('x-amz-trailer') === undefined) {
    throw new S3Error('InvalidRequest', 'x-amz-sdk-checksum-algorithm names a checksum that is not there.')
  }
}
