import { readText } from './body.ts'
import { refuseOverwrite } from './conditional.ts'
import { S3Error } from './errors.ts'
import { type Operation, xmlAnswer } from './exchange.ts'
import { findObject, removeObject } from './objects.ts'
import { bucketAt, refuseVersion } from './parameters.ts'
import { childText, element, parseXml, xmlDocument } from './xml.ts'

export const deleteObject: Operation = async ({ store, address, header }) => {
  refuseVersion(address.query.get('versionId'))
  await store.change([], (gone) => {
    const { name } = bucketAt(store, address)
    const key = address.key ?? ''
    const ifMatch = header('if-match')
    refuseOverwrite((field) => (field === 'if-match' ? ifMatch : undefined), findObject(store, name, key))
    removeObject(store, name, key, gone)
  })
  return { status: 204 }
}

export const deleteObjects: Operation = async (exchange) => {
  const { store, address } = exchange
  bucketAt(store, address)
  const request = parseXml(await readText(exchange, longestList))
  const objects = request.children.filter((child) => child.name === 'Object')
  if (request.name !== 'Delete' || objects.length === 0 || objects.length > 1000) throw new S3Error('MalformedXML')
  const quiet = childText(request, 'Quiet') === 'true'
  const asked = objects.map((object) => {
    const key = childText(object, 'Key')
    if (key === undefined || key === '') throw new S3Error('MalformedXML')
    const version = childText(object, 'VersionId')
    const condition = ['ETag', 'LastModifiedTime', 'Size'].some((name) => childText(object, name) !== undefined)
    if (condition) throw new S3Error('NotImplemented', 'Objects are deleted one by one when there are conditions.')
    return { key, isThere: version === undefined || version === '' || version === 'null' }
  })
  await store.change([], (gone) => {
    const { name } = bucketAt(store, address)
    for (const { key, isThere } of asked) if (isThere) removeObject(store, name, key, gone)
  })
  return xmlAnswer(
    xmlDocument(
      'DeleteResult',
      asked.map(({ key, isThere }) => {
        if (isThere) return quiet ? null : element('Deleted', element('Key', key))
        const error = new S3Error('NoSuchVersion')
        return element('Error', element('Key', key), element('Code', error.code), element('Message', error.message))
      }),
    ),
  )
}

/** A thousand keys of 1024 bytes, each byte a character reference. */
const longestList = 8 * 1024 * 1024
