import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import * as grpc from '@grpc/grpc-js'
import { freePort } from '@stackquay/testkit/free-port'
import { route, table, upstreamAt } from './support.ts'
import { secureProxy, shopCertificate } from './tls-support.ts'

/** Numbers as text: what matters here is how calls are carried, not what is in them. */
const text = { serialize: (value: string) => Buffer.from(value), deserialize: (bytes: Buffer) => bytes.toString() }
const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
  path: `/test.Shop/${name}`,
  requestStream,
  responseStream,
  requestSerialize: text.serialize,
  requestDeserialize: text.deserialize,
  responseSerialize: text.serialize,
  responseDeserialize: text.deserialize,
})
const service = {
  one: method('One', false, false),
  many: method('Many', false, true),
  sum: method('Sum', true, false),
  chat: method('Chat', true, true),
}

/** A project that speaks gRPC and nothing else. */
async function grpcUpstream(t: TestContext, onCancel: () => void = () => {}): Promise<number> {
  const server = new grpc.Server()
  server.addService(service, {
    one: (call: grpc.ServerUnaryCall<string, string>, answer: grpc.sendUnaryData<string>) => {
      if (call.request === 'late') {
        call.on('cancelled', onCancel)
        return
      }
      if (call.request === 'wrong') {
        const metadata = new grpc.Metadata()
        metadata.set('x-why', 'because')
        answer({ code: grpc.status.FAILED_PRECONDITION, details: 'not now', metadata })
        return
      }
      const sent = new grpc.Metadata()
      sent.set('x-saw', String(call.metadata.get('x-own')[0]))
      sent.set('x-proto', String(call.metadata.get('x-forwarded-proto')[0]))
      call.sendMetadata(sent)
      answer(null, call.request.toUpperCase())
    },
    many: (call: grpc.ServerWritableStream<string, string>) => {
      for (let count = 0; count < Number(call.request); count += 1) call.write(String(count))
      call.end()
    },
    sum: (call: grpc.ServerReadableStream<string, string>, answer: grpc.sendUnaryData<string>) => {
      let sum = 0
      call.on('data', (value: string) => {
        sum += value.length
      })
      call.on('end', () => answer(null, String(sum)))
    },
    chat: (call: grpc.ServerDuplexStream<string, string>) => {
      call.on('data', (value: string) => call.write(`you said ${value}`))
      call.on('end', () => call.end())
    },
  })
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  )
  t.after(() => server.forceShutdown())
  return port
}

function client(t: TestContext, port: number): grpc.Client {
  const credentials = grpc.credentials.createSsl(Buffer.from(shopCertificate.certificate))
  const made = new grpc.Client(`127.0.0.1:${port}`, credentials, {
    'grpc.ssl_target_name_override': 'shop.localhost',
    'grpc.default_authority': 'shop.localhost',
  })
  t.after(() => made.close())
  return made
}

type Unary = {
  readonly value: string | undefined
  readonly error: grpc.ServiceError | null
  readonly metadata: grpc.Metadata
}

function unary(
  to: grpc.Client,
  value: string,
  options: grpc.CallOptions = {},
  own = new grpc.Metadata(),
): Promise<Unary> {
  return new Promise((resolve) => {
    let metadata = new grpc.Metadata()
    const call = to.makeUnaryRequest(
      service.one.path,
      text.serialize,
      text.deserialize,
      value,
      own,
      options,
      (error, answer) => resolve({ value: answer, error, metadata }),
    )
    call.on('metadata', (got) => {
      metadata = got
    })
  })
}

test('gRPC: calls of all four kinds, status and metadata, errors and deadlines', async (t) => {
  let cancelled = 0
  const upstream = await grpcUpstream(t, () => {
    cancelled += 1
  })
  const { port, control } = await secureProxy(t, upstreamAt(upstream))
  const shop = client(t, port)

  const own = new grpc.Metadata()
  own.set('x-own', 'mine')
  const one = await unary(shop, 'hello', {}, own)
  assert.equal(one.value, 'HELLO')
  assert.deepEqual([one.metadata.get('x-saw'), one.metadata.get('x-proto')], [['mine'], ['https']])

  const wrong = await unary(shop, 'wrong')
  assert.deepEqual([wrong.error?.code, wrong.error?.details], [grpc.status.FAILED_PRECONDITION, 'not now'])
  assert.deepEqual(wrong.error?.metadata.get('x-why'), ['because'])

  const late = await unary(shop, 'late', { deadline: Date.now() + 300 })
  assert.equal(late.error?.code, grpc.status.DEADLINE_EXCEEDED)
  const deadline = Date.now() + 3_000
  while (cancelled === 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.equal(cancelled, 1)

  const many = shop.makeServerStreamRequest(service.many.path, text.serialize, text.deserialize, '5000')
  let got = 0
  for await (const value of many) {
    assert.equal(value, String(got))
    got += 1
  }
  assert.equal(got, 5_000)

  const sum = await new Promise((resolve, reject) => {
    const call = shop.makeClientStreamRequest(service.sum.path, text.serialize, text.deserialize, (error, answer) =>
      error === null ? resolve(answer) : reject(error),
    )
    for (let count = 0; count < 200; count += 1) call.write('x'.repeat(10_000))
    call.end()
  })
  assert.equal(sum, '2000000')

  const chat = shop.makeBidiStreamRequest(service.chat.path, text.serialize, text.deserialize)
  for (const word of ['a', 'b', 'c']) {
    chat.write(word)
    // Each answer comes while the stream of the client is open.
    assert.equal(await new Promise((resolve) => chat.once('data', resolve)), `you said ${word}`)
  }
  assert.equal((await control.flights('127.0.0.1', upstream)).tunnels, 1)
  chat.end()
  assert.equal(
    (await new Promise<grpc.StatusObject>((resolve) => chat.resume().once('status', resolve))).code,
    grpc.status.OK,
  )
})

test('gRPC: a project that does not listen is unavailable, and one that comes is found', async (t) => {
  const { port, control } = await secureProxy(t, upstreamAt(await freePort()))
  const shop = client(t, port)
  assert.equal((await unary(shop, 'hello')).error?.code, grpc.status.UNAVAILABLE)
  const upstream = await grpcUpstream(t)
  await control.putRoutes(table([route('shop', upstreamAt(upstream))], 2))
  assert.equal((await unary(shop, 'again')).value, 'AGAIN')
})
