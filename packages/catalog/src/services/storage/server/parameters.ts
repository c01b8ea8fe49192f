import type { Address } from './address.ts'
import { S3Error } from './errors.ts'
import { type Bucket, findObject, requireBucket, type StoredObject } from './objects.ts'
import type { Store } from './store.ts'

/** The bucket that is asked for. Throws NoSuchBucket. */
export function bucketAt(store: Pick<Store, 'database'>, { bucket }: Address): Bucket {
  return requireBucket(store, bucket ?? '')
}

/** The object that is asked for. Throws NoSuchBucket, NoSuchKey or NoSuchVersion. */
export function objectAt(store: Pick<Store, 'database'>, address: Address): StoredObject {
  const { name } = bucketAt(store, address)
  refuseVersion(address.query.get('versionId'))
  const object = findObject(store, name, address.key ?? '')
  if (object === undefined) throw new S3Error('NoSuchKey')
  return object
}

/** Where there are no versions, S3 calls the only one `null`. */
export function refuseVersion(version: string | undefined): void {
  if (version !== undefined && version !== '' && version !== 'null') throw new S3Error('NoSuchVersion')
}

/** How many entries to answer: what was asked for, at most `most`. */
export function limitOf(text: string | undefined, name: string, usual: number, most: number): number {
  if (text === undefined || text === '') return usual
  if (!/^\d{1,10}$/.test(text) || Number(text) > 2_147_483_647) {
    throw new S3Error('InvalidArgument', `${name} must be a whole number, 0 or more.`)
  }
  return Math.min(Number(text), most)
}

export const largestPartNumber = 10_000

export function partNumberOf(text: string | undefined): number {
  const number = /^\d{1,5}$/.test(text ?? '') ? Number(text) : 0
  if (number < 1 || number > largestPartNumber) {
    throw new S3Error('InvalidArgument', 'The part number must be between 1 and 10000.')
  }
  return number
}
