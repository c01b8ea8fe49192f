import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type CommandSpec, EngineError } from '@stackquay/engine-api'
import type { CommandHost } from '../src/native/commands/command-host.ts'
import { createCommands } from '../src/native/commands/commands.ts'
import { openHome } from '../src/native/home.ts'
import { processTable } from '../src/native/this-system.ts'

const starter = fileURLToPath(new URL('./starters.ts', import.meta.url))
const context = { signal: AbortSignal.timeout(60_000), reveal: async () => 'secret' }

for (const then of ['killed', 'ended'] as const) {
  test(`a shim that is ${then} between its program's start and the note of it: the command is lost, and never runs twice`, async (t) => {
    const { commands, spec, times } = await lab(t, then)
    await assert.rejects(commands.start(spec, context), EngineError)
    await commands.start(spec, context)
    await commands.start(spec, context)
    const found = await commands.find(spec.ref)
    assert.deepEqual([found?.state, found?.cause, found?.pid], ['ended', 'lost', null])
    assert.equal(await times(), 1)
    await commands.end(spec.ref, context.signal)
  })
}

test('a program that cannot be started leaves nothing, and may be started again', async (t) => {
  const { commands, spec, times } = await lab(t, 'refused')
  for (let turn = 0; turn < 2; turn += 1) {
    await assert.rejects(commands.start(spec, context), /there is no such program/)
    assert.equal(await commands.find(spec.ref), null)
  }
  assert.equal(await times(), 0)
})

async function lab(t: TestContext, then: 'killed' | 'ended' | 'refused') {
  const root = await mkdtemp(join(tmpdir(), 'stackquay-intention-'))
  t.after(() => rm(root, { recursive: true, force: true }))
  const file = join(root, 'seen')
  const table = processTable()
  const host: CommandHost = {
    home: await openHome(join(root, 'engine'), { enterable: false }),
    table,
    now: () => new Date(),
    removeGroups: () => true,
    shimGroups: () => [],
    suspects: () => ({ table, uids: new Set([process.getuid?.() ?? -1]) }),
    group: () => null,
    prepare: async () => ({
      program: { argv: ['/bin/true'], cwd: '/', env: {} },
      user: null,
      signalsAreCodes: false,
      memoryEvents: null,
      elsewhere: { starter, shimSpec: { file, then } },
    }),
    cannotStart: (_spec, { message }) => new EngineError('program_not_found', message, { hint: 'Install it.' }),
    clear: async () => {},
    spareMs: 1000,
  }
  const closing = new AbortController()
  t.after(() => closing.abort())
  const commands = createCommands(
    host,
    async () => {
      throw new TypeError('nothing is executed here')
    },
    closing.signal,
  )
  const spec: CommandSpec = {
    ref: { project: 'held', id: 'run_1' },
    argv: ['/bin/true'],
    cwd: '/',
    env: {},
    data: [],
    terminal: null,
    timeoutSeconds: null,
    idleSeconds: null,
    stop: { signal: 'SIGTERM', deadlineSeconds: 1 },
    keepBytes: 100_000,
  }
  const times = async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').length - 1
  return { commands, spec, times }
}
