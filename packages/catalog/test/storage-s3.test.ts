import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type ClientRequest, type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteBucketPolicyCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketAclCommand,
  GetBucketLocationCommand,
  GetBucketPolicyCommand,
  GetBucketPolicyStatusCommand,
  GetBucketVersioningCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListMultipartUploadsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { chunkSigner, requestSignature, signingKey } from '../src/services/storage/server/signature.ts'
import type { Started } from './support/stage.ts'
import { type StorageMachine, storageMachine } from './support/storage-machine.ts'

const Bucket = 'app'
const mebibyte = 1024 * 1024

let machine: StorageMachine
let running: Started
let s3: S3Client

before(async () => {
  machine = await storageMachine()
  running = await machine.started()
  s3 = machine.client()
})

after(async () => {
  s3?.destroy()
  await running?.stop()
  await machine?.remove()
})

describe('Objects', () => {
  test('come back as they were put, with their type and metadata', async () => {
    const Body = randomBytes(100_000)
    const said = {
      ContentType: 'image/png',
      CacheControl: 'max-age=60',
      ContentDisposition: 'attachment; filename="a b.png"',
      ContentEncoding: 'gzip',
      ContentLanguage: 'de',
      Metadata: { owner: 'ada', 'with-space': 'a  b', empty: '' },
    }
    const put = await s3.send(new PutObjectCommand({ Bucket, Key: 'kept', Body, ...said }))
    const etag = `"${createHash('md5').update(Body).digest('hex')}"`
    assert.equal(put.ETag, etag)
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'kept' }))
    assert.deepEqual(Buffer.from(await got.Body!.transformToByteArray()), Body)
    const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 'kept', ChecksumMode: 'ENABLED' }))
    assert.equal(head.ChecksumCRC32, put.ChecksumCRC32)
    for (const answer of [got, head]) {
      assert.equal(answer.ETag, etag)
      assert.equal(answer.ContentLength, Body.length)
      assert.ok(Math.abs(Date.now() - answer.LastModified!.getTime()) < 60_000)
      assert.equal(answer.AcceptRanges, 'bytes')
      for (const [name, value] of Object.entries(said)) assert.deepEqual(answer[name as keyof typeof said], value, name)
    }
    const plain = await put1('plain', 'x')
    assert.equal(plain.$metadata.httpStatusCode, 200)
    const named = await s3.send(
      new GetObjectCommand({
        Bucket,
        Key: 'kept',
        ResponseContentType: 'text/x',
        ResponseContentDisposition: 'inline',
      }),
    )
    assert.deepEqual([named.ContentType, named.ContentDisposition], ['text/x', 'inline'])
    await named.Body!.transformToByteArray()
  })

  test('have any key of UTF-8, which never becomes a path of the disk', async () => {
    const keys = [
      '../../etc/passwd',
      '/absolute',
      'a//b',
      'a/./b/../c',
      'folder/',
      '\u{1f600}/ü',
      'a+b c',
      '%2F%00%zz',
      'quote\'"<&>`$(x)',
      'back\\slash',
      'tab\tnew\nline\rreturn',
      '\u0001\ufffe',
      '?query=1#hash',
      '*()!~-_.',
      'x'.repeat(1024),
      'é'.repeat(512),
    ]
    for (const Key of keys)
      await s3.send(new PutObjectCommand({ Bucket: await bucket('keys'), Key, Body: `content of ${Key}` }))
    for (const Key of keys) {
      const got = await s3.send(new GetObjectCommand({ Bucket: 'keys', Key }))
      assert.equal(await got.Body!.transformToString(), `content of ${Key}`)
    }
    const listed = await s3.send(new ListObjectsV2Command({ Bucket: 'keys', EncodingType: 'url' }))
    const inOrder = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    assert.deepEqual(
      listed.Contents?.map(({ Key }) => decodeURIComponent(Key!)),
      inOrder,
    )
    const copy = await s3.send(
      new CopyObjectCommand({ Bucket: 'keys', Key: 'copy', CopySource: `keys/${encodeURIComponent('\u{1f600}/ü')}` }),
    )
    assert.ok(copy.CopyObjectResult?.ETag)
    await fails(s3.send(new PutObjectCommand({ Bucket, Key: 'x'.repeat(1025), Body: '' })), 'KeyTooLongError', 400)
    await fails(s3.send(new PutObjectCommand({ Bucket, Key: 'é'.repeat(513), Body: '' })), 'KeyTooLongError', 400)
    const deleted = await s3.send(
      new DeleteObjectsCommand({ Bucket: 'keys', Delete: { Objects: [...keys, 'copy'].map((Key) => ({ Key })) } }),
    )
    assert.deepEqual(deleted.Errors ?? [], [])
    assert.equal((await s3.send(new ListObjectsV2Command({ Bucket: 'keys' }))).KeyCount, 0)
    const files = readdirSync(machine.data, { recursive: true, withFileTypes: true })
    for (const file of files) assert.match(file.name, /^(contents|incoming|\d+-\d+|storage\.sqlite(-wal)?)$/)
  })

  test('that are empty are objects too', async () => {
    await put1('empty', '')
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'empty' }))
    assert.equal(await got.Body!.transformToString(), '')
    assert.equal(got.ETag, '"d41d8cd98f00b204e9800998ecf8427e"')
    await fails(s3.send(new GetObjectCommand({ Bucket, Key: 'empty', Range: 'bytes=0-1' })), 'InvalidRange', 416)
  })

  test('a thousand of them are put, listed in pages, and deleted at once', async () => {
    await bucket('thousand')
    const keys = Array.from({ length: 1000 }, (_, at) => `dir-${at % 10}/${String(at).padStart(4, '0')}`)
    for (let at = 0; at < keys.length; at += 50) {
      await Promise.all(
        keys.slice(at, at + 50).map((Key) => s3.send(new PutObjectCommand({ Bucket: 'thousand', Key, Body: Key }))),
      )
    }
    const found: string[] = []
    let token: string | undefined
    do {
      const page = await s3.send(
        new ListObjectsV2Command({ Bucket: 'thousand', MaxKeys: 130, ContinuationToken: token }),
      )
      assert.equal(page.KeyCount, page.Contents?.length)
      for (const { Key, Size, ETag } of page.Contents ?? []) {
        found.push(Key!)
        assert.equal(Size, Key!.length)
        assert.equal(ETag, `"${createHash('md5').update(Key!).digest('hex')}"`)
      }
      token = page.NextContinuationToken
      assert.equal(page.IsTruncated, token !== undefined)
    } while (token !== undefined)
    assert.deepEqual(found, keys.toSorted())
    const one = await s3.send(
      new ListObjectsV2Command({ Bucket: 'thousand', Prefix: 'dir-3/', StartAfter: 'dir-3/0500' }),
    )
    assert.equal(one.KeyCount, 50)
    const folders = await s3.send(new ListObjectsV2Command({ Bucket: 'thousand', Delimiter: '/' }))
    assert.deepEqual(
      folders.CommonPrefixes?.map(({ Prefix }) => Prefix),
      Array.from({ length: 10 }, (_, at) => `dir-${at}/`),
    )
    assert.deepEqual([folders.KeyCount, folders.IsTruncated], [10, false])
    const first = await s3.send(new ListObjectsCommand({ Bucket: 'thousand', Delimiter: '/', MaxKeys: 4 }))
    assert.equal(first.NextMarker, 'dir-3/')
    const second = await s3.send(new ListObjectsCommand({ Bucket: 'thousand', Delimiter: '/', Marker: 'dir-3/' }))
    assert.deepEqual(
      second.CommonPrefixes?.map(({ Prefix }) => Prefix),
      Array.from({ length: 6 }, (_, at) => `dir-${at + 4}/`),
    )
    const got = await s3.send(new GetObjectCommand({ Bucket: 'thousand', Key: 'dir-7/0777' }))
    assert.equal(await got.Body!.transformToString(), 'dir-7/0777')
    await fails(s3.send(new DeleteBucketCommand({ Bucket: 'thousand' })), 'BucketNotEmpty', 409)
    const Delete = { Quiet: true, Objects: keys.map((Key) => ({ Key })) }
    assert.equal((await s3.send(new DeleteObjectsCommand({ Bucket: 'thousand', Delete }))).Deleted, undefined)
    await s3.send(new DeleteBucketCommand({ Bucket: 'thousand' }))
    await fails(s3.send(new ListObjectsV2Command({ Bucket: 'thousand' })), 'NoSuchBucket', 404)
  })

  test('are sent in part', async () => {
    await put1('digits', '0123456789')
    const part = async (Range: string) => {
      const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'digits', Range }))
      return [got.$metadata.httpStatusCode, await got.Body!.transformToString(), got.ContentRange]
    }
    assert.deepEqual(await part('bytes=2-4'), [206, '234', 'bytes 2-4/10'])
    assert.deepEqual(await part('bytes=7-'), [206, '789', 'bytes 7-9/10'])
    assert.deepEqual(await part('bytes=-3'), [206, '789', 'bytes 7-9/10'])
    assert.deepEqual(await part('bytes=0-0,5-5'), [200, '0123456789', undefined])
    await fails(part('bytes=10-'), 'InvalidRange', 416)
    const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 'digits', Range: 'bytes=2-4' }))
    assert.deepEqual([head.ContentLength, head.ContentRange], [3, 'bytes 2-4/10'])
  })

  test('are sent in part only to those who have the rest of the same object', async () => {
    const { ETag } = await s3.send(new PutObjectCommand({ Bucket, Key: 'resumed', Body: '0123456789' }))
    const { LastModified } = await s3.send(new HeadObjectCommand({ Bucket, Key: 'resumed' }))
    const modified = LastModified!.getTime()
    const status = async (value: string) =>
      (await raw('GET', '/app/resumed', { range: 'bytes=2-', 'if-range': value }, '')).status
    assert.equal(await status(ETag!), 206)
    assert.equal(await status(new Date(modified).toUTCString()), 206)
    for (const other of ['"other"', `W/${ETag}`, new Date(modified - 1_000).toUTCString(), 'nonsense'])
      assert.equal(await status(other), 200, other)
  })

  test('are sent, and replaced, on conditions', async () => {
    const { ETag } = await put1('conditional', 'one')
    const get = (more: object) => s3.send(new GetObjectCommand({ Bucket, Key: 'conditional', ...more }))
    const past = new Date(Date.now() - 3_600_000)
    await (await get({ IfMatch: ETag })).Body!.transformToString()
    await fails(get({ IfMatch: '"other"' }), 'PreconditionFailed', 412)
    await fails(get({ IfNoneMatch: ETag }), 'Unknown', 304)
    await fails(get({ IfModifiedSince: new Date() }), 'Unknown', 304)
    await fails(get({ IfUnmodifiedSince: past }), 'PreconditionFailed', 412)
    await (await get({ IfModifiedSince: past, IfNoneMatch: '"other"' })).Body!.transformToString()
    const put = (more: object) => s3.send(new PutObjectCommand({ Bucket, Key: 'conditional', Body: 'two', ...more }))
    await fails(put({ IfNoneMatch: '*' }), 'PreconditionFailed', 412)
    await fails(put({ IfMatch: '"other"' }), 'PreconditionFailed', 412)
    await put({ IfMatch: ETag })
    await fails(s3.send(new PutObjectCommand({ Bucket, Key: 'not-there', Body: '', IfMatch: ETag })), 'NoSuchKey', 404)
    await fails(
      s3.send(new DeleteObjectCommand({ Bucket, Key: 'conditional', IfMatch: ETag })),
      'PreconditionFailed',
      412,
    )
  })

  test('of one key that several create at once are created by one', async () => {
    const attempts = await Promise.allSettled(
      Array.from({ length: 20 }, (_, at) =>
        s3.send(new PutObjectCommand({ Bucket, Key: 'race', Body: `writer ${at}`, IfNoneMatch: '*' })),
      ),
    )
    const winners = attempts.flatMap(({ status }, at) => (status === 'fulfilled' ? [at] : []))
    assert.equal(winners.length, 1)
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'race' }))
    assert.equal(await got.Body!.transformToString(), `writer ${winners[0]}`)
  })

  test('are copied with their metadata or with other, on conditions, and live on without their source', async () => {
    await s3.send(
      new PutObjectCommand({ Bucket, Key: 'source', Body: 'original', ContentType: 'text/a', Metadata: { a: '1' } }),
    )
    const copy = (Key: string, more: object = {}) =>
      s3.send(new CopyObjectCommand({ Bucket, Key, CopySource: `/${Bucket}/source`, ...more }))
    await copy('copy-a')
    await copy('copy-b', { MetadataDirective: 'REPLACE', ContentType: 'text/b', Metadata: { b: '2' } })
    await fails(copy('source'), 'InvalidRequest', 400)
    await fails(copy('copy-c', { CopySourceIfMatch: '"other"' }), 'PreconditionFailed', 412)
    await fails(copy('copy-c', { CopySource: `${Bucket}/nothing` }), 'NoSuchKey', 404)
    await fails(copy('copy-c', { CopySource: 'nobucket/nothing' }), 'NoSuchBucket', 404)
    await copy('source', { MetadataDirective: 'REPLACE', Metadata: { c: '3' } })
    assert.deepEqual((await s3.send(new HeadObjectCommand({ Bucket, Key: 'source' }))).Metadata, { c: '3' })
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'source' }))
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'copy-a' }))
    const left = await s3.send(new GetObjectCommand({ Bucket, Key: 'copy-b' }))
    assert.deepEqual(
      [await left.Body!.transformToString(), left.ContentType, left.Metadata],
      ['original', 'text/b', { b: '2' }],
    )
  })

  test('that are not there are 404, and deleting them is fine', async () => {
    await fails(s3.send(new GetObjectCommand({ Bucket, Key: 'nothing' })), 'NoSuchKey', 404)
    await fails(s3.send(new HeadObjectCommand({ Bucket, Key: 'nothing' })), 'NotFound', 404)
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'nothing' }))
    await fails(s3.send(new PutObjectCommand({ Bucket: 'nobucket', Key: 'a', Body: '' })), 'NoSuchBucket', 404)
  })

  test('that are being read can be replaced and deleted', async () => {
    const Body = randomBytes(20 * mebibyte)
    await s3.send(new PutObjectCommand({ Bucket, Key: 'read', Body }))
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'read' }))
    await put1('read', 'new')
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'read' }))
    assert.deepEqual(digest(await got.Body!.transformToByteArray()), digest(Body))
    await eventually(() => contentFiles().every(({ size }) => size !== Body.length))
  })
})

describe('Checksums and encodings of uploads', () => {
  const Body = randomBytes(300_000)

  test('of every algorithm are verified, kept and answered', async () => {
    for (const ChecksumAlgorithm of ['CRC32', 'CRC32C', 'SHA1', 'SHA256', 'CRC64NVME'] as const) {
      const name = `Checksum${ChecksumAlgorithm}` as 'ChecksumCRC32'
      const put = await s3.send(new PutObjectCommand({ Bucket, Key: 'sum', Body, ChecksumAlgorithm }))
      const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'sum', ChecksumMode: 'ENABLED' }))
      assert.ok(put[name], name)
      assert.equal(got[name], put[name])
      assert.equal(got.ChecksumType, 'FULL_OBJECT')
      assert.deepEqual(Buffer.from(await got.Body!.transformToByteArray()), Body)
      const wrong = {
        [name]: put[name] === undefined ? '' : Buffer.from(put[name], 'base64').fill(1).toString('base64'),
      }
      await fails(s3.send(new PutObjectCommand({ Bucket, Key: 'sum', Body, ...wrong })), 'BadDigest', 400)
    }
    const crc64 = await raw('PUT', '/app/crc64', { 'x-amz-checksum-crc64nvme': 'rosUhgp5mIg=' }, '123456789')
    assert.deepEqual([crc64.status, crc64.headers['x-amz-checksum-crc64nvme']], [200, 'rosUhgp5mIg='])
    assert.match(
      (await raw('PUT', '/app/crc64', { 'x-amz-checksum-crc64nvme': 'rosUhgp5mIk=' }, '123456789')).body,
      /BadDigest/,
    )
  })

  test('streams come in chunks with a checksum behind, and nothing of a refused one is kept', async () => {
    const chunks = () =>
      Readable.from(Array.from({ length: 30 }, (_, at) => Body.subarray(at * 10_000, (at + 1) * 10_000)))
    await s3.send(new PutObjectCommand({ Bucket, Key: 'stream', Body: chunks(), ContentLength: Body.length }))
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'stream' }))
    assert.equal(got.ContentEncoding, undefined)
    assert.deepEqual(Buffer.from(await got.Body!.transformToByteArray()), Body)

    const fresh = freshFiles()
    const trailer = (sum: string) => `5\r\nhello\r\n0\r\nx-amz-checksum-crc32:${sum}\r\n\r\n`
    const send = (body: string, more: Record<string, string> = {}) =>
      raw(
        'PUT',
        '/app/trailer',
        {
          'content-encoding': 'aws-chunked',
          'x-amz-decoded-content-length': '5',
          'x-amz-trailer': 'x-amz-checksum-crc32',
          ...more,
        },
        body,
        { payload: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER' },
      )
    assert.equal((await send(trailer('NhCmhg=='))).status, 200)
    assert.match((await send(trailer('AAAAAA=='))).body, /<Code>BadDigest/)
    assert.match((await send('5\r\nhello\r\n0\r\n\r\n')).body, /<Code>IncompleteBody/)
    assert.match(
      (await send(trailer('NhCmhg=='), { 'x-amz-decoded-content-length': '6' })).body,
      /<Code>IncompleteBody/,
    )
    assert.match((await send('hello')).body, /<Code>IncompleteBody/)
    assert.match((await send('5\r\nhel')).body, /<Code>IncompleteBody/)
    await eventually(() => fresh().length === 1)
    assert.deepEqual(readdirSync(join(machine.data, 'incoming')), [])
  })

  test('signed chunks are verified one by one', async () => {
    const send = (change: (body: string) => string) =>
      raw(
        'PUT',
        '/app/chunks',
        { 'content-encoding': 'aws-chunked', 'x-amz-decoded-content-length': '10' },
        (signer) => change(['hello', 'world', ''].map((text) => chunk(text, signer.chunk(sha256(text)))).join('')),
        { payload: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD' },
      )
    const chunk = (text: string, signature: string) => `${text.length};chunk-signature=${signature}\r\n${text}\r\n`
    assert.equal((await send((body) => body)).status, 200)
    assert.match((await send((body) => body.replace('world', 'World'))).body, /<Code>SignatureDoesNotMatch/)
    assert.match((await send((body) => body.replace(/;chunk-signature=\w+/g, ''))).body, /<Code>SignatureDoesNotMatch/)
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'chunks' }))
    assert.equal(await got.Body!.transformToString(), 'helloworld')
    await fails(s3.send(new GetObjectCommand({ Bucket, Key: 'chunks', Range: 'bytes=99-' })), 'InvalidRange', 416)
  })

  test('a body that is not what was signed or promised is refused', async () => {
    const md5 = createHash('md5').update('hello').digest('base64')
    assert.equal((await raw('PUT', '/app/md5', { 'content-md5': md5 }, 'hello')).status, 200)
    assert.match((await raw('PUT', '/app/md5', { 'content-md5': md5 }, 'hullo')).body, /<Code>BadDigest/)
    assert.match((await raw('PUT', '/app/md5', { 'content-md5': 'nonsense' }, 'hello')).body, /<Code>InvalidDigest/)
    const other = await raw('PUT', '/app/md5', {}, 'hello', { payload: sha256('other') })
    assert.match(other.body, /<Code>XAmzContentSHA256Mismatch/)
    assert.match(
      (await raw('PUT', '/app/md5', { 'x-amz-sdk-checksum-algorithm': 'CRC32' }, 'x')).body,
      /<Code>InvalidRequest/,
    )
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'md5' }))
    assert.equal(await got.Body!.transformToString(), 'hello')
  })

  test('an upload that breaks off leaves nothing', async () => {
    const fresh = freshFiles()
    const outgoing = signedRequest('PUT', '/app/broken', { 'content-length': String(50 * mebibyte) }, '', {
      payload: 'UNSIGNED-PAYLOAD',
    })
    outgoing.on('error', () => {})
    outgoing.write(Buffer.alloc(5 * mebibyte))
    await eventually(() => readdirSync(join(machine.data, 'incoming')).length === 1)
    outgoing.destroy()
    await eventually(() => readdirSync(join(machine.data, 'incoming')).length === 0)
    assert.deepEqual(fresh(), [])
    await fails(s3.send(new HeadObjectCommand({ Bucket, Key: 'broken' })), 'NotFound', 404)
  })

  test('wishes that would not be granted are refused, not ignored', async () => {
    const put = (more: Partial<PutObjectCommandInput>) =>
      s3.send(new PutObjectCommand({ Bucket, Key: 'wish', Body: 'x', ...more }))
    await fails(put({ ServerSideEncryption: 'AES256' }), 'NotImplemented', 501)
    await fails(put({ StorageClass: 'GLACIER' }), 'NotImplemented', 501)
    await fails(put({ Tagging: 'a=b' }), 'NotImplemented', 501)
    await fails(put({ ACL: 'public-read' }), 'AccessControlListNotSupported', 400)
    await fails(put({ Metadata: { long: 'x'.repeat(2100) } }), 'MetadataTooLarge', 400)
    await put({ ACL: 'private', StorageClass: 'STANDARD' })
    await fails(s3.send(new GetObjectTaggingCommand({ Bucket, Key: 'wish' })), 'NotImplemented', 501)
    await fails(s3.send(new GetObjectCommand({ Bucket, Key: 'wish', VersionId: 'abc' })), 'NoSuchVersion', 404)
  })
})

describe('Multipart uploads', () => {
  test('of 200 MB go up in parts at once and come back whole, in parts, and in ranges over their borders', async () => {
    const size = 200 * 1000 * 1000
    const block = randomBytes(mebibyte)
    const content = (from: number, to: number) => {
      const bytes = Buffer.allocUnsafe(to - from)
      for (let at = 0; at < bytes.length; at += 1)
        bytes[at] = block[(from + at) % block.length]! ^ (Math.floor((from + at) / block.length) & 255)
      return bytes
    }
    async function* pieces() {
      for (let at = 0; at < size; at += mebibyte) yield content(at, Math.min(at + mebibyte, size))
    }
    const upload = new Upload({
      client: s3,
      params: { Bucket, Key: 'large', Body: Readable.from(pieces()) },
      partSize: 16 * mebibyte,
      queueSize: 3,
    })
    const done = await upload.done()
    assert.match(done.ETag ?? '', /^"[0-9a-f]{32}-12"$/)
    const expected = createHash('sha256')
    for await (const piece of pieces()) expected.update(piece)
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'large', ChecksumMode: 'ENABLED' }))
    assert.equal(got.ContentLength, size)
    assert.match(got.ChecksumCRC32 ?? '', /-12$/)
    const found = createHash('sha256')
    for await (const piece of got.Body as Readable) found.update(piece as Buffer)
    assert.equal(found.digest('hex'), expected.digest('hex'))
    for (const [from, to] of [
      [16 * mebibyte - 10, 16 * mebibyte + 10],
      [size - 5, size],
      [0, 20 * mebibyte],
    ] as const) {
      const part = await s3.send(new GetObjectCommand({ Bucket, Key: 'large', Range: `bytes=${from}-${to - 1}` }))
      assert.equal(digest(await part.Body!.transformToByteArray()), digest(content(from, to)))
    }
    const second = await s3.send(new GetObjectCommand({ Bucket, Key: 'large', PartNumber: 2 }))
    assert.deepEqual(
      [second.PartsCount, second.ContentRange],
      [12, `bytes ${16 * mebibyte}-${32 * mebibyte - 1}/${size}`],
    )
    assert.equal(digest(await second.Body!.transformToByteArray()), digest(content(16 * mebibyte, 32 * mebibyte)))
    const copy = await s3.send(new CopyObjectCommand({ Bucket, Key: 'large-copy', CopySource: `${Bucket}/large` }))
    assert.equal(copy.CopyObjectResult?.ETag, done.ETag)
    await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'large' }, { Key: 'large-copy' }] } }))
  })

  test('keep the rules of S3', async () => {
    const Key = 'rules'
    const { UploadId } = await s3.send(
      new CreateMultipartUploadCommand({ Bucket, Key, ContentType: 'text/plain', Metadata: { a: 'b' } }),
    )
    const small = Buffer.from('small')
    const large = Buffer.alloc(5 * mebibyte, 'l')
    const part = (PartNumber: number, Body: Buffer) =>
      s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }))
    const complete = (Parts: { PartNumber: number; ETag: string | undefined }[], more: object = {}) =>
      s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts }, ...more }))
    const one = { PartNumber: 1, ETag: (await part(1, small)).ETag }
    const two = { PartNumber: 2, ETag: (await part(2, small)).ETag }
    await fails(complete([one, two]), 'EntityTooSmall', 400)
    await fails(complete([two, one]), 'InvalidPartOrder', 400)
    await fails(complete([one, { PartNumber: 3, ETag: one.ETag }]), 'InvalidPart', 400)
    await fails(complete([{ PartNumber: 1, ETag: '"0"' }]), 'InvalidPart', 400)
    await fails(complete([]), 'MalformedXML', 400)
    await fails(part(0, small), 'InvalidArgument', 400)
    await fails(part(10_001, small), 'InvalidArgument', 400)
    await part(3, Buffer.from('never listed'))
    one.ETag = (await part(1, large)).ETag
    const listed = await s3.send(new ListPartsCommand({ Bucket, Key, UploadId, MaxParts: 2 }))
    assert.deepEqual(
      listed.Parts?.map(({ PartNumber, Size }) => [PartNumber, Size]),
      [
        [1, large.length],
        [2, 5],
      ],
    )
    assert.deepEqual([listed.IsTruncated, listed.NextPartNumberMarker], [true, '2'])
    const uploads = await s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix: 'ru' }))
    assert.deepEqual(
      uploads.Uploads?.map((upload) => [upload.Key, upload.UploadId]),
      [[Key, UploadId]],
    )
    await fails(complete([one, two], { MpuObjectSize: 3 }), 'InvalidRequest', 400)
    await fails(s3.send(new HeadObjectCommand({ Bucket, Key })), 'NotFound', 404)
    const done = await complete([one, two])
    const md5 = createHash('md5')
    for (const body of [large, small]) md5.update(createHash('md5').update(body).digest())
    assert.equal(done.ETag, `"${md5.digest('hex')}-2"`)
    assert.equal((await complete([one, two])).ETag, done.ETag, 'a client that did not hear the answer asks again')
    const head = await s3.send(new HeadObjectCommand({ Bucket, Key }))
    assert.deepEqual(
      [head.ContentLength, head.ContentType, head.Metadata],
      [large.length + 5, 'text/plain', { a: 'b' }],
    )
    await fails(part(4, small), 'NoSuchUpload', 404)
    await eventually(() => contentFiles().every(({ size }) => size !== 'never listed'.length))
    await s3.send(new DeleteObjectCommand({ Bucket, Key }))
  })

  test('are aborted with all their parts, also while one is coming', async () => {
    const Key = 'aborted'
    const fresh = freshFiles()
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))
    await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: 'x' }))
    const body = 'slowly'
    const outgoing = signedRequest(
      'PUT',
      `/app/${Key}?partNumber=2&uploadId=${UploadId}`,
      { 'content-length': '6' },
      '',
      {
        payload: 'UNSIGNED-PAYLOAD',
      },
    )
    const answered = answerOf(outgoing)
    outgoing.write(body.slice(0, 3))
    await eventually(() => readdirSync(join(machine.data, 'incoming')).length === 1)
    await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
    outgoing.end(body.slice(3))
    assert.match((await answered).body, /<Code>NoSuchUpload/)
    await fails(s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })), 'NoSuchUpload', 404)
    await eventually(() => fresh().length === 0)
  })

  test('take parts from objects that are there', async () => {
    await s3.send(new PutObjectCommand({ Bucket, Key: 'from', Body: Buffer.alloc(6 * mebibyte, 'f') }))
    const Key = 'put-together'
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key, ChecksumAlgorithm: 'SHA256' }))
    const copy = (PartNumber: number, CopySourceRange: string | undefined) =>
      s3.send(
        new UploadPartCopyCommand({ Bucket, Key, UploadId, PartNumber, CopySource: `${Bucket}/from`, CopySourceRange }),
      )
    await fails(copy(1, `bytes=0-${6 * mebibyte}`), 'InvalidArgument', 400)
    const parts = [await copy(1, undefined), await copy(2, 'bytes=1-4')]
    const Parts = parts.map(({ CopyPartResult }, at) => ({ ...CopyPartResult, PartNumber: at + 1 }))
    const done = await s3.send(
      new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }),
    )
    assert.match(done.ChecksumSHA256 ?? '', /-2$/)
    assert.equal((await s3.send(new HeadObjectCommand({ Bucket, Key }))).ContentLength, 6 * mebibyte + 4)
  })

  test('have a checksum of the whole object when it is asked for', async () => {
    const Key = 'full'
    const { UploadId } = await s3.send(
      new CreateMultipartUploadCommand({ Bucket, Key, ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' }),
    )
    const bodies = [Buffer.alloc(5 * mebibyte, 'a'), Buffer.from('end')]
    const Parts: CompletedPart[] = []
    for (const [at, Body] of bodies.entries()) {
      const { ETag, ChecksumCRC32 } = await s3.send(
        new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: at + 1, Body }),
      )
      Parts.push({ PartNumber: at + 1, ETag, ChecksumCRC32 })
    }
    const complete = (ChecksumCRC32: string | undefined) =>
      s3.send(
        new CompleteMultipartUploadCommand({
          Bucket,
          Key,
          UploadId,
          MultipartUpload: { Parts },
          ChecksumCRC32,
          ChecksumType: 'FULL_OBJECT',
        }),
      )
    await fails(complete('AAAAAA=='), 'BadDigest', 400)
    const done = await complete(undefined)
    const whole = await s3.send(new PutObjectCommand({ Bucket, Key: 'full-2', Body: Buffer.concat(bodies) }))
    assert.equal(done.ChecksumCRC32, whole.ChecksumCRC32)
    assert.equal(done.ChecksumType, 'FULL_OBJECT')
  })
})

describe('Buckets', () => {
  test('are made, listed, described and removed', async () => {
    await fails(s3.send(new CreateBucketCommand({ Bucket: 'No' })), 'InvalidBucketName', 400)
    await s3.send(new CreateBucketCommand({ Bucket: 'second' }))
    await s3.send(new CreateBucketCommand({ Bucket: 'second' }))
    const { Buckets } = await s3.send(new ListBucketsCommand({}))
    assert.ok(['app', 'second'].every((name) => Buckets?.some(({ Name }) => Name === name)))
    assert.equal((await s3.send(new HeadBucketCommand({ Bucket: 'second' }))).BucketRegion, 'us-east-1')
    assert.equal((await s3.send(new GetBucketLocationCommand({ Bucket: 'second' }))).LocationConstraint, undefined)
    assert.equal((await s3.send(new GetBucketVersioningCommand({ Bucket: 'second' }))).Status, undefined)
    const { Grants } = await s3.send(new GetBucketAclCommand({ Bucket: 'second' }))
    assert.deepEqual(
      Grants?.map(({ Permission }) => Permission),
      ['FULL_CONTROL'],
    )
    await fails(
      s3.send(new CreateBucketCommand({ Bucket: 'third', ACL: 'public-read' })),
      'AccessControlListNotSupported',
      400,
    )
    await s3.send(new CreateMultipartUploadCommand({ Bucket: 'second', Key: 'unfinished' }))
    await s3.send(new DeleteBucketCommand({ Bucket: 'second' }))
    await fails(s3.send(new HeadBucketCommand({ Bucket: 'second' })), 'NotFound', 404)
    await fails(s3.send(new DeleteBucketCommand({ Bucket: 'second' })), 'NoSuchBucket', 404)
  })

  test('are private: without a signature everything is 403', async () => {
    await put1('private', 'secret')
    const ask = async (method: string, path: string) => (await plain(method, path)).status
    for (const path of [
      '/',
      '/app',
      '/app/',
      '/app?list-type=2',
      '/app/private',
      '/app/nothing',
      '/nobucket/x',
      '/app/private?acl',
    ]) {
      for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'POST'])
        assert.equal(await ask(method, path), 403, `${method} ${path}`)
    }
    const { body, headers } = await plain('GET', '/app/private')
    assert.match(body, /^<\?xml[\s\S]*<Error><Code>AccessDenied<\/Code>/)
    assert.equal(headers['content-type'], 'application/xml')
    assert.doesNotMatch(body, /secret/)
  })

  test('become readable for everybody by their policy, object by object and not as a list', async () => {
    const name = await bucket('open')
    await s3.send(new PutObjectCommand({ Bucket: name, Key: 'a b', Body: 'public' }))
    await fails(s3.send(new GetBucketPolicyCommand({ Bucket: name })), 'NoSuchBucketPolicy', 404)
    const statement = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${name}/*` }
    await s3.send(new PutBucketPolicyCommand({ Bucket: name, Policy: JSON.stringify({ Statement: [statement] }) }))
    assert.equal((await s3.send(new GetBucketPolicyStatusCommand({ Bucket: name }))).PolicyStatus?.IsPublic, true)
    assert.deepEqual(await plain('GET', '/open/a%20b').then(({ status, body }) => [status, body]), [200, 'public'])
    assert.equal((await plain('HEAD', '/open/a%20b')).headers['content-length'], '6')
    assert.equal((await plain('GET', '/open/a%20b', { range: 'bytes=0-2' })).body, 'pub')
    for (const [method, path] of [
      ['GET', '/open'],
      ['GET', '/open/'],
      ['GET', '/open?list-type=2'],
      ['GET', '/open?policy'],
      ['GET', '/open/nothing'],
      ['GET', '/open/a%20b?acl'],
      ['GET', '/open/a%20b?uploadId=1'],
      ['PUT', '/open/a%20b'],
      ['DELETE', '/open/a%20b'],
      ['POST', '/open?delete'],
      ['POST', '/open/a%20b?uploads'],
      ['GET', '/app/private'],
    ] as const) {
      assert.equal((await plain(method, path)).status, 403, `${method} ${path}`)
    }
    assert.equal((await plain('GET', '/open/a%20b?response-content-type=text/html')).status, 400)
    await fails(
      s3.send(
        new PutBucketPolicyCommand({
          Bucket: name,
          Policy: JSON.stringify({ Statement: [{ ...statement, Action: 's3:*' }] }),
        }),
      ),
      'NotImplemented',
      501,
    )
    await s3.send(new DeleteBucketPolicyCommand({ Bucket: name }))
    assert.equal((await plain('GET', '/open/a%20b')).status, 403)
  })
})

describe('Signatures', () => {
  test('of another key, of another time, and changed requests are refused', async () => {
    const other = (accessKeyId: string, secretAccessKey: string) =>
      machine.client({ credentials: { accessKeyId, secretAccessKey } }).send(new ListBucketsCommand({}))
    await fails(other(machine.secrets.accessKey!, 'wrong'), 'SignatureDoesNotMatch', 403)
    await fails(other('WRONG', machine.secrets.secretKey!), 'InvalidAccessKeyId', 403)
    const quarter = 15 * 60_000
    for (const skew of [-quarter - 60_000, quarter + 60_000]) {
      assert.match((await raw('GET', '/app', {}, '', { now: Date.now() + skew })).body, /<Code>RequestTimeTooSkewed/)
    }
    for (const skew of [-quarter + 60_000, quarter - 60_000]) {
      assert.equal((await raw('GET', '/app', {}, '', { now: Date.now() + skew })).status, 200)
    }
    assert.match(
      (await raw('GET', '/app', {}, '', { unsigned: { 'x-amz-acl': 'private' } })).body,
      /not signed: x-amz-acl/,
    )
    const old = await plain('GET', '/app', { authorization: 'AWS ACCESS:c2lnbmF0dXJl' })
    assert.match(old.body, /Only signature version 4/)
    const oldQuery = await plain('GET', '/app/x?AWSAccessKeyId=A&Signature=b&Expires=99999999999')
    assert.match(oldQuery.body, /Only signature version 4/)
    for (const broken of ['AWS4-HMAC-SHA256', 'AWS4-HMAC-SHA256 Credential=a', 'Bearer x', '']) {
      const { status } = await plain('GET', '/app', {
        authorization: broken,
        'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
      })
      assert.ok(status === 400 || status === 403, broken)
    }
  })

  test('in a URL let anybody with it read and write, until it expires', async () => {
    const Key = 'shared/ü +&.txt'
    const upload = await getSignedUrl(
      s3,
      new PutObjectCommand({ Bucket, Key, ContentType: 'text/plain', Metadata: { by: 'url' } }),
      {
        expiresIn: 60,
      },
    )
    assert.equal(
      (await fetch(upload, { method: 'PUT', body: 'from a page', headers: { 'content-type': 'text/plain' } })).status,
      200,
    )
    const download = await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key, ResponseContentType: 'text/x' }), {
      expiresIn: 60,
    })
    const got = await fetch(download)
    assert.equal(await got.text(), 'from a page')
    assert.equal(got.headers.get('content-type'), 'text/x')
    assert.equal(got.headers.get('x-amz-meta-by'), 'url')
    const status = async (url: string, init: RequestInit = {}) => {
      const answer = await fetch(url, init)
      await answer.arrayBuffer()
      return answer.status
    }
    assert.equal(await status(download, { method: 'PUT', body: 'x' }), 403)
    assert.equal(await status(download.replace('shared/', 'other/')), 403)
    assert.equal(await status(download.replace('Expires=60', 'Expires=600')), 403)
    assert.equal(await status(`${download}&more=1`), 403)
    assert.equal(await status(download.replace(/X-Amz-Signature=\w+/, '')), 403)
    assert.equal(await status(upload, { method: 'PUT', body: 'x', headers: { 'x-amz-acl': 'public-read' } }), 403)
    const expired = await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key }), {
      expiresIn: 60,
      signingDate: new Date(Date.now() - 61_000),
    })
    const late = await fetch(expired)
    assert.equal(late.status, 403)
    assert.match(await late.text(), /Request has expired/)
    const stillGood = { expiresIn: 3600, signingDate: new Date(Date.now() - 1_800_000) }
    assert.equal(await status(await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key }), stillGood)), 200)
    const future = { expiresIn: 3600, signingDate: new Date(Date.now() + 1_800_000) }
    assert.equal(await status(await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key }), future)), 403)
    assert.equal(await status(upload.replace('X-Amz-Expires=60', 'X-Amz-Expires=604801'), { method: 'PUT' }), 400)
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))
    const part = await getSignedUrl(s3, new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1 }))
    assert.equal(await status(part, { method: 'PUT', body: 'part' }), 200)
  })

  test('never appear in the log', async () => {
    const output = await running.output()
    assert.match(output, /Request has expired/)
    assert.doesNotMatch(output, /X-Amz-Signature|X-Amz-Credential|Signature=/)
    assert.doesNotMatch(output, new RegExp(machine.secrets.secretKey!))
  })
})

describe('The HTTP server', () => {
  test('answers health without a signature, and browsers that ask before they send', async () => {
    assert.deepEqual(await plain('GET', '/-/health').then(({ status, body }) => [status, body]), [200, 'ok\n'])
    assert.equal((await plain('HEAD', '/-/health')).status, 200)
    const preflight = await plain('OPTIONS', '/app/key', {
      origin: 'http://shop.localhost',
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'authorization,content-type,x-amz-date',
    })
    assert.equal(preflight.status, 200)
    assert.equal(preflight.headers['access-control-allow-origin'], '*')
    assert.match(preflight.headers['access-control-allow-methods'] ?? '', /PUT/)
    assert.equal(preflight.headers['access-control-allow-headers'], 'authorization,content-type,x-amz-date')
    assert.equal(preflight.headers['access-control-allow-credentials'], undefined)
    const refused = await plain('GET', '/app/private', { origin: 'http://shop.localhost' })
    assert.deepEqual([refused.status, refused.headers['access-control-allow-origin']], [403, '*'])
    assert.equal((await plain('OPTIONS', '/app/key')).status, 400)
  })

  test('says no before the body comes to a client that waits', async () => {
    const outgoing = request({
      host: '127.0.0.1',
      port: new URL(machine.endpoint).port,
      method: 'PUT',
      path: '/app/large',
      headers: { expect: '100-continue', 'content-length': 1024 ** 3 },
    })
    let continued = false
    outgoing.on('continue', () => {
      continued = true
    })
    outgoing.flushHeaders()
    const { status, headers } = await answerOf(outgoing)
    assert.deepEqual([status, headers.connection, continued], [403, 'close', false])
    outgoing.destroy()
  })

  test('refuses what is too large, and bodies that never end, without keeping them', async () => {
    const send = (length: number, path = '/app/huge') =>
      answerOf(
        signedRequest('PUT', path, { 'content-length': String(length), expect: '100-continue' }, '', {
          payload: 'UNSIGNED-PAYLOAD',
        }),
      )
    assert.match((await send(5 * 1024 ** 3 + 1)).body, /<Code>EntityTooLarge/)
    assert.match(
      (await raw('POST', '/app?delete', {}, ' '.repeat(9 * mebibyte))).body,
      /<Code>MaxMessageLengthExceeded/,
    )
    assert.match((await raw('POST', '/app?delete', {}, '<Delete>')).body, /<Code>MalformedXML/)
    const many = Array.from({ length: 1001 }, (_, at) => `<Object><Key>${at}</Key></Object>`).join('')
    assert.match((await raw('POST', '/app?delete', {}, `<Delete>${many}</Delete>`)).body, /<Code>MalformedXML/)
    assert.match((await raw('PUT', '/app/x?uploads', {}, '')).body, /<Code>NotImplemented/)
    assert.equal((await raw('PATCH', '/app/x', {}, '')).status, 405)
    assert.equal((await raw('GET', '/app/%ff', {}, '')).status, 400)
    assert.match((await raw('GET', '/app?max-keys=-1', {}, '')).body, /<Code>InvalidArgument/)
  })

  test('takes the bucket from the host in front of localhost', async () => {
    await put1('by-host', 'found')
    const { body } = await raw('GET', '/by-host', {}, '', { host: 'app.localhost:9000' })
    assert.equal(body, 'found')
    assert.equal((await raw('PUT', '/-/health', {}, 'a key like any other', { host: 'app.localhost' })).status, 200)
    const asKey = await raw('GET', '/-/health', {}, '', { host: 'app.localhost' })
    assert.equal(asKey.body, 'a key like any other')
  })

  test('takes nothing but GET and HEAD for a question about its health', async () => {
    assert.equal((await plain('PUT', '/-/health')).status, 403)
    assert.match((await raw('PUT', '/-/health', {}, 'lost')).body, /<Code>NoSuchBucket/)
  })

  test('passes over parameters that are called like what every object of JavaScript has', async () => {
    await put1('own', 'found')
    for (const name of ['constructor', '__proto__', 'toString'])
      assert.equal((await raw('GET', `/app/own?${name}=1`, {}, '')).body, 'found', name)
  })

  test('holds little memory for clients that read slowly', async () => {
    await s3.send(new PutObjectCommand({ Bucket, Key: 'slow', Body: Buffer.alloc(80 * mebibyte) }))
    const url = new URL(await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: 'slow' })))
    const sockets = Array.from({ length: 10 }, () => {
      const socket = connect(Number(url.port), '127.0.0.1')
      socket.on('error', () => {})
      socket.pause()
      socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`)
      return socket
    })
    await Promise.all(sockets.map((socket) => once(socket, 'readable')))
    const small = await s3.send(new GetObjectCommand({ Bucket, Key: 'by-host' }))
    assert.equal(await small.Body!.transformToString(), 'found')
    const memory = memoryOf(running.pid!)
    assert.ok(memory < 250 * mebibyte, `${memory} bytes are held`)
    for (const socket of sockets) socket.destroy()
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'slow' }))
    await eventually(() => contentFiles().every(({ size }) => size !== 80 * mebibyte))
  })
})

async function put1(Key: string, Body: string) {
  return s3.send(new PutObjectCommand({ Bucket, Key, Body }))
}

async function bucket(name: string): Promise<string> {
  await s3.send(new CreateBucketCommand({ Bucket: name }))
  return name
}

async function fails(answer: Promise<unknown>, name: string, status: number): Promise<void> {
  await assert.rejects(answer, (error: Error & { $metadata?: { httpStatusCode?: number } }) => {
    assert.deepEqual([error.name, error.$metadata?.httpStatusCode], [name, status], error.message)
    return true
  })
}

function contentFiles(): { readonly name: string; readonly size: number }[] {
  return readdirSync(join(machine.data, 'contents'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap(({ name, parentPath }) => {
      try {
        return [{ name, size: readFileSync(join(parentPath, name)).length }]
      } catch {
        // It has just been removed.
        return []
      }
    })
}

/** What has come since. Names are never used again. */
function freshFiles(): () => readonly unknown[] {
  const known = new Set(contentFiles().map(({ name }) => name))
  return () => contentFiles().filter(({ name }) => !known.has(name))
}

async function eventually(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 120_000
  while (!holds()) {
    assert.ok(Date.now() < deadline, 'It did not come true within two minutes.')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function digest(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function memoryOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024
}

interface RawOptions {
  /** What x-amz-content-sha256 says; the hash of the body unless told. */
  readonly payload?: string
  readonly now?: number
  readonly host?: string
  /** Headers that are sent and not signed. */
  readonly unsigned?: Readonly<Record<string, string>>
}

type Signer = ReturnType<typeof chunkSigner>

/** A request that no SDK would send, rightly signed. */
function signedRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | ((signer: Signer) => string),
  options: RawOptions = {},
): ClientRequest & { content?: string } {
  const { port, host } = new URL(machine.endpoint)
  const time = new Date(options.now ?? Date.now()).toISOString().replace(/[-:]|\.\d+/g, '')
  const scope = { date: time.slice(0, 8), region: 'us-east-1', service: 's3' }
  const payload = options.payload ?? sha256(typeof body === 'string' ? body : '')
  const all: Record<string, string> = {
    ...headers,
    host: options.host ?? host,
    'x-amz-content-sha256': payload,
    'x-amz-date': time,
  }
  const names = Object.keys(all)
    .filter((name) => name !== 'expect')
    .sort()
  const key = signingKey(machine.secrets.secretKey!, scope)
  const [pathname = '', query = ''] = path.split('?')
  const signature = requestSignature(key, time, scope, {
    method,
    path: decodeLoosely(pathname),
    query: query
      .split('&')
      .filter(Boolean)
      .map((pair) => [pair.split('=')[0]!, decodeURIComponent(pair.split('=')[1] ?? '')] as const),
    headers: names.map((name) => [name, all[name]!] as const),
    payload,
  })
  const credential = `${machine.secrets.accessKey}/${scope.date}/us-east-1/s3/aws4_request`
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  const content = typeof body === 'string' ? body : body(chunkSigner(key, time, scope, signature))
  const length =
    'content-length' in all || method === 'GET' ? {} : { 'content-length': String(Buffer.byteLength(content)) }
  const outgoing = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    headers: { ...all, ...length, ...options.unsigned, authorization },
  })
  return Object.assign(outgoing, { content })
}

function decodeLoosely(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

async function raw(...args: Parameters<typeof signedRequest>) {
  const outgoing = signedRequest(...args)
  const answered = answerOf(outgoing)
  outgoing.end(outgoing.content)
  return answered
}

function plain(method: string, path: string, headers: Readonly<Record<string, string>> = {}) {
  const outgoing = request({
    host: '127.0.0.1',
    port: new URL(machine.endpoint).port,
    method,
    path,
    headers,
    agent: false,
  })
  const answered = answerOf(outgoing)
  outgoing.end()
  return answered
}

interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

function answerOf(outgoing: ClientRequest): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      )
    })
    if (outgoing.getHeader('expect') !== undefined) outgoing.flushHeaders()
  })
}
