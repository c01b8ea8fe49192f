/** Codes, statuses and meanings: "Error responses" of the Amazon S3 API reference. Clients decide by the code. */
const catalogue = {
  AccessControlListNotSupported: [400, 'Buckets here have no access control lists: a bucket is public or it is not.'],
  AccessDenied: [403, 'Access denied.'],
  AuthorizationHeaderMalformed: [400, 'The authorization header is malformed.'],
  AuthorizationQueryParametersError: [400, 'The signature in the query is malformed.'],
  BadDigest: [400, 'The content is not what its checksum says.'],
  BadRequest: [400, 'The request cannot be understood.'],
  BucketNotEmpty: [409, 'The bucket has objects in it.'],
  EntityTooLarge: [400, 'The object is larger than 5 GiB: use a multipart upload.'],
  EntityTooSmall: [400, 'Every part but the last must have at least 5 MiB.'],
  IncompleteBody: [400, 'The body is shorter or longer than was said.'],
  InternalError: [500, 'Something failed inside the storage. Its log says what.'],
  InvalidAccessKeyId: [403, 'There is no such access key.'],
  InvalidArgument: [400, 'An argument is not valid.'],
  InvalidBucketName: [400, 'The bucket name is not valid.'],
  InvalidDigest: [400, 'The Content-MD5 is not the base64 of an MD5 sum.'],
  InvalidPart: [400, 'A part was not uploaded, or its ETag is another.'],
  InvalidPartNumber: [416, 'The object has no such part.'],
  InvalidPartOrder: [400, 'The parts are not listed in ascending order.'],
  InvalidRange: [416, 'The range lies outside the object.'],
  InvalidRequest: [400, 'The request is not valid.'],
  InvalidURI: [400, 'The path is not valid percent-encoded UTF-8.'],
  KeyTooLongError: [400, 'A key has at most 1024 bytes.'],
  MalformedPolicy: [400, 'The policy is not valid JSON.'],
  MalformedXML: [400, 'The XML is not well-formed, or not of the expected form.'],
  MaxMessageLengthExceeded: [400, 'The body of the request is too long.'],
  MetadataTooLarge: [400, 'User metadata has at most 2 KiB.'],
  MethodNotAllowed: [405, 'This method is not allowed here.'],
  MissingContentLength: [411, 'The request needs a Content-Length.'],
  NoSuchBucket: [404, 'There is no such bucket.'],
  NoSuchBucketPolicy: [404, 'The bucket has no policy.'],
  NoSuchKey: [404, 'There is no object of this key.'],
  NoSuchUpload: [404, 'There is no such multipart upload: it was completed or aborted.'],
  NoSuchVersion: [404, 'Objects here have no versions.'],
  NotImplemented: [501, 'This storage does not do that.'],
  PreconditionFailed: [412, 'A condition of the request does not hold.'],
  RequestTimeTooSkewed: [403, 'The time of the request differs from the time here by more than 15 minutes.'],
  SignatureDoesNotMatch: [403, 'The signature does not fit. Check the secret key and the signing method.'],
  StorageFull: [507, 'The disk is full: nothing was stored, and nothing was lost.'],
  XAmzContentSHA256Mismatch: [400, 'The content is not what x-amz-content-sha256 says.'],
} as const satisfies Readonly<Record<string, readonly [number, string]>>

export type ErrorCode = keyof typeof catalogue

export class S3Error extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  constructor(code: ErrorCode, message?: string, headers: Readonly<Record<string, string>> = {}) {
    super(message ?? catalogue[code][1])
    this.code = code
    this.status = catalogue[code][0]
    this.headers = headers
  }
}

/** EFBIG is a limit of the process or the file system; 13 is SQLITE_FULL. */
export function isFull(error: unknown): boolean {
  const { code, errcode } = error as { code?: string; errcode?: number }
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG' || (errcode !== undefined && (errcode & 255) === 13)
}
