import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const app = new URL('../src/app.ts', import.meta.url).href
/** Prints the address of each module that the service imports to start. */
const script = `
import { registerHooks } from 'node:module'
const urls = []
registerHooks({ resolve: (name, context, next) => { const found = next(name, context); urls.push(found.url); return found } })
await import(${JSON.stringify(app)})
console.log(JSON.stringify(urls))`

test('a service that is started has none of the libraries in its memory that it may never need', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    maxBuffer: 16 << 20,
  })
  const urls = JSON.parse(stdout) as string[]
  const from = (library: string) => urls.filter((url) => url.includes(`/node_modules/${library}/`))
  assert.ok(from('kysely').length > 0, 'nothing was heard of imports')
  for (const library of ['yaml', 'htmlparser2', '@node-rs/argon2', 'dockerode', 'mailparser', '@modelcontextprotocol'])
    assert.deepEqual(from(library), [], library)
})
