import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { DiagnosticCheck, IsolationState } from '@stackquay/contract'
import { type ChosenIsolation, chooseIsolation, isolationLevels, type Offers } from '../src/isolation/level.ts'
import { gaps, notPrevented } from '../src/isolation/not-prevented.ts'
import { isolationChecks } from '../src/system/isolation-checks.ts'
import { openTestApp } from './app-support.ts'

const everything: Offers = { root: true, sandbox: null, groups: null, ports: null }
const ordinary: Offers = { root: false, sandbox: 'bubblewrap is not installed.', groups: 'no', ports: 'no' }
const rows = [
  { id: 'prj_1', slug: 'shop' },
  { id: 'prj_2', slug: 'blog' },
]

async function checksOf(
  chosen: ChosenIsolation,
  offers: Offers,
  { broken = null, unmoved = [] }: { broken?: string | null; unmoved?: string[] } = {},
): Promise<Record<string, DiagnosticCheck>> {
  const store = { projects: { all: async () => rows } } as never
  const isolation = { chosen, offers, broken, users: { unmoved: () => unmoved } as never }
  return Object.fromEntries((await isolationChecks({ isolation, store })).map((check) => [check.id, check]))
}

test('health tells callers with credentials how projects are isolated, and nobody else', async (t) => {
  const { call, session } = await openTestApp(t, { env: { STACKQUAY_ISOLATION: 'shared' } })
  const headers = await session()
  const made = await call('createToken', { headers, body: { name: 'ci', scope: 'read' } })
  const token = made.json.value as string
  const states = [
    await call('getHealth', { headers }),
    await call('getHealth', { headers: { authorization: `Bearer ${token}` } }),
  ].map(({ json }) => json.isolation as IsolationState)
  for (const state of states) {
    assert.equal(state.level, 'shared')
    assert.equal(state.broken, null)
    assert.ok(state.notPrevented.some((text) => /files of another/.test(text)))
  }
  for (const strange of [
    {},
    { authorization: 'Bearer stq_nobody' },
    { cookie: 'stackquay_session=nobody' },
    { authorization: `Bearer ${token}`, host: 'evil.example.com' },
  ]) {
    const answer = await call('getHealth', { headers: strange })
    assert.equal(answer.status, 200, JSON.stringify(strange))
    assert.ok(!('isolation' in answer.json), JSON.stringify(strange))
  }
  const diagnostics = await call('getDiagnostics', { headers })
  assert.deepEqual(diagnostics.json.isolation, states[0])
  const check = diagnostics.json.checks.find(({ id }: DiagnosticCheck) => id === 'isolation') as DiagnosticCheck
  assert.equal(check.status, 'warning')
  for (const text of states[0]!.notPrevented) assert.ok(check.detail.includes(text), text)
})

test('one user for all is a warning that names every gap and the way out of it', async () => {
  const byHand = chooseIsolation('shared', everything)
  const { isolation } = await checksOf(byHand, everything)
  assert.equal(isolation?.status, 'warning')
  for (const text of notPrevented(byHand, true)) assert.ok(isolation?.detail.includes(text), text)
  assert.equal(isolation?.fix, 'STACKQUAY_ISOLATION=sandbox')

  const noBwrap = { ...everything, sandbox: 'not installed' }
  assert.equal((await checksOf(chooseIsolation('shared', noBwrap), noBwrap)).isolation?.fix, 'STACKQUAY_ISOLATION=user')
  const person = (await checksOf(chooseIsolation('auto', ordinary), ordinary)).isolation
  assert.match(person?.hint ?? '', /as root.*bubblewrap is not installed/)
  assert.match(person?.detail ?? '', /its secret key/)
})

test('a level that does not hold is an error, and a stronger one that works now is offered', async () => {
  const chosen = chooseIsolation('auto', { ...everything, sandbox: 'not installed', ports: 'no nft' })
  assert.equal(chosen.level, 'user')
  const broken = await checksOf(chosen, everything, { broken: 'Control groups are gone.' })
  assert.equal(broken.isolation?.status, 'error')
  assert.match(broken.isolation?.detail ?? '', /No project starts: Control groups are gone/)
  assert.equal(broken['isolation-offer'], undefined)

  const offered = (await checksOf(chosen, everything))['isolation-offer']
  assert.deepEqual([offered?.status, offered?.fix], ['info', 'STACKQUAY_ISOLATION=sandbox'])
  assert.match(offered?.detail ?? '', /bubblewrap works now/)
  const ports = (await checksOf(chosen, { ...everything, sandbox: 'not installed' }))['isolation-offer']
  assert.match(ports?.detail ?? '', /more than was chosen: ports/)
  const best = chooseIsolation('auto', everything)
  assert.deepEqual(Object.keys(await checksOf(best, everything)), ['isolation'])
  assert.equal((await checksOf(best, everything)).isolation?.status, 'ok')
})

test('projects whose files are still the shared user’s are named with what to do', async () => {
  const best = chooseIsolation('auto', everything)
  const check = (await checksOf(best, everything, { unmoved: ['prj_2', 'prj_gone'] }))['isolation-files']
  assert.equal(check?.status, 'warning')
  assert.match(check?.detail ?? '', /files of blog belong/)
  assert.equal(check?.fix, 'stq stop blog && stq start blog')
})

test('with everything only abstract sockets are open, and each gap is open somewhere', () => {
  const always = notPrevented(chooseIsolation('auto', everything), true)
  assert.deepEqual(
    always.map((text) => /abstract socket/.test(text)),
    [true],
  )
  const offers = [true, false].flatMap((root) =>
    [null, 'no'].flatMap((sandbox) =>
      [null, 'no'].flatMap((groups) => [null, 'no'].map((ports): Offers => ({ root, sandbox, groups, ports }))),
    ),
  )
  const shown = new Set(
    offers.flatMap((offer) =>
      isolationLevels.flatMap((level) => notPrevented(chooseIsolation(level, offer), offer.root)),
    ),
  )
  assert.deepEqual([...shown].sort(), gaps.map(({ text }) => text).sort())
})

test('SECURITY.md says every gap in the words that people see', () => {
  const file = readFileSync(new URL('../../../SECURITY.md', import.meta.url), 'utf8').replace(/\s+/g, ' ')
  for (const { text } of gaps) assert.ok(file.includes(text), text)
})
