import { isBucketName } from './address.ts'
import { readText } from './body.ts'
import { S3Error } from './errors.ts'
import { type Exchange, type Operation, xmlAnswer } from './exchange.ts'
import { bucketAt, limitOf } from './parameters.ts'
import { publicReadPolicy, refuseOtherPolicy } from './policy.ts'
import type { Store } from './store.ts'
import { refuseAcl } from './stored-headers.ts'
import { element, Markup, optional, parseXml, xmlDocument } from './xml.ts'

/** There is one place, and its name is the one that clients assume. */
export const region = 'us-east-1'

/** There is one owner, with no account anywhere. */
const ownerId = '0'.repeat(64)
export const ownerElement = element('Owner', element('ID', ownerId), element('DisplayName', 'owner'))

export const listBuckets: Operation = ({ store, address }) => {
  const limit = limitOf(address.query.get('max-buckets'), 'max-buckets', 10_000, 10_000)
  const prefix = address.query.get('prefix') ?? ''
  const after = address.query.get('continuation-token') ?? ''
  const found = store.database
    .all('SELECT name, created FROM bucket WHERE name > ? ORDER BY name', after)
    .map(({ name, created }) => ({ name: String(name), created: Number(created) }))
    .filter(({ name }) => name.startsWith(prefix))
  const page = found.slice(0, limit)
  return xmlAnswer(
    xmlDocument(
      'ListAllMyBucketsResult',
      ownerElement,
      element(
        'Buckets',
        page.map(({ name, created }) =>
          element(
            'Bucket',
            element('Name', name),
            element('CreationDate', new Date(created).toISOString()),
            element('BucketRegion', region),
          ),
        ),
      ),
      optional('ContinuationToken', page.length < found.length ? page.at(-1)?.name : null),
      optional('Prefix', prefix),
    ),
  )
}

export const createBucket: Operation = async (exchange) => {
  const { store, address, header } = exchange
  const name = address.bucket ?? ''
  if (!isBucketName(name)) throw new S3Error('InvalidBucketName')
  if (header('x-amz-bucket-object-lock-enabled') === 'true')
    throw new S3Error('NotImplemented', 'There is no object lock.')
  refuseAcl(header)
  const hasBody = Number(exchange.incoming.headers['content-length'] ?? 0) > 0
  // It may name a region: this is all of them.
  if (hasBody && parseXml(await readText(exchange, 65_536)).name !== 'CreateBucketConfiguration') {
    throw new S3Error('MalformedXML')
  }
  await makeBucket(store, name, false)
  return { status: 200, headers: { Location: `/${name}` } }
}

/** One that is there stays as it is. */
export function makeBucket(store: Store, name: string, publicRead: boolean): Promise<number> {
  return store.change([], () =>
    store.database.run('INSERT OR IGNORE INTO bucket VALUES (?, ?, ?)', name, Date.now(), publicRead ? 1 : 0),
  )
}

export const deleteBucket: Operation = async ({ store, address }) => {
  await store.change([], (gone) => {
    const { database } = store
    const { name } = bucketAt(store, address)
    if (database.get('SELECT 1 FROM object WHERE bucket = ? LIMIT 1', name) !== undefined)
      throw new S3Error('BucketNotEmpty')
    const uploads = 'SELECT id FROM upload WHERE bucket = ?'
    for (const { content } of database.all(`SELECT content FROM part WHERE upload IN (${uploads})`, name))
      gone(String(content))
    database.run(`DELETE FROM part WHERE upload IN (${uploads})`, name)
    database.run('DELETE FROM upload WHERE bucket = ?', name)
    database.run('DELETE FROM bucket WHERE name = ?', name)
  })
  return { status: 204 }
}

export const headBucket: Operation = ({ store, address }) => {
  bucketAt(store, address)
  return { status: 200, headers: { 'x-amz-bucket-region': region } }
}

export const getLocation: Operation = ({ store, address }) => {
  bucketAt(store, address)
  // Empty stands for us-east-1.
  return xmlAnswer(xmlDocument('LocationConstraint'))
}

export const getVersioning: Operation = ({ store, address }) => {
  bucketAt(store, address)
  return xmlAnswer(xmlDocument('VersioningConfiguration'))
}

export const getPolicy: Operation = ({ store, address }) => {
  const { name, publicRead } = bucketAt(store, address)
  if (!publicRead) throw new S3Error('NoSuchBucketPolicy')
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body: publicReadPolicy(name) }
}

export const getPolicyStatus: Operation = ({ store, address }) => {
  const { publicRead } = bucketAt(store, address)
  return xmlAnswer(xmlDocument('PolicyStatus', element('IsPublic', publicRead)))
}

export const putPolicy: Operation = async (exchange) => {
  const { name } = bucketAt(exchange.store, exchange.address)
  refuseOtherPolicy(await readText(exchange, 20_480), name)
  return setPublicRead(exchange, true)
}

export const deletePolicy: Operation = (exchange) => setPublicRead(exchange, false)

async function setPublicRead({ store, address }: Exchange, publicRead: boolean) {
  await store.change([], () => {
    const { name } = bucketAt(store, address)
    store.database.run('UPDATE bucket SET public_read = ? WHERE name = ?', publicRead ? 1 : 0, name)
  })
  return { status: 204 }
}

/** Of a bucket or of an object: the owner may do everything, nobody else anything. */
export const getAcl: Operation = ({ store, address }) => {
  bucketAt(store, address)
  const attributes = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"'
  const grantee = new Markup(`<Grantee ${attributes}><ID>${ownerId}</ID><DisplayName>owner</DisplayName></Grantee>`)
  const grant = element('Grant', grantee, element('Permission', 'FULL_CONTROL'))
  return xmlAnswer(xmlDocument('AccessControlPolicy', ownerElement, element('AccessControlList', grant)))
}

export const putAcl: Operation = ({ store, address, header }) => {
  bucketAt(store, address)
  refuseAcl(header)
  if (header('x-amz-acl') === undefined) throw new S3Error('AccessControlListNotSupported')
  return { status: 200 }
}
