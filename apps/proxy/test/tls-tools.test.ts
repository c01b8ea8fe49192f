import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { httpUpstream, upstreamAt } from './support.ts'
import { secureProxy, shopCertificate } from './tls-support.ts'

const run = promisify(execFile)
/** Debian has them in `curl`, `nghttp2-client`, `openssl` and `testssl.sh`. */
const without = (program: string) =>
  spawnSync('which', [program]).status === 0 ? false : `${program} is not installed`

async function target(t: TestContext) {
  const upstream = await httpUpstream(t, (request, response) => {
    if (request.method === 'POST') request.pipe(response)
    else response.end('x'.repeat(1_024))
  })
  const folder = await mkdtemp(join(tmpdir(), 'stackquay-tls-tools-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const authority = join(folder, 'ca.pem')
  await writeFile(authority, shopCertificate.certificate)
  const { port } = await secureProxy(t, upstreamAt(upstream))
  return { port, folder, authority }
}

test('curl by HTTP/2 and HTTP/1.1, with the certificate checked', { skip: without('curl') }, async (t) => {
  const { port, authority } = await target(t)
  const resolve = ['--resolve', `shop.localhost:${port}:127.0.0.1`, '--cacert', authority]
  for (const [flag, version] of [
    ['--http2', '2'],
    ['--http1.1', '1.1'],
  ] as const) {
    const said = ['-sS', '-o', '/dev/null', '-w', '%{http_code} %{http_version} %{size_download}', flag]
    const { stdout } = await run('curl', [...said, ...resolve, `https://shop.localhost:${port}/`])
    assert.equal(stdout, `200 ${version} 1024`)
  }
})

test('openssl s_client resumes a session and is not allowed to renegotiate', {
  skip: without('openssl'),
}, async (t) => {
  const { port, authority, folder } = await target(t)
  const session = join(folder, 'session')
  const base = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', 'shop.localhost', '-CAfile', authority]
  const said = (args: readonly string[], input: string) =>
    new Promise<string>((resolve) => {
      const child = execFile('openssl', [...base, ...args], { timeout: 10_000 }, (_error, stdout, stderr) =>
        resolve(stdout + stderr),
      )
      child.stdin!.end(input)
    })
  const first = await said(['-tls1_2', '-sess_out', session], 'Q\n')
  assert.match(first, /Verify return code: 0 \(ok\)/)
  assert.match(await said(['-tls1_2', '-sess_in', session], 'Q\n'), /Reused, TLSv1\.2/)
  assert.match(await said(['-tls1_2'], 'R\n'), /no renegotiation/)
})

test('h2load and nghttp: many streams on few connections, none fails', { skip: without('h2load') }, async (t) => {
  const { port } = await target(t)
  const to = ['--connect-to', `127.0.0.1:${port}`, 'https://shop.localhost/']
  const { stdout } = await run('h2load', ['-n', '4000', '-c', '8', '-m', '64', ...to])
  assert.match(stdout, /4000 succeeded, 0 failed, 0 errored, 0 timeout/)
  const sent = await run('nghttp', ['-nv', '-H:authority: shop.localhost', `https://127.0.0.1:${port}/`])
  assert.match(sent.stdout, /:status: 200/)
})

test('testssl.sh finds nothing above "low" but that the certificate signs itself', {
  skip: process.env.STACKQUAY_SOAK === undefined ? 'takes two minutes; STACKQUAY_SOAK is not set' : without('testssl'),
}, async (t) => {
  const { port, folder, authority } = await target(t)
  const report = join(folder, 'report.json')
  const what = ['-p', '-s', '-f', '-S', '-h', '-U']
  const args = ['--quiet', '--color', '0', '--ip', '127.0.0.1', '--add-ca', authority, '--jsonfile', report]
  await run('testssl', [...args, ...what, `shop.localhost:${port}`], { timeout: 900_000 }).catch(() => {})
  const found = JSON.parse(await readFile(report, 'utf8')) as readonly {
    id: string
    severity: string
    finding: string
  }[]
  assert.ok(found.length > 30)
  // What a certificate of a test cannot have, and headers that are the business of the project.
  const ofCertificate = /^cert_|^OCSP|^DNS_CAA|^scanProblem|^security_headers/
  const bad = found.filter(
    ({ id, severity }) => ['MEDIUM', 'HIGH', 'CRITICAL', 'FATAL'].includes(severity) && !ofCertificate.test(id),
  )
  assert.deepEqual(bad, [])
})
