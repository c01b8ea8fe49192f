import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { isBucketName, queryOf } from '../src/services/storage/server/address.ts'
import { decodeChunks } from '../src/services/storage/server/aws-chunked.ts'
import { checksumOfParts, createHasher } from '../src/services/storage/server/checksum.ts'
import { combined, crc32c, crc64nvme } from '../src/services/storage/server/crc.ts'
import { CommitError, openDatabase } from '../src/services/storage/server/database.ts'
import { isFull, S3Error } from '../src/services/storage/server/errors.ts'
import { createStorageServer } from '../src/services/storage/server/http-server.ts'
import { listPage } from '../src/services/storage/server/listing.ts'
import { publicReadPolicy, refuseOtherPolicy } from '../src/services/storage/server/policy.ts'
import { requestedPart } from '../src/services/storage/server/range.ts'
import {
  canonicalRequest,
  chunkSigner,
  requestSignature,
  signingKey,
} from '../src/services/storage/server/signature.ts'
import { openStore, type Store } from '../src/services/storage/server/store.ts'
import { element, parseXml, xmlDocument } from '../src/services/storage/server/xml.ts'

const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex')
const code = (expected: string) => (error: unknown) => error instanceof S3Error && error.code === expected

// "Signature Calculations" in the Amazon S3 API reference: requests of 24 May 2013 to examplebucket, and what they must be signed with.
describe('The signature that AWS publishes', () => {
  const scope = { date: '20130524', region: 'us-east-1', service: 's3' }
  const time = '20130524T000000Z'
  const key = signingKey('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', scope)
  const host = ['host', 'examplebucket.s3.amazonaws.com'] as const
  const empty = sha256('')
  const amz = (payload: string) => [['x-amz-content-sha256', payload] as const, ['x-amz-date', time] as const]

  test('fits for a GET of a range', () => {
    const headers = [host, ['range', 'bytes=0-9'] as const, ...amz(empty)]
    assert.equal(
      requestSignature(key, time, scope, { method: 'GET', path: '/test.txt', query: [], headers, payload: empty }),
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    )
  })

  test('fits for a PUT with a "$" in its key', () => {
    const payload = sha256('Welcome to Amazon S3.')
    const headers = [
      ['date', 'Fri, 24 May 2013 00:00:00 GMT'] as const,
      host,
      ...amz(payload),
      ['x-amz-storage-class', 'REDUCED_REDUNDANCY'] as const,
    ]
    assert.equal(
      requestSignature(key, time, scope, { method: 'PUT', path: '/test$file.text', query: [], headers, payload }),
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    )
  })

  test('is made over header values as they are, but for their spaces', () => {
    const headers = [['x-amz-meta-a', `  two   words \xc3\xa0 `] as const, ['x-amz-meta-b', '\xc3\xa0'] as const]
    const lines = canonicalRequest({ method: 'PUT', path: '/', query: [], headers, payload: 'x' }).split('\n')
    // "à" in UTF-8 ends with a byte that is a space elsewhere.
    assert.deepEqual(lines.slice(3, 5), ['x-amz-meta-a:two words \xc3\xa0', 'x-amz-meta-b:\xc3\xa0'])
  })

  test('fits for parameters with and without a value', () => {
    const signed = (query: string) =>
      requestSignature(key, time, scope, {
        method: 'GET',
        path: '/',
        query: queryOf(query).entries,
        headers: [host, ...amz(empty)],
        payload: empty,
      })
    assert.equal(signed('lifecycle'), 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543')
    assert.equal(signed('max-keys=2&prefix=J'), '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7')
    assert.equal(signed('prefix=J&max-keys=2'), signed('max-keys=2&prefix=J'))
  })

  test('fits for a pre-signed URL', () => {
    const query = queryOf(
      'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request' +
        '&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host',
    ).entries
    assert.equal(
      requestSignature(key, time, scope, {
        method: 'GET',
        path: '/test.txt',
        query,
        headers: [host],
        payload: 'UNSIGNED-PAYLOAD',
      }),
      'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
    )
  })

  const upload = (payload: string, more: readonly (readonly [string, string])[]) =>
    requestSignature(key, time, scope, {
      method: 'PUT',
      path: '/examplebucket/chunkObject.txt',
      query: [],
      headers: [
        ['content-encoding', 'aws-chunked'],
        ...(more.length === 0 ? [['content-length', '66824'] as const] : []),
        ['host', 's3.amazonaws.com'],
        ...amz(payload),
        ['x-amz-decoded-content-length', '66560'],
        ['x-amz-storage-class', 'REDUCED_REDUNDANCY'],
        ...more,
      ],
      payload,
    })
  const chunks = [Buffer.alloc(65536, 'a'), Buffer.alloc(1024, 'a'), Buffer.alloc(0)]

  test('fits for each chunk of a body, and a body is decoded by it', async () => {
    const seed = upload('STREAMING-AWS4-HMAC-SHA256-PAYLOAD', [])
    assert.equal(seed, '4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9')
    const signatures = [
      'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648',
      '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497',
      'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9',
    ]
    const body = bodyOf(signatures)
    assert.equal(body.length, 66824)
    for (const size of [1, 7, 1000, 100_000]) {
      assert.equal((await decoded(body, size, seed)).content, 'a'.repeat(66560))
    }
    for (const at of [20, 70, 500, 65700, 66700, 66820]) {
      const changed = Buffer.from(body)
      changed[at]! ^= 1
      await assert.rejects(decoded(changed, 1000, seed), S3Error, `byte ${at}`)
    }
    await assert.rejects(decoded(body.subarray(0, -90), 1000, seed), code('IncompleteBody'))
    await assert.rejects(decoded(body, 1000, signatures[0]!), code('SignatureDoesNotMatch'))
  })

  test('fits for trailing headers', async () => {
    const seed = upload('STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER', [['x-amz-trailer', 'x-amz-checksum-crc32c']])
    assert.equal(seed, '106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e')
    const signatures = [
      'b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2',
      '1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7',
      '2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992',
    ]
    const trailerSignature = 'd81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435'
    const trailer = (sum: string) =>
      `x-amz-checksum-crc32c:${sum}\n\r\nx-amz-trailer-signature:${trailerSignature}\r\n\r\n`
    const hasher = createHasher('crc32c')
    for (const chunk of chunks) hasher.update(chunk)
    assert.equal(hasher.digest().toString('base64'), 'sOO8/Q==')
    const body = (sum: string) => Buffer.concat([bodyOf(signatures).subarray(0, -2), Buffer.from(trailer(sum))])
    const { content, trailers } = await decoded(body('sOO8/Q=='), 1000, seed)
    assert.equal(content, 'a'.repeat(66560))
    assert.deepEqual(trailers, { 'x-amz-checksum-crc32c': 'sOO8/Q==' })
    await assert.rejects(decoded(body('sOO8/A=='), 1000, seed), code('SignatureDoesNotMatch'))
  })

  function bodyOf(signatures: readonly string[]): Buffer {
    return Buffer.concat(
      chunks.flatMap((chunk, at) => [
        Buffer.from(`${chunk.length.toString(16)};chunk-signature=${signatures[at]}\r\n`),
        chunk,
        Buffer.from('\r\n'),
      ]),
    )
  }

  async function decoded(body: Buffer, size: number, seed: string) {
    async function* pieces() {
      for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size)
    }
    let trailers: Record<string, string> = {}
    const content: Buffer[] = []
    const onTrailer = (headers: ReadonlyMap<string, string>) => {
      trailers = Object.fromEntries(headers)
    }
    for await (const chunk of decodeChunks(pieces(), chunkSigner(key, time, scope, seed), onTrailer))
      content.push(chunk)
    return { content: Buffer.concat(content).toString(), trailers }
  }
})

describe('Checksums', () => {
  const bytes = Buffer.from('123456789')

  test('have the check values of their definitions', () => {
    assert.equal(crc32c(bytes), 0xe3069283)
    assert.deepEqual(crc64nvme(bytes), [0xae8b1486, 0x0a799888])
    assert.deepEqual(crc64nvme(Buffer.alloc(0)), [0, 0])
    assert.equal(crc32c(Buffer.alloc(32)), 0x8a9136aa)
  })

  test('do not depend on how the content is cut', () => {
    const content = Buffer.from(Array.from({ length: 1000 }, (_, at) => (at * 131) & 255))
    for (const name of ['crc32', 'crc32c', 'crc64nvme', 'sha1', 'sha256'] as const) {
      const whole = createHasher(name)
      whole.update(content)
      const inParts = createHasher(name)
      for (const [from, to] of [
        [0, 3],
        [3, 14],
        [14, 14],
        [14, 500],
        [500, 1000],
      ] as const)
        inParts.update(content.subarray(from, to))
      assert.deepEqual(inParts.digest(), whole.digest(), name)
    }
  })

  test('of two contents make the checksum of both together', () => {
    const content = Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 7919) & 255))
    const parts = [
      content.subarray(0, 1000),
      content.subarray(1000, 2000),
      content.subarray(2000, 2000),
      content.subarray(2000),
    ]
    for (const name of ['crc32', 'crc32c', 'crc64nvme'] as const) {
      const sum = (part: Buffer) => {
        const hasher = createHasher(name)
        hasher.update(part)
        return hasher.digest()
      }
      const pieces = parts.map((part) => ({ crc: sum(part), size: part.length }))
      assert.deepEqual(combined(name, pieces), sum(content), name)
      const whole = checksumOfParts(
        name,
        'FULL_OBJECT',
        parts.map((part) => ({ value: sum(part).toString('base64'), size: part.length })),
      )
      assert.equal(whole.value, sum(content).toString('base64'))
    }
    const both = crc32(Buffer.concat(['AAAAAA==', 'AAAAAA=='].map((sum) => Buffer.from(sum, 'base64'))))
    const composite = checksumOfParts('crc32', 'COMPOSITE', [
      { value: 'AAAAAA==', size: 0 },
      { value: 'AAAAAA==', size: 0 },
    ])
    assert.equal(Buffer.from(composite.value, 'base64').readUInt32BE(0), both)
    assert.match(composite.value, /-2$/)
  })
})

describe('XML', () => {
  test('is read as it is written', () => {
    const text = `a<b>&"c' \u0001\r\n\t\ud83d\ude00 ]]> &amp;`
    const parsed = parseXml(xmlDocument('Delete', element('Object', element('Key', text)), element('Quiet', true)))
    assert.equal(parsed.children[0]?.children[0]?.text, text)
    assert.equal(parsed.children[1]?.text, 'true')
  })

  test('is read with prefixes, comments, attributes and empty elements', () => {
    const parsed = parseXml(
      `\ufeff<?xml version='1.0'?><!-- <a> --> <s:A xmlns:s='x' b="c"><B/><C d='>'>&#65;&#x42;&lt;</C></s:A>\n`,
    )
    assert.deepEqual(parsed, {
      name: 'A',
      text: '',
      children: [
        { name: 'B', text: '', children: [] },
        { name: 'C', text: 'AB<', children: [] },
      ],
    })
  })

  test('is refused when it is broken, nested without end, or brings entities', () => {
    const bad = [
      '',
      'text',
      '<a>',
      '<a></b>',
      '</a>',
      '<a/><b/>',
      '<a>&b;</a>',
      '<a>&constructor;</a>',
      '<a>&</a>',
      '<a>&#xD800;</a>',
      '<a>&#x110000;</a>',
      '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
      '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
      '<a><?php ?></a>',
      '<a b=c/>',
      '<a>'.repeat(50) + '</a>'.repeat(50),
      '<a><!-- ',
    ]
    for (const text of bad) assert.throws(() => parseXml(text), code('MalformedXML'), text)
  })

  test('that is long is read in a time that grows with its length', () => {
    // Not by the clock: others compute on the same machine.
    const begun = process.cpuUsage()
    for (const text of [
      '<a '.repeat(300_000),
      `<a ${' '.repeat(1_000_000)}`,
      '<!--'.repeat(200_000),
      `<a>${'&'.repeat(500_000)}`,
    ]) {
      assert.throws(() => parseXml(text), S3Error)
    }
    const { user, system } = process.cpuUsage(begun)
    assert.ok(user + system < 5_000_000)
  })
})

describe('A list of keys', () => {
  const list = (
    keys: readonly string[],
    query: { prefix?: string; delimiter?: string; after?: string; limit?: number },
  ) => {
    const sorted = keys.map((key) => ({ key: Buffer.from(key) })).sort((a, b) => Buffer.compare(a.key, b.key))
    const page = listPage(
      {
        prefix: Buffer.from(query.prefix ?? ''),
        delimiter: Buffer.from(query.delimiter ?? ''),
        after: Buffer.from(query.after ?? ''),
        limit: query.limit ?? 1000,
      },
      (from, count) => sorted.filter(({ key }) => Buffer.compare(key, from) >= 0).slice(0, count),
    )
    const names = page.entries.map((entry) => (entry.kind === 'item' ? entry.item.key : entry.prefix).toString())
    return { names, next: page.next?.toString() ?? null }
  }
  const pages = (keys: readonly string[], query: { prefix?: string; delimiter?: string; limit: number }) => {
    const found: string[][] = []
    for (let after: string | null = ''; after !== null; ) {
      const page = list(keys, { ...query, after })
      found.push(page.names)
      after = page.next
    }
    return found
  }

  test('is in the order of UTF-8 bytes', () => {
    // UTF-16 order would put the last before the second but last.
    const keys = ['\u{1f600}', '\uff5e', 'a', 'B', 'é', 'a/', 'a!', 'a0']
    assert.deepEqual(list(keys, {}).names, ['B', 'a', 'a!', 'a/', 'a0', 'é', '\uff5e', '\u{1f600}'])
  })

  test('rolls up what stands behind a delimiter, and each page goes on where the last ended', () => {
    const keys = ['asdf', 'boo/bar', 'boo/baz/xyzzy', 'cquux/thud', 'cquux/bla', 'd', 'e//f', 'e/']
    const whole = ['asdf', 'boo/', 'cquux/', 'd', 'e/']
    for (const limit of [1, 2, 3, 4, 5]) {
      assert.deepEqual(pages(keys, { delimiter: '/', limit }).flat(), whole, String(limit))
      assert.ok(pages(keys, { delimiter: '/', limit }).every((page) => page.length <= limit && page.length > 0))
      assert.deepEqual(pages(keys, { limit }).flat(), keys.toSorted())
    }
    assert.deepEqual(list(keys, { prefix: 'boo/', delimiter: '/' }).names, ['boo/bar', 'boo/baz/'])
    assert.deepEqual(list(keys, { prefix: 'e/', delimiter: '/' }).names, ['e/', 'e//'])
    assert.deepEqual(list(keys, { prefix: 'b', delimiter: 'ba' }).names, ['boo/ba'])
    assert.deepEqual(list(keys, { prefix: 'nothing' }), { names: [], next: null })
    assert.deepEqual(list(keys, { after: 'boo/bar', delimiter: '/' }).names, ['cquux/', 'd', 'e/'])
    assert.deepEqual(list(keys, { after: 'zzz' }), { names: [], next: null })
    assert.deepEqual(list(keys, { after: 'a', prefix: 'd' }).names, ['d'])
    assert.deepEqual(list(keys, { limit: 0 }), { names: [], next: null })
  })

  test('jumps over what a common prefix hides', () => {
    const keys = Array.from({ length: 20_000 }, (_, at) => `${at % 2 === 0 ? 'a' : 'b'}/${at}`).map((key) =>
      Buffer.from(key),
    )
    keys.sort(Buffer.compare)
    let read = 0
    const page = listPage(
      { prefix: Buffer.of(), delimiter: Buffer.from('/'), after: Buffer.of(), limit: 1000 },
      (from, count) => {
        const found = keys.filter((key) => Buffer.compare(key, from) >= 0).slice(0, count)
        read += found.length
        return found.map((key) => ({ key }))
      },
    )
    assert.equal(page.entries.length, 2)
    assert.ok(read < 100, `${read} were read`)
  })

  test('is the same whatever the page size, for random keys', () => {
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648
      return Math.floor(seed / 65536) % below
    }
    for (let round = 0; round < 30; round += 1) {
      const keys = [
        ...new Set(
          Array.from({ length: 40 }, () => Array.from({ length: 1 + random(6) }, () => 'ab/'[random(3)]).join('')),
        ),
      ]
      const prefix = ['', 'a', 'a/', '/', 'b/a'][random(5)]!
      const expected = [
        ...new Set(
          keys
            .filter((key) => key.startsWith(prefix))
            .map((key) => {
              const at = key.indexOf('/', prefix.length)
              return at === -1 ? key : key.slice(0, at + 1)
            }),
        ),
      ].sort()
      for (const limit of [1, 2, 5, 1000])
        assert.deepEqual(pages(keys, { prefix, delimiter: '/', limit }).flat(), expected)
    }
  })
})

describe('A transaction that the disk has no room for', () => {
  let data: string

  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), 'stackquay-storage-parts-'))
  })
  afterEach(() => rmSync(data, { recursive: true }))

  test('says so to all whose acts were part of it', async () => {
    const database = openDatabase(join(data, 'storage.sqlite'))
    try {
      limitPages(database, 'as many as there are')
      const acts = ['fits', tooLong, 'would fit'].map((name) => database.commit(() => addBucket(database, name)))
      for (const answer of await Promise.allSettled(acts)) {
        assert.ok(answer.status === 'rejected')
        assert.ok(isFull(answer.reason.cause), answer.reason.stack)
      }
      await database.commit(() => addBucket(database, 'fits'))
      assert.deepEqual(bucketNames(database), ['fits'])
    } finally {
      database.close()
    }
  })

  test('leaves what was written for it until the next one is on disk, and not longer', async () => {
    const store = openStore(data)
    try {
      const written = await store.contents.write(chunksOf('a piece of content'))
      const file = join(data, 'contents', readdirSync(join(data, 'contents'))[0]!, written.content)
      limitPages(store.database, 'as many as there are')
      await assert.rejects(
        store.change([written], () => addBucket(store.database, tooLong)),
        CommitError,
      )
      // A power cut might bring its row back for as long as nothing was written over it.
      assert.ok(existsSync(file))
      limitPages(store.database, 1_000_000)
      await store.change([], () => addBucket(store.database, 'next'))
      for (const deadline = Date.now() + 120_000; existsSync(file); await pause(5)) assert.ok(Date.now() < deadline)
      assert.deepEqual(bucketNames(store.database), ['next'])
    } finally {
      store.close()
    }
  })

  type Rows = Store['database']
  const tooLong = 'x'.repeat(100_000)

  const addBucket = (database: Rows, name: string) => database.run('INSERT INTO bucket VALUES (?, 0, 0)', name)

  const bucketNames = (database: Rows) =>
    database.all('SELECT name FROM bucket ORDER BY name').map(({ name }) => String(name))

  /** For the database this is the end of the disk. */
  function limitPages(database: Rows, most: number | 'as many as there are'): void {
    const pages = typeof most === 'number' ? most : Number(database.get('PRAGMA page_count')?.page_count)
    database.get(`PRAGMA max_page_count = ${pages}`)
  }

  async function* chunksOf(text: string) {
    yield Buffer.from(text)
  }
})

describe('Small rules', () => {
  test('nobody holds a connection without saying what they want', () => {
    const data = mkdtempSync(join(tmpdir(), 'stackquay-storage-parts-'))
    const store = openStore(data)
    try {
      // Node would set 0, "for ever", beside a request that may take as long as it takes.
      const { headersTimeout, requestTimeout, timeout } = createStorageServer(store, { accessKey: 'a', secretKey: 's' })
      assert.deepEqual([headersTimeout, requestTimeout, timeout], [60_000, 0, 300_000])
    } finally {
      store.close()
      rmSync(data, { recursive: true })
    }
  })

  test('a range is cut to the object, or refused', () => {
    assert.deepEqual(requestedPart('bytes=2-4', 10), { start: 2, end: 5 })
    assert.deepEqual(requestedPart('bytes=7-', 10), { start: 7, end: 10 })
    assert.deepEqual(requestedPart('bytes=-3', 10), { start: 7, end: 10 })
    assert.deepEqual(requestedPart('bytes=-99', 10), { start: 0, end: 10 })
    assert.deepEqual(requestedPart('bytes=5-999', 10), { start: 5, end: 10 })
    for (const none of [undefined, 'bytes=4-2', 'bytes=-', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=a-b']) {
      assert.equal(requestedPart(none, 10), null, String(none))
    }
    for (const bad of ['bytes=10-', 'bytes=-0']) assert.throws(() => requestedPart(bad, 10), code('InvalidRange'))
    assert.throws(() => requestedPart('bytes=0-', 0), code('InvalidRange'))
  })

  test('bucket names are those that S3 allows', () => {
    for (const name of ['app', 'a-b.c', '0ab', 'a'.repeat(63)]) assert.ok(isBucketName(name), name)
    for (const name of [
      '',
      'ab',
      'a'.repeat(64),
      'App',
      '-ab',
      'ab-',
      'a..b',
      'a_b',
      '127.0.0.1',
      'xn--abc',
      'a/b',
      '..',
      'ab\n',
    ]) {
      assert.ok(!isBucketName(name), name)
    }
  })

  test('the only policy is public read of all objects', () => {
    refuseOtherPolicy(publicReadPolicy('app'), 'app')
    const statement = {
      Effect: 'Allow',
      Principal: { AWS: '*' },
      Action: 's3:GetObject',
      Resource: 'arn:aws:s3:::app/*',
    }
    refuseOtherPolicy(JSON.stringify({ Statement: statement }), 'app')
    const refused = [
      { Statement: [statement, statement] },
      { Statement: [] },
      { Statement: { ...statement, Effect: 'Deny' } },
      { Statement: { ...statement, Action: 's3:*' } },
      { Statement: { ...statement, Action: ['s3:GetObject', 's3:PutObject'] } },
      { Statement: { ...statement, Resource: 'arn:aws:s3:::other/*' } },
      { Statement: { ...statement, Resource: 'arn:aws:s3:::app/public/*' } },
      { Statement: { ...statement, Principal: { AWS: '123' } } },
      { Statement: { ...statement, Condition: { IpAddress: {} } } },
      {},
    ]
    for (const policy of refused) {
      assert.throws(
        () => refuseOtherPolicy(JSON.stringify(policy), 'app'),
        code('NotImplemented'),
        JSON.stringify(policy),
      )
    }
    for (const text of ['', '[]', 'null', '{'])
      assert.throws(() => refuseOtherPolicy(text, 'app'), code('MalformedPolicy'))
  })
})
