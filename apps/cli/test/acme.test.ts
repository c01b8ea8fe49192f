import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { stq } from './run-stq.ts'
import { standIn } from './stand-in.ts'

const settings = {
  directory: 'letsencrypt',
  roots: null,
  email: 'ops@example.org',
  challenge: 'dns-01',
  names: null,
  wildcard: true,
  forwardedPorts: [],
  resolvers: [],
  dns: { provider: 'cloudflare', settings: { hasToken: true } },
  externalAccount: null,
}
const orders = [
  { name: '*.example.org', state: 'valid', certificate: 'cert_1', nextAttempt: '2026-06-01T00:00:00Z', failure: null },
  {
    name: 'shop.example.net',
    state: 'failing',
    certificate: null,
    nextAttempt: '2026-03-01T12:30:00Z',
    failure: {
      code: 'dns_not_found',
      detail: 'shop.example.net has no address in the DNS.',
      at: '2026-03-01T12:00:00Z',
    },
  },
]
const properties = { token: { type: 'string', writeOnly: true }, endpoint: { type: 'string' } }
const providers = [{ name: 'cloudflare', label: 'Cloudflare', settingsSchema: { properties, required: ['token'] } }]

test('against a stand-in: an authority is chosen, its terms agreed to, secrets come from files; names are shown with why they fail', async () => {
  let isSet = false
  const acme = () => ({ settings: isSet ? settings : null, orders: isSet ? orders : [], providers })
  await using service = await standIn({
    'GET /settings/tls/acme': acme,
    'PUT /settings/tls/acme': () => {
      isSet = true
      return acme()
    },
    'POST /settings/tls/acme/renew': acme,
    'DELETE /settings/tls/acme': (_call, response) => void response.writeHead(204).end(),
  })
  const folder = await mkdtemp(join(tmpdir(), 'stq-acme-'))
  await writeFile(join(folder, 'token'), 'secret-token\n')
  await writeFile(join(folder, 'hmac'), 'aGFsbG8\n')
  const options = { url: service.url, cwd: folder }
  assert.match((await stq(['tls', 'acme'], options)).stdout, /No certificates are asked for/)

  const set = ['tls', 'acme', 'set', 'letsencrypt', '--email', 'ops@example.org', '--dns', 'cloudflare', '--wildcard']
  const silent = await stq([...set, '--secret-file', 'token=token'], options)
  assert.equal(silent.code, 2)
  assert.match(silent.stderr, /--agree-terms/)
  const argument = await stq([...set, '--agree-terms', '--set', 'token=secret'], options)
  assert.match(argument.stderr, /"token" is secret/)
  const binding = ['--eab-key-id', 'kid-1', '--eab-key-file', 'hmac']
  const made = await stq([...set, '--agree-terms', '--secret-file', 'token=token', ...binding], options)
  assert.equal(made.code, 0, made.stderr)
  assert.deepEqual(service.calls.find(({ method }) => method === 'PUT')?.body, {
    ...{ directory: 'letsencrypt', email: 'ops@example.org', termsAgreed: true, challenge: 'dns-01', names: null },
    ...{ wildcard: true, forwardedPorts: [], resolvers: [], roots: null },
    dns: { provider: 'cloudflare', settings: { token: 'secret-token' } },
    externalAccount: { keyId: 'kid-1', hmacKey: 'aGFsbG8' },
  })
  const shown = (await stq(['tls', 'acme'], options)).stdout
  assert.match(shown, /letsencrypt, by dns-01 with cloudflare/)
  assert.match(shown, /shop\.example\.net +failing +2026-03-01 12:30/)
  assert.match(shown, /shop\.example\.net has no address in the DNS/)

  assert.equal((await stq(['tls', 'acme', 'renew', '*.example.org'], options)).code, 0)
  assert.match(service.calls.find(({ method }) => method === 'POST')?.path ?? '', /\/settings\/tls\/acme\/renew/)
  assert.equal((await stq(['tls', 'acme', 'off'], options)).code, 2)
  assert.equal((await stq(['tls', 'acme', 'off', '--yes'], options)).code, 0)
  const wrong = await stq(['tls', 'acme', 'set', 'letsencrypt', '--agree-terms', '--forwarded', '8080'], options)
  assert.match(wrong.stderr, /--forwarded takes 80 or 443/)
  await rm(folder, { recursive: true })
})
