import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expositionFormat, type MetricFamily, printFamily } from '../src/index.ts'

const print = (family: MetricFamily, format: 'openmetrics' | 'text') => [...printFamily(family, format)].join('')
const labels = { project: 'shop' }
const seconds: MetricFamily = {
  name: 'cpu_seconds',
  type: 'counter',
  help: 'CPU "time"\\n of\none.',
  samples: [{ labels, value: 1.5 }],
}

test('a counter, facts and a gauge are written as each of the two formats wants them', () => {
  assert.equal(
    print(seconds, 'openmetrics'),
    '# HELP cpu_seconds CPU \\"time\\"\\\\n of\\none.\n# TYPE cpu_seconds counter\n# UNIT cpu_seconds seconds\ncpu_seconds_total{project="shop"} 1.5\n',
  )
  assert.equal(
    print(seconds, 'text'),
    '# HELP cpu_seconds_total CPU "time"\\\\n of\\none.\n# TYPE cpu_seconds_total counter\ncpu_seconds_total{project="shop"} 1.5\n',
  )
  const build: MetricFamily = { name: 'build', type: 'info', help: 'B.', samples: [{ labels, value: 1 }] }
  assert.equal(print(build, 'openmetrics'), '# HELP build B.\n# TYPE build info\nbuild_info{project="shop"} 1\n')
  assert.equal(print(build, 'text'), '# HELP build_info B.\n# TYPE build_info gauge\nbuild_info{project="shop"} 1\n')
  const gauge: MetricFamily = { name: 'up', type: 'gauge', help: 'U.', samples: [{ labels: {}, value: Number.NaN }] }
  assert.equal(print(gauge, 'text'), '# HELP up U.\n# TYPE up gauge\nup NaN\n')
  assert.equal(
    print({ ...gauge, samples: [] }, 'text'),
    '# HELP up U.\n# TYPE up gauge\n',
    'known, and without samples',
  )
})

test('no name ends its label or its line', () => {
  for (const name of ['a"} 1\nevil_total 9', 'back\\slash\\', '"', '\\"', 'a\r\nb', '\ud800 alone', 'ü😀 \u2028']) {
    const text = print({ ...seconds, samples: [{ labels: { name }, value: 1 }] }, 'text')
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    assert.equal(lines.length, 1, JSON.stringify(name))
    const quoted = /^cpu_seconds_total\{name="((?:[^"\\\n]|\\["\\n])*)"\} 1$/.exec(lines[0]!)?.[1]
    assert.ok(quoted !== undefined, lines[0]!)
    const read = quoted.replace(/\\(["\\n])/g, (_, character) => (character === 'n' ? '\n' : character))
    assert.equal(read, name.toWellFormed())
  }
})

test('many samples come in pieces', () => {
  const samples = Array.from({ length: 1200 }, (_, value) => ({ labels, value }))
  const pieces = [...printFamily({ ...seconds, samples }, 'text')]
  assert.equal(pieces.length, 3)
  assert.equal(pieces.join('').trim().split('\n').length, 1202)
})

test('the format is the one that Accept prefers; the text format for those that do not say', () => {
  const prometheus =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'
  for (const [accept, format] of [
    [null, 'text'],
    ['*/*', 'text'],
    ['text/plain', 'text'],
    [prometheus, 'openmetrics'],
    ['application/openmetrics-text', 'openmetrics'],
    ['application/openmetrics-text; version=1.0.0', 'openmetrics'],
    ['application/openmetrics-text; version=2.0.0, text/plain', 'text'],
    ['application/openmetrics-text;q=0.3, text/plain;q=0.9', 'text'],
    ['application/openmetrics-text;q=0', 'text'],
    ['text/html', 'text'],
  ] as const)
    assert.equal(expositionFormat(accept), format, String(accept))
})
