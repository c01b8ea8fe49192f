import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeFrame } from '../src/output/code-frame.ts'
import { jsonText } from '../src/output/json.ts'
import { fit, logText, plainLines, plainText, widthOf, wrapped } from '../src/output/plain-text.ts'
import { planText } from '../src/output/plan-text.ts'
import { liveProgress, plainProgress } from '../src/output/progress.ts'
import { size } from '../src/output/size.ts'
import { styleOf } from '../src/output/style.ts'
import { table } from '../src/output/table.ts'
import { ago, duration, parseDuration, parseMoment } from '../src/output/time.ts'
import { emptyPlan, operation, step } from './stand-in.ts'

const plain = styleOf({}, {})
const terminal = styleOf({ isTTY: true, columns: 40 }, { TERM: 'xterm' })

test('colours come on a terminal, and NO_COLOR, TERM=dumb and pipes have none', () => {
  const coloured = (stream: object, env: NodeJS.ProcessEnv) => styleOf(stream, env).colors.red('x') !== 'x'
  assert.equal(coloured({ isTTY: true }, { TERM: 'xterm' }), true)
  assert.equal(coloured({ isTTY: true }, { TERM: 'xterm', NO_COLOR: '1' }), false)
  assert.equal(coloured({ isTTY: true }, { TERM: 'xterm', NO_COLOR: '' }), true)
  assert.equal(coloured({ isTTY: true }, { TERM: 'dumb' }), false)
  assert.equal(coloured({}, {}), false)
  assert.equal(coloured({}, { FORCE_COLOR: '1' }), true)
  assert.equal(coloured({}, { FORCE_COLOR: '1', NO_COLOR: '1' }), false)
})

test('tables are aligned, also with wide characters, and cut only on a terminal', () => {
  const rows = [
    ['shop', '日本', 'x'.repeat(50)],
    ['a', 'b', 'c'],
  ]
  assert.equal(
    table(['NAME', 'WHAT', 'URL'], rows, plain),
    `NAME  WHAT  URL\nshop  日本  ${'x'.repeat(50)}\na     b     c`,
  )
  const onTerminal = plainText(table(['NAME', 'WHAT', 'URL'], rows, terminal).split('\n')[1]!)
  assert.equal(onTerminal, `shop  日本  ${'x'.repeat(27)}…`)
  assert.equal(widthOf(onTerminal), 40)
})

test('nothing that others wrote can steer the terminal', () => {
  const nasty = 'a\x1b[2Jb\x1b]0;title\x07c\rd\x1b[31me\x08\x9bf'
  assert.equal(plainText(nasty), 'abcdef')
  assert.equal(plainText('two\nlines'), 'two lines')
  assert.equal(plainText('gpj.\u202eexe\u2066'), 'gpj.exe')
  assert.equal(logText('\u202edesrever', true), 'desrever')
  assert.equal(logText(nasty, false), 'abcdef')
  assert.equal(logText(nasty, true), 'abcd\x1b[31mef\x1b[0m')
  assert.equal(logText('tab\tstays, €', true), 'tab\tstays, €')
})

test('text of a stranger keeps its lines, and an escape sequence that never ends hides its own line alone', () => {
  assert.equal(
    plainLines('one\r\ntwo\x1b]0;title\nthree\rfour\n\tfive\x1b[2J\x9b1m\n'),
    'one\ntwo\nthree\nfour\n\tfive1m\n',
  )
})

test('JSON says the same without characters that control a terminal', () => {
  const value = { text: 'a\x1b[2J\x7f\x9b\u00a0é\u{1f680}' }
  const text = jsonText(value)
  assert.doesNotMatch(text, /[\x00-\x1f\x7f-\x9f]/)
  assert.deepEqual(JSON.parse(text), value)
})

test('text is wrapped between words, and sizes are short', () => {
  assert.deepEqual(wrapped('one two three', 7), ['one two', 'three'])
  assert.deepEqual(wrapped('incomprehensible is it', 6), ['incomprehensible', 'is it'])
  assert.deepEqual(wrapped('', 6), [])
  assert.deepEqual([0, 999, 1000, 1449, 27_000_000, 999_999, 3e12, 5e15].map(size), [
    '0 bytes',
    '999 bytes',
    '1.0 kB',
    '1.4 kB',
    '27 MB',
    '1.0 MB',
    '3.0 TB',
    '5000 TB',
  ])
})

test('a text that is too long ends with an ellipsis, in columns and not in bytes', () => {
  assert.equal(fit('short', 5), 'short')
  assert.equal(fit('longer', 5), 'long…')
  assert.equal(fit('日本語日本語', 5), '日本…')
})

test('a plan says why once for the steps of a workload, what changes, and what goes on', () => {
  const restart = (title: string, workload: string) => ({ title, workload, because: ['its port changed'] })
  const plan = {
    ...emptyPlan,
    steps: [restart('Stop a', 'a'), restart('Start a', 'a'), restart('Stop b', 'b')],
    restarts: ['a', 'b'],
    keepsRunning: ['c'],
    changes: [
      { field: 'a.note', before: 'x', after: '' },
      { field: 'env.LONG', before: null, after: 'y'.repeat(99) },
      { field: 'limits.memoryBytes', before: 512 * 1024 ** 2, after: 1.5 * 1024 ** 3 },
      { field: 'limits.workloads', before: null, after: { a: { memoryBytes: 1_000_000_001, pids: 64 } } },
    ],
    warnings: ['Mind the gap.'],
    after: null,
    exact: true,
  }
  assert.equal(
    planText({ plan }, plain.colors),
    `Plan
  ~ a.note: x → ""
  + env.LONG: ${'y'.repeat(59)}…
  ~ limits.memoryBytes: 512 MiB → 1.5 GiB
  + limits.workloads: {a: {memoryBytes: 1000000001, pids: 64}}
  • Stop a (its port changed)
  • Start a
  • Stop b (its port changed)
  ! restarts a, b
    keeps running: c
  ! Mind the gap.`,
  )
  assert.equal(planText({ plan: emptyPlan }, plain.colors), 'Nothing to do.')
})

test('a code frame marks the line and the column', () => {
  const text = 'a: 1\nb: 2\nc: 3\nd: 4\n'
  assert.equal(
    codeFrame(
      'stackquay.yml',
      text,
      { pointer: '/c', code: 'x', detail: 'is wrong', line: 3, column: 4 },
      plain.colors,
    ),
    'stackquay.yml:3:4 is wrong\n  1 | a: 1\n  2 | b: 2\n> 3 | c: 3\n    |    ^\n  4 | d: 4',
  )
  assert.equal(codeFrame('f', text, { pointer: '/c', code: 'x', detail: 'is wrong' }, plain.colors), 'f /c: is wrong')
  const beyond = codeFrame(
    'f',
    'a: [',
    { pointer: '', code: 'x', detail: 'ends too early', line: 2, column: 1 },
    plain.colors,
  )
  assert.equal(beyond, 'f:2:1 ends too early\n  1 | a: [')
})

test('times are short, and read back', () => {
  assert.deepEqual([0, 1400, 32_000, 125_000, 11_520_000, 5 * 86_400_000].map(duration), [
    '0.0 s',
    '1.4 s',
    '32 s',
    '2 min 5 s',
    '3 h 12 min',
    '5 d',
  ])
  assert.equal(ago('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:02:00Z')), '2 min ago')
  assert.equal(ago(null, 0), '-')
  assert.deepEqual(['90', '90s', '10m', '1h30m', '2d', '', 'm', '1x'].map(parseDuration), [
    90_000,
    90_000,
    600_000,
    5_400_000,
    172_800_000,
    null,
    null,
    null,
  ])
  assert.equal(parseMoment('10m', Date.parse('2026-01-01T00:10:00Z')), '2026-01-01T00:00:00.000Z')
  assert.equal(parseMoment('2026-01-01T01:00:00+01:00', 0), '2026-01-01T00:00:00.000Z')
  assert.equal(parseMoment('yesterday', 0), null)
})

test('without a terminal each step says when it begins and how it ended, once', () => {
  let text = ''
  const progress = plainProgress({ write: (more) => (text += more) }, plain, Date.now)
  progress.update(operation({ steps: [step('install', 'running'), step('ready', 'pending')] }))
  progress.update(operation({ steps: [step('install', 'succeeded'), step('ready', 'running')] }))
  progress.update(operation({ steps: [step('install', 'succeeded'), step('ready', 'failed')] }))
  assert.equal(text, '… Do install\n✔ Do install 3.2 s\n… Do ready\n✖ Do ready 3.2 s\n')
})

test('on a terminal finished steps stay, and the running ones below them are drawn over', () => {
  let text = ''
  const progress = liveProgress({ write: (more) => (text += more) }, terminal, () => Date.parse('2026-01-01T00:00:01Z'))
  try {
    progress.update(operation({ steps: [step('install', 'running')] }))
    progress.output('install', ['added 3 packages', ''])
    progress.update(operation({ steps: [step('install', 'succeeded'), step('ready', 'running')] }))
    progress.reachable(false)
  } finally {
    progress.end()
  }
  const screen = rendered(text)
  assert.deepEqual(screen, ['✔ Do install 3.2 s', ''])
  assert.match(plainText(text), /does not answer/)
  for (const line of text.split('\n')) assert.ok(widthOf(line) <= 40, line)
})

/** What stays on a screen that understands "cursor up n lines" and "clear below". */
function rendered(text: string): string[] {
  let lines = ['']
  for (const part of text.split(/(\x1b\[\d+A\x1b\[0J)/)) {
    const up = /^\x1b\[(\d+)A/.exec(part)
    if (up !== null) lines = [...lines.slice(0, lines.length - 1 - Number(up[1])), '']
    else {
      const [first = '', ...rest] = part.split('\n').map((line) => plainText(line))
      lines = [...lines.slice(0, -1), lines.at(-1)! + first, ...rest]
    }
  }
  return lines
}
