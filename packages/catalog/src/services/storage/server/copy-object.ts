import { decoded, queryOf, splitOnce } from './address.ts'
import { largestPut } from './body.ts'
import { type Checksum, checksumElement, checksumNameOf } from './checksum.ts'
import { isWanted, refuseOverwrite } from './conditional.ts'
import { S3Error } from './errors.ts'
import { type Answer, type Exchange, xmlAnswer } from './exchange.ts'
import { findObject, piecesOf, replaceObject, requireBucket, type StoredObject } from './objects.ts'
import { bucketAt, refuseVersion } from './parameters.ts'
import { headersToStore, refuseUnsupported } from './stored-headers.ts'
import { element, type Markup, xmlDocument } from './xml.ts'

/** No byte is copied: contents never change, and two objects may be made of the same. */
export async function copyObject(exchange: Exchange): Promise<Answer> {
  const { store, address, header } = exchange
  const { name } = bucketAt(store, address)
  const key = address.key ?? ''
  const from = copySource(exchange)
  const replaces = directive(header('x-amz-metadata-directive'))
  refuseUnsupported(header)
  const algorithm = checksumNameOf(header('x-amz-checksum-algorithm'))
  const headers = replaces ? headersToStore(exchange) : null
  if (!replaces && from.bucket === name && from.key === key) {
    throw new S3Error(
      'InvalidRequest',
      'An object can be copied to itself only with x-amz-metadata-directive: REPLACE.',
    )
  }
  const copy = await store.change([], (gone) => {
    const source = sourceObject(exchange)
    if (algorithm !== null && source.checksum?.name !== algorithm) {
      throw new S3Error('NotImplemented', 'A copy keeps the checksum of its source, and gets no other.')
    }
    if (source.size > largestPut)
      throw new S3Error('InvalidRequest', 'The source is larger than 5 GiB: copy it in parts.')
    refuseOverwrite(header, findObject(store, name, key))
    const pieces = piecesOf(store, source)
    return replaceObject(store, name, key, { ...source, headers: headers ?? source.headers, pieces }, gone)
  })
  return xmlAnswer(copyResult('CopyObjectResult', copy.etag, copy.modified, copy.checksum))
}

export function copyResult(
  name: string,
  etag: string,
  modified: number,
  checksum: Omit<Checksum, 'type'> | null,
): string {
  const sum: Markup | null = checksum && element(checksumElement(checksum.name), checksum.value)
  return xmlDocument(name, element('LastModified', new Date(modified).toISOString()), element('ETag', `"${etag}"`), sum)
}

/** The object that a copy is made of. Throws when it is not there, or its conditions do not hold. */
export function sourceObject(exchange: Exchange): StoredObject {
  const { bucket, key } = copySource(exchange)
  requireBucket(exchange.store, bucket)
  const source = findObject(exchange.store, bucket, key)
  if (source === undefined) throw new S3Error('NoSuchKey')
  if (!isWanted(exchange.header, source, 'x-amz-copy-source-')) throw new S3Error('PreconditionFailed')
  return source
}

/** `/bucket/key?versionId=null`, percent-encoded. */
function copySource({ header }: Exchange): { readonly bucket: string; readonly key: string } {
  const [path, query] = splitOnce(header('x-amz-copy-source') ?? '', '?')
  const [bucket, key] = splitOnce(decoded(path).replace(/^\//, ''), '/')
  if (bucket === '' || key === undefined || key === '') {
    throw new S3Error('InvalidArgument', 'x-amz-copy-source must be bucket/key.')
  }
  refuseVersion(queryOf(query ?? '').get('versionId'))
  return { bucket, key }
}

function directive(text: string | undefined): boolean {
  if (text !== undefined && text !== 'COPY' && text !== 'REPLACE') {
    throw new S3Error('InvalidArgument', 'x-amz-metadata-directive must be COPY or REPLACE.')
  }
  return text === 'REPLACE'
}
