import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { FIRST_UID } from './native-harness.ts'

/*
 * An ordinary user's engine: one user for all projects, and unprivileged bubblewrap where the kernel lets users have namespaces. Root
 * runs the suites as such a user here; for that user itself, `native-conformance` and `native-sandbox-conformance` are the same.
 */

const root = fileURLToPath(new URL('../../..', import.meta.url))
const uid = FIRST_UID - 11
/** On every system, for exactly this; others see it as it was. */
const PLACE = '/mnt'
const become = [
  'setpriv',
  `--reuid=${uid}`,
  `--regid=${uid}`,
  '--clear-groups',
  '--bounding-set=-all',
  '--inh-caps=-all',
  '--no-new-privs',
]

if (process.getuid?.() === 0) {
  describe('the native engine of an ordinary user', { timeout: 280_000 }, () => {
    it('passes the conformance suite on level shared', async (t) => {
      t.diagnostic(await passes('packages/engines/test/native-conformance.test.ts'))
    })

    it('passes it on level sandbox where users may have namespaces, and says why where they may not', async (t) => {
      const { code, output } = await run([
        'bwrap',
        '--unshare-user',
        '--unshare-pid',
        '--ro-bind',
        '/',
        '/',
        '/bin/true',
      ])
      if (code === 0) t.diagnostic(await passes('packages/engines/test/native-sandbox-conformance.test.ts'))
      else t.diagnostic(await says(output))
    })
  })
}

async function passes(file: string): Promise<string> {
  const { code, output } = await run([process.execPath, '--test', '--test-reporter=tap', file])
  const [, passed = '0'] = /^# pass (\d+)$/m.exec(output) ?? []
  assert.equal(code, 0, output.slice(-20_000))
  assert.ok(Number(passed) >= 40, output)
  return `${passed} tests as uid ${uid}`
}

/** The probe of the engine finds it out by trying, as the service does. */
async function says(found: string): Promise<string> {
  const module = 'packages/engines/src/native/isolation/sandbox.ts'
  const source = `const { findSandbox } = await import(process.cwd() + '/${module}'); console.log(JSON.stringify(await findSandbox()))`
  const { output } = await run([process.execPath, '--input-type=module', '-e', source])
  const answer = JSON.parse(output.trim().split('\n').at(-1)!) as { sandbox: unknown; why: string | null }
  assert.equal(answer.sandbox, null, `bwrap says: ${found}`)
  assert.match(answer.why ?? '', /does not work here/)
  return answer.why ?? ''
}

/**
 * The checkout may lie where only root may look (`/root`), or in a temporary folder, which a sandbox replaces: in a mount namespace of
 * its own it lies at another place. Nothing is copied, and nothing stays.
 */
async function run(argv: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-ordinary-'))
  await chown(home, uid, uid)
  const script = `mount --bind "$1" ${PLACE} && cd ${PLACE} && shift && exec "$@"`
  const program = argv.map((word) => word.replace(root, `${PLACE}/`))
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const child = spawn(
    'unshare',
    ['--mount', '--propagation', 'private', '/bin/sh', '-c', script, 'sh', root, ...become, ...program],
    { env: { ...env, HOME: home }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  try {
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, output }
  } finally {
    child.kill('SIGKILL')
    await rm(home, { recursive: true, force: true })
  }
}
