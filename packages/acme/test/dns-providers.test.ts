import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { AcmeError, type DnsProvider, dnsProviderOf, dnsProviders } from '../src/index.ts'
import { listening } from './lab.ts'

interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** Writes down what is asked, and answers as the documentation of the provider says. */
async function recorder(answer: (asked: Asked) => { status?: number; body: unknown }) {
  const calls: Asked[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const asked = { method: request.method!, path: request.url!, headers: request.headers, body }
    calls.push(asked)
    const { status = 200, body: answered } = answer(asked)
    response.writeHead(status).end(typeof answered === 'string' ? answered : JSON.stringify(answered))
  })
  const { port, ...rest } = await listening(server)
  return { calls, endpoint: `http://127.0.0.1:${port}`, ...rest }
}

const now = () => new Date('2026-03-01T12:00:00Z')
const signal = AbortSignal.timeout(60_000)
const secret = 'canary-secret-value'

function open(name: string, settings: object): DnsProvider {
  const kind = dnsProviderOf(name)!
  return kind.open(kind.settings.parse(settings), { now })
}

/** Add two values under one name, the first twice; take away the first, twice; the second is still there. */
async function round(provider: DnsProvider, values: () => readonly string[]): Promise<void> {
  const name = '_acme-challenge.shop.example.org'
  for (const value of ['first', 'first', 'second']) await provider.addTxt({ name, value }, signal)
  assert.deepEqual([...values()].sort(), ['first', 'second'])
  for (let turn = 0; turn < 2; turn += 1) await provider.removeTxt({ name, value: 'first' }, signal)
  assert.deepEqual(values(), ['second'])
  await provider.removeTxt({ name, value: 'second' }, signal)
  assert.deepEqual(values(), [])
}

async function failsWithoutSecret(provider: DnsProvider, pattern: RegExp): Promise<void> {
  await assert.rejects(provider.addTxt({ name: '_acme-challenge.example.org', value: 'x' }, signal), (error) => {
    assert.ok(error instanceof AcmeError)
    assert.equal(error.code, 'dns_provider_failed')
    assert.match(error.message, pattern)
    assert.ok(!error.message.includes(secret))
    return true
  })
}

test('Cloudflare, against a recorder of its documented API: the zone is found, values come and go one by one', async () => {
  const records = new Map<string, { id: string; type: string; name: string; content: string }>()
  const fine = (result: unknown) => ({ body: { success: true, errors: [], messages: [], result } })
  await using api = await recorder(({ method, path, body }) => {
    const url = new URL(path, 'http://x')
    if (url.pathname === '/zones')
      return fine(url.searchParams.get('name') === 'example.org' ? [{ id: 'z1', name: 'example.org' }] : [])
    if (method === 'GET') return fine([...records.values()])
    if (method === 'DELETE') {
      records.delete(url.pathname.split('/').at(-1)!)
      return fine({})
    }
    const record = JSON.parse(body)
    if ([...records.values()].some(({ content }) => content === record.content))
      return {
        status: 400,
        body: {
          success: false,
          errors: [{ code: 81058, message: 'An identical record already exists.' }],
          result: null,
        },
      }
    const id = `r${records.size + 1}`
    records.set(id, { id, ...record })
    return fine({ id })
  })
  const provider = open('cloudflare', { token: secret, endpoint: api.endpoint })
  await round(provider, () => [...records.values()].map(({ content }) => content.replaceAll('"', '')))
  assert.ok(api.calls.every(({ headers }) => headers.authorization === `Bearer ${secret}`))
  const added = api.calls.find(({ method }) => method === 'POST')!
  assert.equal(added.path, '/zones/z1/dns_records')
  assert.deepEqual(JSON.parse(added.body).content, '"first"')
})

test('Cloudflare, against a recorder: a token that is refused is told in its words', async () => {
  await using api = await recorder(() => ({
    status: 403,
    body: { success: false, errors: [{ code: 9109, message: 'Invalid access token' }], messages: [], result: null },
  }))
  await failsWithoutSecret(
    open('cloudflare', { token: secret, endpoint: api.endpoint }),
    /Invalid access token \(9109\)/,
  )
})

test('Hetzner, against a recorder of its documented API: records of a set come and go one by one', async () => {
  let values: string[] = []
  await using api = await recorder(({ method, path, body }) => {
    if (path === '/zones/example.org') return { body: { zone: { id: 1, name: 'example.org' } } }
    const rrset = '/zones/example.org/rrsets/_acme-challenge.shop/TXT'
    if (path === rrset && method === 'GET' && values.length > 0)
      return { body: { rrset: { records: values.map((value) => ({ value })) } } }
    const given: string[] = body === '' ? [] : JSON.parse(body).records.map(({ value }: { value: string }) => value)
    if (path === `${rrset}/actions/add_records`) {
      values = [...values, ...given]
      return { status: 201, body: { action: { status: 'running' } } }
    }
    if (path === `${rrset}/actions/remove_records`) {
      values = values.filter((value) => !given.includes(value))
      return { status: 201, body: { action: { status: 'running' } } }
    }
    return { status: 404, body: { error: { code: 'not_found', message: 'not found' } } }
  })
  const provider = open('hetzner', { token: secret, endpoint: api.endpoint })
  await round(provider, () => values.map((value) => value.replaceAll('"', '')))
  assert.ok(api.calls.every(({ headers }) => headers.authorization === `Bearer ${secret}`))
  assert.ok(api.calls.some(({ body }) => body.includes('"\\"first\\""')))
})

test('Hetzner, against a recorder: no zone, and a token that is refused', async () => {
  await using empty = await recorder(() => ({
    status: 404,
    body: { error: { code: 'not_found', message: 'zone not found' } },
  }))
  await failsWithoutSecret(
    open('hetzner', { token: secret, endpoint: empty.endpoint }),
    /sees no zone that _acme-challenge/,
  )
  await using refusing = await recorder(() => ({
    status: 401,
    body: { error: { code: 'unauthorized', message: 'unable to authenticate' } },
  }))
  await failsWithoutSecret(
    open('hetzner', { token: secret, endpoint: refusing.endpoint }),
    /unable to authenticate \(unauthorized\)/,
  )
})

test('Route 53, against a recorder of its documented API: a set is written whole, signed, and private zones are left alone', async () => {
  let values: string[] = []
  const escapedText = (value: string) => value.replaceAll('"', '&quot;')
  const zone = (id: string, name: string, isPrivate: boolean) =>
    `<HostedZone><Id>/hostedzone/${id}</Id><Name>${name}.</Name><Config><PrivateZone>${isPrivate}</PrivateZone></Config></HostedZone>`
  await using api = await recorder(({ method, path, body }) => {
    const url = new URL(path, 'http://x')
    if (url.pathname === '/2013-04-01/hostedzonesbyname') {
      const found = url.searchParams.get('dnsname') === 'example.org'
      const zones = found
        ? zone('ZPRIVATE', 'example.org', true) + zone('ZPUBLIC', 'example.org', false)
        : zone('ZZ', 'other.org', false)
      return {
        body: `<ListHostedZonesByNameResponse><HostedZones>${zones}</HostedZones></ListHostedZonesByNameResponse>`,
      }
    }
    if (url.pathname !== '/2013-04-01/hostedzone/ZPUBLIC/rrset') return { status: 404, body: '<ErrorResponse/>' }
    if (method === 'GET') {
      const records = values
        .map((value) => `<ResourceRecord><Value>${escapedText(value)}</Value></ResourceRecord>`)
        .join('')
      const set = `<ResourceRecordSet><Name>_acme-challenge.shop.example.org.</Name><Type>TXT</Type><ResourceRecords>${records}</ResourceRecords></ResourceRecordSet>`
      return {
        body: `<ListResourceRecordSetsResponse><ResourceRecordSets>${values.length > 0 ? set : ''}</ResourceRecordSets></ListResourceRecordSetsResponse>`,
      }
    }
    const given = [...body.matchAll(/<Value>(.*?)<\/Value>/g)].map((match) => match[1]!.replaceAll('&quot;', '"'))
    values = body.includes('<Action>DELETE</Action>') ? [] : given
    return { body: '<ChangeResourceRecordSetsResponse/>' }
  })
  const settings = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: secret, endpoint: api.endpoint }
  await round(open('route53', settings), () => values.map((value) => value.replaceAll('"', '')))
  for (const { headers } of api.calls)
    assert.match(
      String(headers.authorization),
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/20260301\/us-east-1\/route53\/aws4_request, SignedHeaders=[a-z0-9;-]*host[a-z0-9;-]*, Signature=[0-9a-f]{64}$/,
    )
  await using refusing = await recorder(() => ({
    status: 403,
    body: '<ErrorResponse><Error><Code>AccessDenied</Code><Message>User may not &lt;list&gt;</Message></Error></ErrorResponse>',
  }))
  await failsWithoutSecret(open('route53', { ...settings, endpoint: refusing.endpoint }), /User may not <list>/)
})

test('a webhook is signed as Standard Webhooks are, and its refusal is told', async () => {
  const key = Buffer.alloc(32, 3).toString('base64')
  let status = 204
  await using api = await recorder(() => ({ status, body: 'not my zone\nat all' }))
  const provider = open('webhook', { url: `${api.endpoint}/dns`, secret: `whsec_${key}` })
  await provider.addTxt({ name: '_acme-challenge.example.org', value: 'proof' }, signal)
  await provider.removeTxt({ name: '_acme-challenge.example.org', value: 'proof' }, signal)
  assert.deepEqual(
    api.calls.map(({ body }) => JSON.parse(body)),
    ['dns.present', 'dns.cleanup'].map((type) => ({ type, name: '_acme-challenge.example.org', value: 'proof' })),
  )
  const [{ headers, body }] = api.calls as [Asked]
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const expected = createHmac('sha256', Buffer.from(key, 'base64')).update(signed).digest('base64')
  assert.equal(headers['webhook-signature'], `v1,${expected}`)
  status = 500
  await failsWithoutSecret(provider, /answers 500: not my zone at all/)
})

test('each provider says which of its settings are secret, and takes no others', () => {
  for (const { name, settings } of dnsProviders) {
    const secrets = Object.values(settings.shape).filter(
      (field) => (field.meta() as { writeOnly?: boolean })?.writeOnly,
    )
    assert.ok(secrets.length > 0, name)
    assert.equal(settings.safeParse({ anything: 1 }).success, false, name)
  }
})
