import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { spawnTracked, temporaryHome } from '@stackquay/testkit'
import { type AcmeServer, type DnsServer, serveDns, servePebble } from '@stackquay/testkit/acme-lab'
import { AcmeError, newKey, obtain } from '../src/index.ts'
import {
  dns01Over,
  front,
  http01Over,
  listenForHttp01,
  listenForTlsAlpn01,
  Memory,
  optionsFor,
  type ProofListener,
  type TlsProofListener,
  tlsAlpn01Over,
} from './lab.ts'

const stack = new AsyncDisposableStack()
let folder: string
let dns: DnsServer
let http: ProofListener
let tls: TlsProofListener
let pebble: AcmeServer

before(async () => {
  folder = stack.use(await temporaryHome()).path
  dns = stack.use(
    await serveDns(join(folder, 'dns'), {
      zones: [
        {
          name: 'example.org',
          isDynamic: true,
          records: [
            '@ IN A 127.0.0.1',
            'shop IN A 127.0.0.1',
            'mail IN A 127.0.0.1',
            '_acme-challenge.shop IN CNAME shop.proofs.example.net.',
          ],
        },
        { name: 'proofs.example.net', isDynamic: true, records: [] },
        { name: 'fixed.example.com', isDynamic: false, records: ['@ IN A 127.0.0.1'] },
      ],
    }),
  )
  http = stack.use(await listenForHttp01())
  tls = stack.use(await listenForTlsAlpn01())
  pebble = stack.use(
    await servePebble(join(folder, 'pebble'), {
      dnsServer: dns.address,
      httpPort: http.port,
      tlsPort: tls.port,
      nonceReject: 30,
    }),
  )
})

after(() => stack.disposeAsync())

async function failureOf(work: Promise<unknown>): Promise<AcmeError> {
  return work.then(
    () => assert.fail('it should have failed'),
    (error: unknown) => {
      assert.ok(error instanceof AcmeError, String(error))
      return error
    },
  )
}

test('HTTP-01: issues and renews, with one account, where every third nonce is refused; nothing is left', async () => {
  const memory = new Memory()
  const first = await obtain(
    optionsFor(pebble, ['shop.example.org', 'mail.example.org'], http01Over(http, dns), memory),
  )
  const account = memory.accountUrl
  assert.ok(account)
  const second = await obtain(
    optionsFor(pebble, ['shop.example.org', 'mail.example.org'], http01Over(http, dns), memory),
  )
  assert.equal(memory.accountUrl, account)
  assert.notEqual(first.key, second.key)
  const leaf = new X509Certificate(second.certificate)
  assert.equal(leaf.subjectAltName, 'DNS:mail.example.org, DNS:shop.example.org')
  assert.equal(second.certificate.match(/BEGIN CERTIFICATE/g)?.length, 2)
  assert.deepEqual([...http.answers], [])
  assert.equal(memory.order, null)
})

test('TLS-ALPN-01: issues', async () => {
  const memory = new Memory()
  const { certificate } = await obtain(optionsFor(pebble, ['shop.example.org'], tlsAlpn01Over(tls, dns), memory))
  assert.equal(new X509Certificate(certificate).subjectAltName, 'DNS:shop.example.org')
  assert.deepEqual([...tls.contexts], [])
})

test('DNS-01 by signed updates to BIND: a wildcard and its base, through a CNAME too; no record is left', async () => {
  const memory = new Memory()
  const solver = dns01Over(dns)
  const seen: string[][] = []
  const { certificate } = await obtain({
    ...optionsFor(pebble, ['*.example.org', 'example.org', '*.shop.example.org'], solver, memory),
    solver: {
      ...solver,
      ready: async (proof, signal) => {
        await solver.ready(proof, signal)
        seen.push([
          ...(await dns.txt('_acme-challenge.example.org')),
          '|',
          ...(await dns.txt('shop.proofs.example.net')),
        ])
      },
    },
  })
  assert.equal(
    new X509Certificate(certificate).subjectAltName,
    'DNS:*.example.org, DNS:*.shop.example.org, DNS:example.org',
  )
  // Two values under one name, and the third in the zone that the CNAME leads to.
  assert.equal(seen.at(-1)?.length, 4)
  assert.deepEqual(await dns.txt('_acme-challenge.example.org'), [])
  assert.deepEqual(await dns.txt('shop.proofs.example.net'), [])
})

test('DNS-01: what the server does not let the key do, a wrong secret, and a zone that is not there are told', async () => {
  const refused = await failureOf(obtain(optionsFor(pebble, ['fixed.example.com'], dns01Over(dns), new Memory())))
  assert.equal(refused.code, 'dns_provider_failed')
  assert.match(refused.message, /refuses the update of fixed\.example\.com \(REFUSED\)/)
  const wrongKey = { ...dns, key: { ...dns.key, secret: Buffer.alloc(32, 7).toString('base64') } }
  const badSecret = await failureOf(obtain(optionsFor(pebble, ['example.org'], dns01Over(wrongKey), new Memory())))
  assert.match(badSecret.message, /BADSIG/)
  const unknown = { ...dns, key: { ...dns.key, name: 'nobody' } }
  const badKey = await failureOf(obtain(optionsFor(pebble, ['example.org'], dns01Over(unknown), new Memory())))
  assert.match(badKey.message, /BADKEY/)
  const nowhere = await failureOf(obtain(optionsFor(pebble, ['shop.example.com'], dns01Over(dns), new Memory())))
  assert.match(nowhere.message, /no zone that _acme-challenge\.shop\.example\.com is in/)
  assert.doesNotMatch([refused, badSecret, badKey, nowhere].map(String).join(), new RegExp(dns.key.secret.slice(0, 12)))
})

test('DNS-01: a record that never becomes visible is told after the wait, and the authority is not asked', async () => {
  const memory = new Memory()
  const solver = dns01Over(dns, 1000)
  const failure = await failureOf(
    obtain({
      ...optionsFor(pebble, ['example.org'], solver, memory),
      solver: { ...solver, present: async () => {} },
    }),
  )
  assert.equal(failure.code, 'dns_not_visible')
  assert.match(failure.message, /_acme-challenge\.example\.org was written, but is not visible after 1 s/)
  assert.equal(memory.order, null)
})

test('DNS-01: where no authoritative server may be asked, the resolver is believed', async () => {
  const solver = dns01Over({ ...dns, authoritativePort: 1 })
  const { certificate } = await obtain(optionsFor(pebble, ['example.org'], solver, new Memory()))
  assert.equal(new X509Certificate(certificate).subjectAltName, 'DNS:example.org')
})

test('a wrong answer is told in the words of the authority, with the name', async () => {
  const memory = new Memory()
  const failure = await failureOf(
    obtain(optionsFor(pebble, ['shop.example.org'], { ...http01Over(http, dns), present: async () => {} }, memory)),
  )
  assert.equal(failure.code, 'challenge_failed')
  assert.equal(failure.host, 'shop.example.org')
  assert.match(failure.message, /404/)
  assert.equal(memory.order, null)
})

test('a name without an address fails before the authority is asked', async () => {
  const failure = await failureOf(
    obtain(optionsFor(pebble, ['nowhere.example.org'], http01Over(http, dns), new Memory())),
  )
  assert.equal(failure.code, 'dns_not_found')
})

test('a server that is down, one that is not trusted, and one that is none are told apart', async () => {
  const memory = new Memory()
  const solver = http01Over(http, dns)
  const ask = (change: object) =>
    failureOf(obtain({ ...optionsFor(pebble, ['shop.example.org'], solver, memory), ...change }))
  assert.equal((await ask({ directoryUrl: 'https://localhost:1/dir' })).code, 'server_unreachable')
  assert.equal((await ask({ roots: undefined })).code, 'server_untrusted')
  assert.equal((await ask({ directoryUrl: `https://localhost:${pebble.port}/nowhere` })).code, 'server_error')
  assert.equal((await ask({ directoryUrl: 'http://acme.example.org/dir' })).code, 'server_untrusted')
})

test('a clock that is days off is told with by how much', async () => {
  const threeDays = 3 * 24 * 60 * 60 * 1000
  const failure = await failureOf(
    obtain({
      ...optionsFor(pebble, ['shop.example.org'], http01Over(http, dns), new Memory()),
      now: () => new Date(Date.now() + threeDays),
    }),
  )
  assert.equal(failure.code, 'clock_off')
  assert.match(failure.message, /3 days ahead of/)
})

test('terms that nobody agreed to are not agreed to', async () => {
  const options = optionsFor(pebble, ['shop.example.org'], http01Over(http, dns), new Memory())
  const failure = await failureOf(obtain({ ...options, account: { ...options.account, termsAgreed: false } }))
  assert.equal(failure.code, 'terms_not_agreed')
  assert.match(failure.message, /data:text\/plain|https?:/)
})

test('behind a front that answers 429 as RFC 8555 has it: until when, and one request only', async () => {
  let asked = 0
  await using limiting = await front(pebble, (path, respond) => {
    if (!path.startsWith('/order')) return false
    asked += 1
    respond(
      429,
      { 'content-type': 'application/problem+json', 'retry-after': '3600' },
      JSON.stringify({
        type: 'urn:ietf:params:acme:error:rateLimited',
        detail: 'too many certificates (5) already issued for this exact set of domains',
      }),
    )
    return true
  })
  const before = Date.now()
  const options = optionsFor(pebble, ['shop.example.org'], http01Over(http, dns), new Memory())
  const failure = await failureOf(obtain({ ...options, directoryUrl: limiting.directoryUrl }))
  assert.equal(failure.code, 'rate_limited')
  assert.match(failure.message, /too many certificates \(5\)/)
  const waitSeconds = (failure.notBefore!.getTime() - before) / 1000
  assert.ok(waitSeconds >= 3599 && waitSeconds < 3700, String(waitSeconds))
  assert.equal(asked, 1)
})

test('an account with external account binding: refused without, taken with', async () => {
  const hmacKey = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W'
  await using bound = await servePebble(join(folder, 'bound'), {
    dnsServer: dns.address,
    httpPort: http.port,
    tlsPort: tls.port,
    externalAccounts: { 'kid-1': hmacKey },
  })
  const options = optionsFor(bound, ['shop.example.org'], http01Over(http, dns), new Memory())
  const failure = await failureOf(obtain(options))
  assert.equal(failure.code, 'external_account_required')
  const account = { ...options.account, key: newKey(), external: { keyId: 'kid-1', hmacKey } }
  const { certificate } = await obtain({ ...options, account })
  const leaf = new X509Certificate(certificate)
  const root = new X509Certificate(await bound.issuingRoot())
  const intermediate = new X509Certificate(certificate.slice(certificate.indexOf('-----BEGIN', 10)))
  assert.ok(leaf.verify(intermediate.publicKey))
  assert.ok(intermediate.verify(root.publicKey))
})

test('killed while its records are in the DNS: the next one goes on with the same order and leaves none', async () => {
  const memoryFile = join(folder, 'memory.json')
  const names = ['example.org', '*.example.org']
  const server = { directoryUrl: pebble.directoryUrl, roots: pebble.roots }
  const access = { address: dns.address, port: dns.port, key: dns.key }
  const program = join(import.meta.dirname, 'obtain-program.ts')
  const child = spawnTracked([process.execPath, program, JSON.stringify({ memoryFile, server, dns: access, names })])
  await child.line(/records are written/, 30_000)
  process.kill(child.pid, 'SIGKILL')
  await child.exit()
  assert.equal((await dns.txt('_acme-challenge.example.org')).length, 2)

  const memory: Memory = JSON.parse(await readFile(memoryFile, 'utf8'))
  const orderUrl = memory.order?.url
  assert.equal(memory.order?.proofs.length, 2)
  const urls: string[] = []
  const options = optionsFor(pebble, names, dns01Over(dns), memory)
  const { key } = await obtain({
    ...options,
    remember: async (order) => {
      if (order !== null) urls.push(order.url)
      memory.order = order
    },
  })
  assert.deepEqual([...new Set(urls)], [orderUrl])
  assert.match(key, /BEGIN PRIVATE KEY/)
  assert.deepEqual(await dns.txt('_acme-challenge.example.org'), [])
  assert.equal(memory.order, null)
})

test('an order that the authority does not know any more is begun anew, and what the old one left is taken away', async () => {
  const memory = new Memory()
  const solver = dns01Over(dns)
  const stale = { name: 'example.org', token: 'stale', keyAuthorization: 'stale.stale' }
  await solver.present(stale, AbortSignal.timeout(10_000))
  assert.equal((await dns.txt('_acme-challenge.example.org')).length, 1)
  memory.order = {
    url: `https://localhost:${pebble.port}/my-order/gone`,
    key: newKey(),
    names: ['example.org'],
    proofs: [stale],
  }
  await obtain(optionsFor(pebble, ['example.org'], solver, memory))
  assert.deepEqual(await dns.txt('_acme-challenge.example.org'), [])
})

test('stopped in the middle: the proofs are taken away, the order stays to go on with', async () => {
  const memory = new Memory()
  const solver = dns01Over(dns)
  const stop = new AbortController()
  await assert.rejects(
    obtain({
      ...optionsFor(pebble, ['example.org'], solver, memory),
      signal: stop.signal,
      solver: {
        ...solver,
        ready: async () => {
          stop.abort(new Error('the service ends'))
          stop.signal.throwIfAborted()
        },
      },
    }),
    /the service ends/,
  )
  assert.notEqual(memory.order, null)
  assert.deepEqual(await dns.txt('_acme-challenge.example.org'), [])
})
