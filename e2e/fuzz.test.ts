import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const run = fileURLToPath(new URL('../tools/run.mjs', import.meta.url))

// Where the fuzzer cannot be installed this fails: a promise that was not looked at is not kept.
/** Always the same requests, so that a failure is that of a change; `npm run fuzz` thinks of new ones each time. */
const seed = 20_261_122

test('a fuzzer that reads the description of the API finds no 5xx and no answer that differs from it', {
  timeout: 480_000,
}, async (t) => {
  const child = spawn(process.execPath, [run, 'fuzz', '--quick', `--seed=${seed}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill())
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const [code] = await once(child, 'close')
  assert.equal(code, 0, output)
  const requests = Number(/^(\d+) requests in all\.$/m.exec(output)?.[1])
  assert.ok(requests >= 3_000, output)
  t.diagnostic(`${requests} requests, seed ${seed}`)
})
