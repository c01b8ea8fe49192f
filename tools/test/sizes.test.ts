import assert from 'node:assert/strict'
import { test } from 'node:test'
import { functionSizes } from '../function-sizes.ts'
import { isMeasured, tooLongFiles, tooLongFunctions } from '../sizes.ts'

/** A line that opens a body ends with its size; no mark: no function begins there. */
const sample = `
export function plain(a: string): void { // 3
  act(a)
}

export async function withLines(
  a: string,
  { b, c }: Options,
): Promise<void> { // 2
}

export function destructured({
  a,
  b,
}: Options): void { // 2
}

export function withShape(a: string): {
  readonly b: string
} { // 3
  return a
}

export const arrow = (a: string) => { // 5
  const inner = a.map((each) => { // 3
    return each
  })
}

const expression = (a: string) => // 3
  act(a)
    .then(b)

const Page = () => ( // 5
  <div onClick={() => { // 3
    act()
  }} />
)

const facts = () => ({ // 3
  a: 1,
})

const oneLine = (a: string) => a
const chained = everything
  .map(one)
  .then((a) => { // 2
  })

class Gate implements Other {
  readonly fields = {
    a: 1,
  }

  constructor(a: string) { // 2
  }

  async check<A>(a: A): Promise<A> { // 4
    if (a) {
    }
  }

  get size(): number { // 2
  }

  #own(
    a: string,
  ) { // 2
  }
}

export const table = {
  method(a) { // 2
  },
  async *rows() { // 2
  },
  'GET /': async () => { // 2
  },
  [key](a) { // 2
  },
}

if (
  a &&
  b
) {
  act()
} else if (c) {
  act()
}
for (const a of b) {
}
while (act()) {
}
switch (a) {
}
try {
} catch (error) {
}
interface Shape {
  readonly a: {
    readonly b: string
  }
}
/** A comment (with a bracket) {
 * => {
 */
`

test('functions are found by the shape of formatted code, and nothing else is taken for one', () => {
  const text = sample.replace(/ \/\/ \d+$/gm, '')
  const wanted = sample
    .split('\n')
    .map((line, index) => [index + 1, Number(/ \/\/ (\d+)$/.exec(line)?.[1] ?? 0)])
    .filter(([, lines]) => lines !== 0)
  assert.deepEqual(
    functionSizes(text).map(({ line, lines }) => [line, lines]),
    wanted,
  )
  assert.deepEqual(
    functionSizes(text).map(({ name }) => name),
    [
      ...['plain', 'withLines', 'destructured', 'withShape', 'arrow', 'inner', 'expression', 'Page', '', 'facts', ''],
      ...['constructor', 'check', 'size', '#own', 'method', 'rows', '', ''],
    ],
  )
})

test('of what is too long, name and lines are told', () => {
  const long = `export function long() {\n${'  act()\n'.repeat(79)}}\n`
  const short = `export function short() {\n${'  act()\n'.repeat(78)}}\n`
  assert.deepEqual(
    [...tooLongFunctions([{ path: 'a.ts', text: long + short + long.replace('  act()', '  act()\n  act()') }])],
    [['a.ts long', 82]],
  )
  const lines = (count: number) => ({ path: `${count}.ts`, text: 'act()\n'.repeat(count) })
  assert.deepEqual([...tooLongFiles([lines(400), lines(401)])], [['401.ts', 401]])
})

test('tests and texts are not measured', () => {
  assert.ok(isMeasured('apps/server/src/app.ts') && isMeasured('tools/run/check.mjs'))
  for (const path of ['apps/server/test/a.test.ts', 'apps/web/src/texts/en.ts', 'tools/test/sizes.test.ts', 'e2e/a.ts'])
    assert.ok(!isMeasured(path), path)
})
