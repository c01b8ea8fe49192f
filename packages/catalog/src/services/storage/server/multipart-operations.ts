import { createHash, randomBytes } from 'node:crypto'
import { largestPut, openBody, readText } from './body.ts'
import {
  type Checksum,
  checksumElement,
  checksumHeader,
  checksumNameOf,
  checksumTypeOf,
  createHasher,
} from './checksum.ts'
import { refuseOverwrite } from './conditional.ts'
import { copyResult, sourceObject } from './copy-object.ts'
import { S3Error } from './errors.ts'
import { type Answer, type Exchange, type Operation, xmlAnswer } from './exchange.ts'
import { findObject, openContent, type StoredObject } from './objects.ts'
import { bucketAt, partNumberOf } from './parameters.ts'
import { refuseMissingChecksum } from './put-object.ts'
import { copiedRange } from './range.ts'
import { headersToStore } from './stored-headers.ts'
import {
  completedBy,
  completeUpload,
  type ListedPart,
  putPart,
  removeUpload,
  requireUpload,
  type Upload,
} from './uploads.ts'
import { childText, element, parseXml, type XmlElement, xmlDocument } from './xml.ts'

export const createUpload: Operation = async (exchange) => {
  const { store, address, header } = exchange
  const { name } = bucketAt(store, address)
  const headers = headersToStore(exchange)
  const algorithm = checksumNameOf(header('x-amz-checksum-algorithm'))
  const type = algorithm && checksumTypeOf(algorithm, header('x-amz-checksum-type'))
  const id = randomBytes(24).toString('base64url')
  const key = address.key ?? ''
  await store.change([], () => {
    bucketAt(store, address)
    store.database.run(
      'INSERT INTO upload (id, bucket, key, created, headers, checksum_name, checksum_type) VALUES (?, ?, ?, ?, ?, ?, ?)',
      id,
      name,
      Buffer.from(key),
      Date.now(),
      JSON.stringify(headers),
      algorithm,
      type,
    )
  })
  return xmlAnswer(
    xmlDocument('InitiateMultipartUploadResult', element('Bucket', name), element('Key', key), element('UploadId', id)),
    algorithm && type ? { 'x-amz-checksum-algorithm': algorithm.toUpperCase(), 'x-amz-checksum-type': type } : {},
  )
}

export const uploadPart: Operation = async (exchange) => {
  const { address, header } = exchange
  if (header('x-amz-copy-source') !== undefined) return uploadPartCopy(exchange)
  const upload = uploadAt(exchange)
  const number = partNumberOf(address.query.get('partNumber'))
  refuseMissingChecksum(exchange)
  const body = openBody(exchange, largestPut, upload.checksum?.name ?? null)
  const sum = body.checksum
  const part = await storePart(exchange, upload, number, body.chunks, () => {
    const found = sum()
    if (upload.checksum !== null && found?.name !== upload.checksum.name) {
      throw new S3Error(
        'InvalidRequest',
        `The upload has a checksum of type ${upload.checksum.name}, the part another.`,
      )
    }
    return { md5: body.md5().toString('hex'), checksum: upload.checksum === null ? null : (found?.value ?? null) }
  })
  const found = sum()
  return {
    status: 200,
    headers: { ETag: `"${part.md5}"`, ...(found ? { [checksumHeader(found.name)]: found.value } : {}) },
  }
}

async function uploadPartCopy(exchange: Exchange): Promise<Answer> {
  const { store, address, header } = exchange
  const upload = uploadAt(exchange)
  const number = partNumberOf(address.query.get('partNumber'))
  const source = sourceObject(exchange)
  const range = header('x-amz-copy-source-range')
  const { start, end } = range === undefined ? { start: 0, end: source.size } : copiedRange(range, source.size)
  if (end - start > largestPut) throw new S3Error('InvalidRequest', 'A part has at most 5 GiB: copy it in ranges.')
  const content = openContent(store, source, start, end)
  const md5 = createHash('md5')
  const hasher = upload.checksum && createHasher(upload.checksum.name)
  async function* hashed() {
    for await (const chunk of content.chunks()) {
      md5.update(chunk)
      hasher?.update(chunk)
      yield chunk
    }
  }
  try {
    const part = await storePart(exchange, upload, number, hashed(), () => ({
      md5: md5.digest('hex'),
      checksum: hasher?.digest().toString('base64') ?? null,
    }))
    const sum = upload.checksum && { name: upload.checksum.name, value: part.checksum ?? '' }
    return xmlAnswer(copyResult('CopyPartResult', part.md5, part.modified, sum))
  } finally {
    content.release()
  }
}

async function storePart(
  { store, address }: Exchange,
  upload: Upload,
  number: number,
  chunks: AsyncIterable<Buffer>,
  sums: () => { readonly md5: string; readonly checksum: string | null },
) {
  const written = await store.contents.write(chunks)
  return store.change([written], (gone) => {
    const part = { number, ...written, ...sums(), modified: Math.floor(Date.now() / 1000) * 1000 }
    requireUpload(store, address.bucket ?? '', address.key ?? '', upload.id)
    putPart(store, upload.id, part, gone)
    return part
  })
}

export const finishUpload: Operation = async (exchange) => {
  const { store, address, header, incoming } = exchange
  const { name } = bucketAt(store, address)
  const key = address.key ?? ''
  const id = address.query.get('uploadId') ?? ''
  const listed = listedParts(parseXml(await readText(exchange, longestList)))
  const expected = { size: header('x-amz-mp-object-size'), checksum: header }
  const object = await store.change([], (gone) => {
    const before = completedBy(store, name, key, id)
    if (before !== null) return before
    requireUpload(store, name, key, id)
    refuseOverwrite(header, findObject(store, name, key))
    return completeUpload(store, { bucket: name, key, id }, listed, expected, gone)
  })
  return xmlAnswer(
    xmlDocument(
      'CompleteMultipartUploadResult',
      element('Location', `http://${incoming.headers.host ?? ''}${address.path}`),
      element('Bucket', name),
      element('Key', key),
      element('ETag', `"${object.etag}"`),
      checksumElements(object),
    ),
  )
}

/** Ten thousand parts, with what clients write of each. */
const longestList = 8 * 1024 * 1024

export const abortUpload: Operation = async (exchange) => {
  await exchange.store.change([], (gone) => removeUpload(exchange.store, uploadAt(exchange).id, gone))
  return { status: 204 }
}

function uploadAt({ store, address }: Exchange): Upload {
  const { name } = bucketAt(store, address)
  return requireUpload(store, name, address.key ?? '', address.query.get('uploadId') ?? '')
}

function listedParts(request: XmlElement): readonly ListedPart[] {
  const parts = request.children.filter((child) => child.name === 'Part')
  if (request.name !== 'CompleteMultipartUpload' || parts.length === 0) throw new S3Error('MalformedXML')
  const listed = parts.map((part) => ({
    number: partNumberOf(childText(part, 'PartNumber')?.trim()),
    etag: (childText(part, 'ETag') ?? '').trim().replaceAll('"', ''),
    checksum: (name: Checksum['name']) => childText(part, checksumElement(name)),
  }))
  if (listed.some(({ number }, at) => at > 0 && number <= listed[at - 1]!.number)) throw new S3Error('InvalidPartOrder')
  return listed
}

function checksumElements({ checksum }: StoredObject) {
  return checksum && [element(checksumElement(checksum.name), checksum.value), element('ChecksumType', checksum.type)]
}
