import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import 'reflect-metadata'
import { AuthorityKeyIdentifierExtension, X509CertificateGenerator } from '@peculiar/x509'
import { renewalWindow } from '../src/index.ts'
import { renewalId } from '../src/protocol/renewal-info.ts'
import { listening } from './lab.ts'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

async function certificateWith(keyId: string | null, serialNumber: string): Promise<string> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber,
    name: 'CN=example.com',
    keys,
    signingAlgorithm: algorithm,
    extensions: keyId === null ? [] : [new AuthorityKeyIdentifierExtension(keyId)],
  })
  return certificate.toString('pem')
}

test('a certificate is named as the example of RFC 9773 is', async () => {
  const certificate = await certificateWith('69885b6b87464041e1b37b847ba0ae2cde01c8d4', '0087654321')
  assert.equal(renewalId(certificate), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
  assert.equal(renewalId(await certificateWith(null, '01')), null)
})

test('an authority is asked for its window at that name; one that has none, or answers nonsense, is no trouble', async () => {
  const certificate = await certificateWith('69885b6b87464041e1b37b847ba0ae2cde01c8d4', '0087654321')
  let answer: unknown = {
    suggestedWindow: { start: '2026-05-01T00:00:00Z', end: '2026-05-03T00:00:00Z' },
    explanationURL: 'https://acme.example.org/why',
  }
  let hasWindows = true
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    response.setHeader('retry-after', '21600')
    const at = (path: string) => `http://${request.headers.host}${path}`
    const directory = { newNonce: at('/nonce'), newAccount: at('/account'), newOrder: at('/order') }
    if (request.url !== '/dir') response.end(JSON.stringify(answer))
    else response.end(JSON.stringify(hasWindows ? { ...directory, renewalInfo: at('/ari/') } : directory))
  })
  await using listener = await listening(server)
  const options = {
    directoryUrl: `http://127.0.0.1:${listener.port}/dir`,
    now: () => new Date(),
    signal: AbortSignal.timeout(30_000),
  }
  const found = await renewalWindow(certificate, options)
  assert.equal(found?.id, 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
  assert.equal(found?.window.start.toISOString(), '2026-05-01T00:00:00.000Z')
  const inSeconds = (found!.window.askAgainAt!.getTime() - Date.now()) / 1000
  assert.ok(inSeconds > 21_500 && inSeconds <= 21_600)
  assert.deepEqual(asked, ['/dir', '/ari/aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE'])
  answer = { suggestedWindow: { start: 'soon', end: 'later' } }
  assert.equal(await renewalWindow(certificate, options), null)
  hasWindows = false
  assert.equal(await renewalWindow(certificate, options), null)
})
