import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { readAuthority } from '../src/trust/authority.ts'
import { commandText, placesOf } from '../src/trust/places.ts'
import { scratch, stq } from './run-stq.ts'
import { standIn } from './stand-in.ts'

/** As the service makes it; it ends in 2036. */
const authority = `-----BEGIN CERTIFICATE-----
MIIC3TCCAoKgAwIBAgIQSK5//XlFvtzWnGA5ARnDEzAKBggqhkjOPQQDAjBHMSQw
IgYDVQQDExtTdGFja3F1YXkgbG9jYWwgQ0EgMWM3NWU1ODMxEjAQBgNVBAoTCVN0
YWNrcXVheTELMAkGA1UECxMCdm0wHhcNMjYxMTI3MTI1NjU5WhcNMzYxMTI0MTI1
NjU5WjBHMSQwIgYDVQQDExtTdGFja3F1YXkgbG9jYWwgQ0EgMWM3NWU1ODMxEjAQ
BgNVBAoTCVN0YWNrcXVheTELMAkGA1UECxMCdm0wWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAShLMDGKeRuDLAE7jK47VRQcheQ3QWTkgehJYHZeUSBsqKjmAufCoe2
CrZ5yh1FR9xQVruiV7zhSsfrHSABjjQ2o4IBTjCCAUowEgYDVR0TAQH/BAgwBgEB
/wIBADAOBgNVHQ8BAf8EBAMCAQYwggEDBgNVHR4BAf8EgfgwgfWggfIwC4IJbG9j
YWxob3N0MAaCBHRlc3QwCoIIaW50ZXJuYWwwB4IFbG9jYWwwBYIDbGFuMAuCCWhv
bWUuYXJwYTAKhwh/AAAA/wAAADAKhwgKAAAA/wAAADAKhwisEAAA//AAADAKhwjA
qAAA//8AADAKhwip/gAA//8AADAKhwhkQAAA/8AAADAihyAAAAAAAAAAAAAAAAAA
AAAB/////////////////////zAihyD8AAAAAAAAAAAAAAAAAAAA/gAAAAAAAAAA
AAAAAAAAADAihyD+gAAAAAAAAAAAAAAAAAAA/8AAAAAAAAAAAAAAAAAAADAdBgNV
HQ4EFgQUPFADIVHyn/u+8TEIKSVgy5HU3lMwCgYIKoZIzj0EAwIDSQAwRgIhAL41
1LnmtGYq7gq+ijoY544AtLMHWsH0LiS48Z7BslJ7AiEA7Ia1As4BPtE5u7wGB/5H
ltfYkgZ7bibWIZwaYQrNZZ0=
-----END CERTIFICATE-----
`
/** The same without limits, and one that may speak for all of .com. */
const unlimited = `-----BEGIN CERTIFICATE-----
MIIBsjCCAVegAwIBAgIUUb8e6W3WEvjAOvHbaywDi4mvSmgwCgYIKoZIzj0EAwIw
JjEkMCIGA1UEAwwbU3RhY2txdWF5IGxvY2FsIENBIDAxMjNhYmNkMB4XDTI2MTEy
NzEzNTc0MFoXDTM2MTEyNDEzNTc0MFowJjEkMCIGA1UEAwwbU3RhY2txdWF5IGxv
Y2FsIENBIDAxMjNhYmNkMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEVc/cjT3a
/HuTD94um1UBZ4FkHF6gXzSCV9YlrCnF5rQRw1MyU/yXji1NzZdAA7tUKTYctFR3
DkmV/kL23WTgh6NjMGEwHQYDVR0OBBYEFBqse9UCcUmeMLJDU0tX5SE4LXtQMB8G
A1UdIwQYMBaAFBqse9UCcUmeMLJDU0tX5SE4LXtQMA8GA1UdEwEB/wQFMAMBAf8w
DgYDVR0PAQH/BAQDAgIEMAoGCCqGSM49BAMCA0kAMEYCIQDyRPdCeVkFuY/U0kpl
0JHjQzkxrVeON0JGiR2eXjhU7QIhAOdZkM2b9e3zbUF9XyK62+6ADCuAjmXc5P9H
NO24jYWe
-----END CERTIFICATE-----`
const wide = `-----BEGIN CERTIFICATE-----
MIIBxTCCAWugAwIBAgIUB+Bqz7PxaYst0NoVgAzSNUxdYjgwCgYIKoZIzj0EAwIw
JjEkMCIGA1UEAwwbU3RhY2txdWF5IGxvY2FsIENBIDAxMjNhYmNkMB4XDTI2MTEy
NzEzNTc0MFoXDTM2MTEyNDEzNTc0MFowJjEkMCIGA1UEAwwbU3RhY2txdWF5IGxv
Y2FsIENBIDAxMjNhYmNkMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEVc/cjT3a
/HuTD94um1UBZ4FkHF6gXzSCV9YlrCnF5rQRw1MyU/yXji1NzZdAA7tUKTYctFR3
DkmV/kL23WTgh6N3MHUwHQYDVR0OBBYEFBqse9UCcUmeMLJDU0tX5SE4LXtQMB8G
A1UdIwQYMBaAFBqse9UCcUmeMLJDU0tX5SE4LXtQMA8GA1UdEwEB/wQFMAMBAf8w
IgYDVR0eAQH/BBgwFqAUMAuCCWxvY2FsaG9zdDAFggNjb20wCgYIKoZIzj0EAwID
SAAwRQIgOzBrsxXsXrpM05Zju0SqWmewPmhYo0DrNfQoeDtZvzwCIQCf1gDRzquV
Wy8xhqa1jgwk1wd/sCcqyOhjkLCOCMCmZQ==
-----END CERTIFICATE-----`

const one = {
  id: 'cert_1',
  source: 'own',
  names: ['shop.test\x1b[2J'],
  issuer: 'Test',
  notBefore: '2026-01-01T00:00:00.000Z',
  notAfter: '2027-01-01T00:00:00.000Z',
  fingerprint: 'AA:BB',
  nextRenewal: null,
  lastFailure: null,
  warnings: ['It ends in 5 days.'],
}
const host = { host: 'blog.test', project: 'blog', certificate: null, https: false }
const tls = { listen: '127.0.0.1:8743', authority: null, certificates: [one], hosts: [host], fault: null }

test('against a stand-in: certificates are listed, added from files and deleted by name', async () => {
  const sent: unknown[] = []
  await using folder = await scratch()
  await using service = await standIn({
    'GET /settings/tls': () => tls,
    'PUT /settings/tls/certificates': ({ body }) => {
      sent.push(body)
      return one
    },
    'DELETE /settings/tls/certificates/cert_1': (_call, response) => void response.writeHead(204).end(),
    'PATCH /settings': ({ body }) => {
      sent.push(body)
      return { items: [], registries: [] }
    },
  })
  const run = (...args: string[]) => stq(['tls', ...args], { url: service.url, cwd: folder.path })
  const { stdout } = await run()
  assert.match(stdout, /^ID +SOURCE +NAMES +UNTIL\ncert_1 +own +shop\.test.* 2027-01-01\n/)
  assert.match(stdout, /It ends in 5 days\.\nWithout a certificate: blog\.test/)
  assert.ok(!stdout.includes('\x1b[2J'))
  assert.equal((await run('add', 'missing.pem', 'key.pem')).code, 2)
  for (const name of ['cert.pem', 'key.pem', 'chain.pem']) await writeFile(join(folder.path, name), name)
  const added = await run('add', 'cert.pem', 'key.pem', '--chain', 'chain.pem')
  assert.match(added.stderr, /in use until 2027-01-01/)
  assert.equal((await run('local', 'on')).code, 0)
  assert.deepEqual(sent, [
    { certificate: 'cert.pem', key: 'key.pem', chain: 'chain.pem' },
    { settings: { tlsLocal: 'on' } },
  ])
  assert.equal((await run('remove', 'other.test', '--yes')).code, 4)
  assert.equal((await run('remove', 'cert_1')).code, 2, 'not without a word')
  assert.equal((await run('remove', 'cert_1', '--yes')).code, 0)
})

const asText = (pem: string) => (_call: unknown, response: { writeHead(code: number): { end(text: string): void } }) =>
  void response.writeHead(200).end(pem)

test('an authority that is not limited, or to too much, is no authority to trust', async () => {
  assert.deepEqual(readAuthority(authority).domains, ['localhost', 'test', 'internal', 'local', 'lan', 'home.arpa'])
  for (const pem of [unlimited, wide]) assert.throws(() => readAuthority(pem), /could speak for the whole internet/)
  for (const pem of ['', 'nothing', authority.slice(0, 300)])
    assert.throws(() => readAuthority(pem), /is not the certificate/)
  await using folder = await scratch()
  await using service = await standIn({ 'GET /settings/tls/ca.crt': asText(unlimited) })
  const run = await stq(['trust', '--yes'], { env: { HOME: folder.path, STACKQUAY_URL: service.url } })
  assert.equal(run.code, 1)
  assert.match(run.stderr, /could speak for the whole internet/)
})

test('stores of browsers take the authority and give it back; the system is asked for nothing that it was not', async () => {
  await using folder = await scratch()
  await using service = await standIn({ 'GET /settings/tls/ca.crt': asText(authority) })
  const database = join(folder.path, '.pki/nssdb')
  await mkdir(database, { recursive: true })
  await writeFile(join(database, 'cert9.db'), '')
  const log = join(folder.path, 'log')
  await mkdir(join(folder.path, 'bin'))
  await writeFile(join(folder.path, 'bin/certutil'), `#!/bin/sh\necho "$@" >> ${log}\n`, { mode: 0o755 })
  const env = { HOME: folder.path, PATH: `${folder.path}/bin:/usr/bin:/bin`, STACKQUAY_URL: service.url }
  const run = (...args: string[]) => stq(['trust', '--no-system', ...args], { env })
  const printed = await run('--print')
  assert.match(printed.stdout, /SHA-256 [0-9A-F:]{95}\n# for localhost, test/)
  assert.match(printed.stdout, /^curl -fsS --create-dirs -o \S+\.crt http\S+\/settings\/tls\/ca\.crt$/m)
  assert.match(printed.stdout, /NODE_EXTRA_CA_CERTS/)
  assert.equal((await run()).code, 2, 'not without a word')
  assert.equal(await readFile(log, 'utf8').catch(() => 'none'), 'none')
  const trusted = await run('--yes', '--json')
  assert.equal(trusted.code, 0, trusted.stderr)
  const { file } = JSON.parse(trusted.stdout) as { file: string }
  assert.equal(readAuthority(await readFile(file, 'utf8')).name, readAuthority(authority).name)
  assert.equal((await run('--remove', '--yes')).code, 0)
  const [added = '', removed = ''] = (await readFile(log, 'utf8')).split('\n')
  assert.match(added, /^-A -d sql:\S+\/\.pki\/nssdb -n Stackquay local CA [0-9a-f]{8} -t C,, -i \S+\.crt$/)
  assert.match(removed, /^-D -d sql:\S+\/\.pki\/nssdb -n Stackquay local CA [0-9a-f]{8}$/)
  assert.equal(await readFile(file, 'utf8').catch(() => 'gone'), 'gone')
})

test('a service without an authority is told how to have one, and other systems have their own commands', async () => {
  await using service = await standIn({
    'GET /settings/tls/ca.crt': (_call, response) => void response.writeHead(404).end(),
  })
  const run = await stq(['trust', '--print'], { url: service.url })
  assert.equal(run.code, 4)
  assert.match(run.stderr, /stq tls local on/)
  const mine = { file: "/Users/o'neil/ca.crt", name: 'Stackquay local CA 0123abcd' }
  const of = async (platform: NodeJS.Platform) =>
    (await placesOf(mine, { platform, env: { HOME: '/Users/x', PATH: '' }, system: true })).places.flatMap(({ add }) =>
      add.map(commandText),
    )
  assert.deepEqual(await of('darwin'), [
    `security add-trusted-cert -r trustRoot -k /Users/x/Library/Keychains/login.keychain-db '/Users/o'\\''neil/ca.crt'`,
  ])
  assert.deepEqual(await of('win32'), [`certutil -user -addstore Root '/Users/o'\\''neil/ca.crt'`])
})
