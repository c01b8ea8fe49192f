import { ownerElement } from './bucket-operations.ts'
import { checksumElement } from './checksum.ts'
import { S3Error } from './errors.ts'
import { type Operation, xmlAnswer } from './exchange.ts'
import { writer } from './list-operations.ts'
import { bucketAt, limitOf } from './parameters.ts'
import { partsOf, requireUpload } from './uploads.ts'
import { element, optional, xmlDocument } from './xml.ts'

const initiator = element('Initiator', element('ID', '0'.repeat(64)), element('DisplayName', 'owner'))

export const listParts: Operation = ({ store, address }) => {
  const { query } = address
  const { name } = bucketAt(store, address)
  const key = address.key ?? ''
  const upload = requireUpload(store, name, key, query.get('uploadId') ?? '')
  const limit = limitOf(query.get('max-parts'), 'max-parts', 1000, 1000)
  const marker = limitOf(query.get('part-number-marker'), 'part-number-marker', 0, 2_147_483_647)
  const found = partsOf(store, upload.id, marker, limit + 1)
  const page = found.slice(0, limit)
  const truncated = limit > 0 && found.length > limit
  const write = writer(query)
  return xmlAnswer(
    xmlDocument(
      'ListPartsResult',
      element('Bucket', name),
      element('Key', write(key)),
      element('UploadId', upload.id),
      initiator,
      ownerElement,
      element('StorageClass', 'STANDARD'),
      upload.checksum && [
        element('ChecksumAlgorithm', upload.checksum.name.toUpperCase()),
        element('ChecksumType', upload.checksum.type),
      ],
      element('PartNumberMarker', marker),
      truncated ? element('NextPartNumberMarker', page.at(-1)?.number) : null,
      element('MaxParts', limit),
      element('IsTruncated', truncated),
      page.map((part) =>
        element(
          'Part',
          element('PartNumber', part.number),
          element('LastModified', new Date(part.modified).toISOString()),
          element('ETag', `"${part.md5}"`),
          element('Size', part.size),
          upload.checksum && part.checksum ? element(checksumElement(upload.checksum.name), part.checksum) : null,
        ),
      ),
    ),
  )
}

export const listUploads: Operation = ({ store, address }) => {
  const { query } = address
  const { name } = bucketAt(store, address)
  if (query.get('delimiter')) throw new S3Error('NotImplemented', 'Uploads are listed without a delimiter.')
  const limit = limitOf(query.get('max-uploads'), 'max-uploads', 1000, 1000)
  const prefix = query.get('prefix') ?? ''
  const keyMarker = query.get('key-marker') ?? ''
  const idMarker = query.get('upload-id-marker') ?? ''
  // Without an upload, all of the marker's key are behind; ids are of ASCII letters.
  const after = idMarker === '' ? '~' : idMarker
  const found = store.database
    .all(
      `SELECT id, key, created, checksum_name, checksum_type FROM upload
       WHERE bucket = ? AND (key, id) > (?, ?) AND substr(key, 1, ?) = ? ORDER BY key, id LIMIT ?`,
      name,
      Buffer.from(keyMarker),
      after,
      Buffer.byteLength(prefix),
      Buffer.from(prefix),
      limit + 1,
    )
    .map((row) => ({
      id: String(row.id),
      key: Buffer.from(row.key as Uint8Array).toString(),
      created: Number(row.created),
      checksum:
        row.checksum_name === null ? null : { name: String(row.checksum_name), type: String(row.checksum_type) },
    }))
  const page = found.slice(0, limit)
  const last = limit > 0 && found.length > limit ? page.at(-1) : undefined
  const write = writer(query)
  return xmlAnswer(
    xmlDocument(
      'ListMultipartUploadsResult',
      element('Bucket', name),
      element('KeyMarker', write(keyMarker)),
      element('UploadIdMarker', idMarker),
      last && [element('NextKeyMarker', write(last.key)), element('NextUploadIdMarker', last.id)],
      optional('Prefix', write(prefix)),
      optional('EncodingType', query.get('encoding-type')),
      element('MaxUploads', limit),
      element('IsTruncated', last !== undefined),
      page.map((upload) =>
        element(
          'Upload',
          element('Key', write(upload.key)),
          element('UploadId', upload.id),
          initiator,
          ownerElement,
          element('StorageClass', 'STANDARD'),
          element('Initiated', new Date(upload.created).toISOString()),
          upload.checksum && [
            element('ChecksumAlgorithm', upload.checksum.name.toUpperCase()),
            element('ChecksumType', upload.checksum.type),
          ],
        ),
      ),
    ),
  )
}
