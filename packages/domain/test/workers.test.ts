import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FieldError, ProjectPatch } from '@stackquay/contract'
import { commandText, readCommand } from '../src/command-line.ts'
import { parseManifest } from '../src/manifest.ts'
import { mergeWorkers, withWorkOff, workOff } from '../src/merge-workers.ts'
import { printManifest } from '../src/print-manifest.ts'
import { pruneOf } from '../src/prune.ts'
import { emptySpec, type ProjectSpec } from '../src/spec.ts'

const shop = emptySpec('Shop')
function merged(patch: ProjectPatch, before: ProjectSpec = shop) {
  const errors: FieldError[] = []
  return { spec: mergeWorkers(before, patch, errors), errors: errors.map(({ pointer, code }) => [pointer, code]) }
}

test('a line is split as a shell does, and what only a shell does is refused', () => {
  const words = (line: string) => {
    const read = readCommand(line)
    return read.ok ? read.words : read.detail.slice(0, 3)
  }
  assert.deepEqual(words('php artisan  queue:work --tries=3'), ['php', 'artisan', 'queue:work', '--tries=3'])
  assert.deepEqual(words(`sh -c 'echo "$HOME" | wc' "a b" c\\ d ""`), [
    'sh',
    '-c',
    'echo "$HOME" | wc',
    'a b',
    'c d',
    '',
  ])
  assert.deepEqual(words('echo a#b a~b "a\\"b" x{y}'), ['echo', 'a#b', 'a~b', 'a"b', 'x{y}'])
  for (const line of [
    'a | b',
    'a && b',
    'a; b',
    'a > b',
    'echo $HOME',
    'echo "$HOME"',
    'echo `id`',
    'ls *.js',
    'a\nb',
    'a # b',
    '~/x',
  ])
    assert.equal(typeof words(line), 'string', line)
  for (const line of ["echo 'x", 'echo "x', 'x\\', ' ', '-x', 'A=1 b', 'a\0b'])
    assert.equal(typeof words(line), 'string', line)
  assert.equal(readCommand([]).ok, false)
  assert.equal(readCommand(['A=1', 'b']).ok, false)
})

test('words that are written as a line are the same words', () => {
  for (const command of [['a'], ['a', ''], ['a b', "it's"], ['$(id)', '|', '\n', '"', '\\'], ['é', '日本', '--x=1,2']])
    assert.deepEqual(readCommand(commandText(['sh', ...command])), { ok: true, words: ['sh', ...command] })
})

test('workers and cron jobs get defaults; what a patch does not say stays; null removes', () => {
  const first = merged({
    workers: { queue: { command: 'php artisan queue:work', count: 2 } },
    cron: {
      nightly: { schedule: '0 3 * * *', command: ['./clean', 'all'], timezone: 'Europe/Berlin', timeLimit: '10m' },
    },
  })
  assert.deepEqual(first.errors, [])
  assert.deepEqual(first.spec.workers, {
    queue: { command: ['php', 'artisan', 'queue:work'], count: 2, runtime: null, enabled: true },
  })
  const nightly = {
    schedule: '0 3 * * *',
    timezone: 'Europe/Berlin',
    command: ['./clean', 'all'],
    timeLimit: '10m',
    overlap: 'skip',
    runtime: null,
    enabled: true,
  }
  assert.deepEqual(first.spec.cron, { nightly })
  const second = merged({ workers: { queue: { count: 3 } }, cron: { nightly: { overlap: 'replace' } } }, first.spec)
  assert.deepEqual(second.errors, [])
  assert.deepEqual(second.spec.workers?.queue?.count, 3)
  assert.deepEqual(second.spec.cron, { nightly: { ...nightly, overlap: 'replace' } })
  const third = merged({ workers: { queue: null }, cron: null }, second.spec)
  assert.deepEqual(third.spec, shop)
  assert.equal(merged({ name: 'Other' }, second.spec).spec, second.spec)
})

test('names that other workloads have or could get, and what cannot run, are refused by their fields', () => {
  const worker = { command: 'true' }
  const job = { command: 'true', schedule: '* * * * *' }
  for (const name of ['node', 'php-dev', 'redis', 'postgresql', 'postgresql-main', 'project', 'queue-2'])
    assert.equal(merged({ workers: { [name]: worker }, cron: { [name]: job } }).errors.length >= 2, true, name)
  assert.deepEqual(merged({ workers: { same: worker }, cron: { same: job } }).errors, [['/cron/same', 'name_taken']])
  const { spec } = merged({ cron: { same: job } })
  assert.deepEqual(merged({ workers: { same: worker } }, spec).errors, [['/workers/same', 'name_taken']])
  assert.deepEqual(merged({ workers: { same: worker }, cron: { same: null } }, spec).errors, [])
  assert.deepEqual(merged({ workers: { a: {} }, cron: { b: { command: 'x' }, c: { schedule: '* * * * *' } } }).errors, [
    ['/workers/a/command', 'required'],
    ['/cron/b/schedule', 'required'],
    ['/cron/c/command', 'required'],
  ])
  assert.deepEqual(
    merged({
      workers: { a: { command: 'a | b' } },
      cron: {
        b: { ...job, schedule: '61 * * * *' },
        c: { ...job, timezone: 'Mars/Base' },
        d: { ...job, timeLimit: '25h' },
      },
    }).errors,
    [
      ['/workers/a/command', 'invalid_command'],
      ['/cron/b/schedule', 'invalid'],
      ['/cron/c/timezone', 'invalid'],
      ['/cron/d/timeLimit', 'too_big'],
    ],
  )
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`w${index}x`, worker]))
  assert.deepEqual(merged({ workers: many }).errors, [['/workers', 'too_many']])
})

test('a copy has them off and says which; who switches one on or off has decided', () => {
  const job = { command: 'true', schedule: '* * * * *' }
  const { spec } = merged({ workers: { a: { command: 'x' }, b: { command: 'y', enabled: false } }, cron: { c: job } })
  const copy = withWorkOff(spec)
  assert.deepEqual(workOff(copy), { workers: ['a'], cron: ['c'] })
  assert.deepEqual(
    [copy.workers?.a?.enabled, copy.workers?.b?.copied, copy.cron?.c?.enabled],
    [false, undefined, false],
  )
  const other = merged({ workers: { a: { count: 4 } } }, copy).spec
  assert.deepEqual(workOff(other).workers, ['a'])
  const on = merged({ workers: { a: { enabled: true } }, cron: { c: { enabled: false } } }, other).spec
  assert.deepEqual([workOff(on), on.workers?.a?.count], [{ workers: [], cron: ['c'] }, 4])
})

test('a project file says them and reads them back; pruning removes what it does not name', () => {
  const text = `
workers:
  queue: { command: php artisan queue:work, count: 2 }
cron:
  nightly: { schedule: "0 3 * * *", command: [./clean, "a b"], timezone: Europe/Berlin }
`
  const parsed = parseManifest(text)
  assert.ok(parsed.ok)
  const { spec, errors } = merged(parsed.manifest.patch)
  assert.deepEqual(errors, [])
  const printed = printManifest(spec)
  assert.match(printed, /queue:\n {4}command: php artisan queue:work\n {4}count: 2\n/)
  const again = parseManifest(printed)
  assert.ok(again.ok)
  assert.deepEqual(merged(again.manifest.patch).spec.cron, spec.cron)
  assert.deepEqual(pruneOf(spec, { name: 'Shop' }).workers, { queue: null })
  assert.deepEqual(merged(pruneOf(spec, { cron: { nightly: {} } }), spec).spec.cron, spec.cron)

  const wrong = parseManifest(
    'workers: { queue: { command: x, copied: true } }\ncron: { n: { nextAt: x, schedul: y } }',
  )
  assert.equal(wrong.ok, false)
  if (!wrong.ok)
    assert.deepEqual(wrong.errors.map(({ code }) => code).sort(), ['read_only', 'read_only', 'unknown_field'])
})
