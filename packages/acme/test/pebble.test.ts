import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { temporaryHome } from '@stackquay/testkit'
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
