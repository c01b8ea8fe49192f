import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FieldError, ProjectPatch } from '@stackquay/contract'
import { emptySpec, hookOf, hookTitle, mergeHooks, type ProjectSpec, pruneOf } from '../src/index.ts'
import { parseManifest } from '../src/manifest.ts'
import { printManifest } from '../src/print-manifest.ts'

const merged = (spec: ProjectSpec, hooks: ProjectPatch['hooks']) => {
  const errors: FieldError[] = []
  return { spec: mergeHooks(spec, { hooks } as ProjectPatch, errors), errors }
}
const migrate = { command: ['npm', 'run', 'migrate'] }

test('a patch replaces the hooks that it names, removes with null, and leaves the others', () => {
  const { spec } = merged(emptySpec('Shop'), {
    deploy: migrate,
    'before-backup': { command: ['./quiet'], timeoutSeconds: 5 },
  })
  assert.deepEqual(spec.hooks, { 'before-backup': { command: ['./quiet'], timeoutSeconds: 5 }, deploy: migrate })
  const next = merged(spec, { deploy: { command: ['true'], runtime: undefined } }).spec
  assert.deepEqual(next.hooks, {
    'before-backup': { command: ['./quiet'], timeoutSeconds: 5 },
    deploy: { command: ['true'] },
  })
  assert.deepEqual(merged(next, { deploy: null }).spec.hooks, {
    'before-backup': { command: ['./quiet'], timeoutSeconds: 5 },
  })
  assert.equal('hooks' in merged(next, { deploy: null, 'before-backup': null }).spec, false)
  assert.equal('hooks' in merged(next, null).spec, false)
  assert.equal(merged(next, undefined).spec, next)
})

test('a command without a program is refused where it stands', () => {
  assert.deepEqual(
    merged(emptySpec('Shop'), { deploy: { command: [' ', 'x'] }, 'after-start': { command: ['a\0b'] } }).errors.map(
      ({ pointer }) => pointer,
    ),
    ['/hooks/after-start/command', '/hooks/deploy/command'],
  )
})

test('a hook says what it runs, for how long at most and where', () => {
  const { spec } = merged(emptySpec('Shop'), { deploy: { ...migrate, runtime: 'node' } })
  const hook = hookOf(spec, 'deploy')!
  assert.deepEqual(hook, { name: 'deploy', argv: ['npm', 'run', 'migrate'], timeoutSeconds: 300, runtime: 'node' })
  assert.equal(hookTitle(hook), 'Run the hook deploy: npm run migrate')
  assert.equal(hookTitle({ ...hook, argv: ['x'.repeat(200)] }).length, 'Run the hook deploy: '.length + 80)
  assert.equal(hookOf(spec, 'after-start'), null)
})

test('the project file says hooks, prints them, and takes away those that it no longer names', () => {
  const text =
    'hooks:\n  deploy:\n    command: [npm, run, migrate]\n  after-start:\n    command: [curl, -f, localhost]\n    timeoutSeconds: 30\n'
  const parsed = parseManifest(text)
  assert.ok(parsed.ok, JSON.stringify(parsed))
  const { spec } = merged(emptySpec('Shop'), parsed.manifest.patch.hooks)
  const again = parseManifest(printManifest(spec))
  assert.ok(again.ok)
  assert.deepEqual(merged(emptySpec('Shop'), again.manifest.patch.hooks).spec.hooks, spec.hooks)
  assert.deepEqual(pruneOf(spec, { hooks: { deploy: migrate } }).hooks, { 'after-start': null, deploy: migrate })
  const wrong = parseManifest('hooks:\n  after-deploy:\n    command: [true]\n')
  assert.ok(!wrong.ok)
  assert.match(wrong.errors[0]!.detail, /after-deploy/)
})
