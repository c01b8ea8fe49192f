import type { Address } from './address.ts'
import {
  createBucket,
  deleteBucket,
  deletePolicy,
  getAcl,
  getLocation,
  getPolicy,
  getPolicyStatus,
  getVersioning,
  headBucket,
  listBuckets,
  putAcl,
  putPolicy,
} from './bucket-operations.ts'
import { deleteObject, deleteObjects } from './delete-objects.ts'
import { S3Error } from './errors.ts'
import type { Operation } from './exchange.ts'
import { listObjects } from './list-operations.ts'
import { listParts, listUploads } from './list-uploads.ts'
import { abortUpload, createUpload, finishUpload, uploadPart } from './multipart-operations.ts'
import { objectAt } from './parameters.ts'
import { putObject } from './put-object.ts'
import { readObject } from './read-object.ts'

/** All that this storage does: method, what it is about, and the parameter that makes it another operation. */
const operations: Readonly<Record<string, Operation>> = {
  'GET service': listBuckets,

  'PUT bucket': createBucket,
  'HEAD bucket': headBucket,
  'DELETE bucket': deleteBucket,
  'GET bucket': listObjects,
  'GET bucket ?location': getLocation,
  'GET bucket ?versioning': getVersioning,
  'GET bucket ?uploads': listUploads,
  'GET bucket ?policy': getPolicy,
  'PUT bucket ?policy': putPolicy,
  'DELETE bucket ?policy': deletePolicy,
  'GET bucket ?policyStatus': getPolicyStatus,
  'GET bucket ?acl': getAcl,
  'PUT bucket ?acl': putAcl,
  'POST bucket ?delete': deleteObjects,

  'GET object': readObject,
  'HEAD object': readObject,
  'PUT object': putObject,
  'DELETE object': deleteObject,
  'GET object ?acl': (exchange) => {
    objectAt(exchange.store, exchange.address)
    return getAcl(exchange)
  },
  'PUT object ?acl': (exchange) => {
    objectAt(exchange.store, exchange.address)
    return putAcl(exchange)
  },
  'POST object ?uploads': createUpload,
  'PUT object ?uploadId': uploadPart,
  'POST object ?uploadId': finishUpload,
  'DELETE object ?uploadId': abortUpload,
  'GET object ?uploadId': listParts,
}

/** Parameters that make S3 do something else. One of them that is not done here must not be taken for the plain operation. */
const subresources = new Set([
  'accelerate',
  'acl',
  'analytics',
  'annotation',
  'attributes',
  'cors',
  'delete',
  'encryption',
  'intelligent-tiering',
  'inventory',
  'legal-hold',
  'lifecycle',
  'location',
  'logging',
  'metadataConfiguration',
  'metadataTable',
  'metrics',
  'notification',
  'object-lock',
  'ownershipControls',
  'policy',
  'policyStatus',
  'publicAccessBlock',
  'renameObject',
  'replication',
  'requestPayment',
  'restore',
  'retention',
  'select',
  'session',
  'tagging',
  'torrent',
  'uploadId',
  'uploads',
  'versioning',
  'versions',
  'website',
])

/** Throws NotImplemented or MethodNotAllowed. */
export function operationOf(method: string, address: Address): Operation {
  const about = address.bucket === null ? 'service' : address.key === null ? 'bucket' : 'object'
  const special = address.query.entries.find(([name]) => subresources.has(name))?.[0]
  const found = operations[`${method} ${about}${special === undefined ? '' : ` ?${special}`}`]
  if (found !== undefined) return found
  if (special !== undefined)
    throw new S3Error('NotImplemented', `${method} ?${special} of a ${about} is not supported.`)
  if (method === 'POST' && about === 'bucket') {
    throw new S3Error('NotImplemented', 'Uploads from a form are not supported: use a pre-signed PUT.')
  }
  throw new S3Error('MethodNotAllowed')
}
