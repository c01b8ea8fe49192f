import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Operation, operations } from '@stackquay/contract'
import { agentTools } from '@stackquay/contract/agent-tools'
import { argumentsOf, operationOf } from '../src/arguments.ts'
import { prompts } from '../src/prompts.ts'
import { ArgumentError, actOf, requestOf } from '../src/request.ts'
import { resourceTemplates } from '../src/resources.ts'
import { listedTools } from '../src/tools.ts'

const acts = agentTools.flatMap((tool) => Object.entries(tool.acts).map(([name, act]) => ({ tool, name, act })))
const toolNamed = (name: string) => agentTools.find((tool) => tool.name === name)!

test('what a client reads before its first question is short: at most 20 tools, in at most 16,000 characters', () => {
  const listed = listedTools()
  assert.ok(listed.length <= 20, String(listed.length))
  const characters =
    JSON.stringify(listed).length + JSON.stringify(prompts).length + JSON.stringify(resourceTemplates).length
  assert.ok(characters <= 16_000, String(characters))
  assert.equal(new Set(listed.map(({ name }) => name)).size, listed.length)
  for (const { name, description } of listed) assert.match(name, /^[a-z_]{1,40}$/, description)
})

test('whatever an operation declares to remove takes two calls, or says why it is harmless here', () => {
  for (const { tool, name, act } of acts) {
    const { removes } = operationOf(act.operation)
    if (removes === undefined) continue
    assert.ok(act.confirm !== undefined || act.harmless !== undefined, `${tool.name} ${name}`)
  }
  assert.deepEqual(
    acts.filter(({ act }) => act.harmless !== undefined).map(({ act }) => act.operation),
    ['queryDatabase'],
    'a new exception is a decision',
  )
})

test('annotations are true to the operations: what only reads says so, and what can destroy says so', () => {
  for (const { name, annotations } of listedTools()) {
    const tool = agentTools.find((one) => one.name === name)
    if (tool === undefined) continue
    const own = Object.values(tool.acts).map((act) => ({ act, operation: operationOf(act.operation) }))
    const changes = own.some(({ act, operation }) => operation.method !== 'GET' && act.harmless === undefined)
    assert.equal(annotations.readOnlyHint, !changes, name)
    const removes = own.some(({ act, operation }) => operation.removes !== undefined && act.harmless === undefined)
    if (removes) assert.equal(annotations.destructiveHint, true, name)
    if (annotations.readOnlyHint) assert.equal(annotations.destructiveHint, false, name)
  }
  const hints = Object.fromEntries(listedTools().map(({ name, annotations }) => [name, annotations]))
  assert.equal(hints.exec_command?.destructiveHint, true)
  assert.equal(hints.confirm?.destructiveHint, true)
  assert.equal(hints.read_logs?.readOnlyHint, true)
})

test('no tool leads to what no token may do, to credentials, or to the secrets of anybody', () => {
  const used = new Set([...acts.map(({ act }) => act.operation), ...agentTools.flatMap(({ reads = [] }) => reads)])
  for (const id of used) {
    const operation: Operation = operations[id]
    assert.notEqual(operation.access.kind, 'public', id)
    assert.ok(operation.access.kind === 'scope' && operation.access.session !== true, id)
    assert.doesNotMatch(id, /Credentials|SecretKey|EnvValue|Token|Session|User|Password|Ticket/, id)
    assert.equal(operation.stream, undefined, id)
  }
})

test('every argument stands in its operation, and every text is of an argument', () => {
  for (const { tool, name, act } of acts) assert.doesNotThrow(() => argumentsOf(act), `${tool.name} ${name}`)
  for (const tool of agentTools) {
    const { properties } = listedTools().find(({ name }) => name === tool.name)!.inputSchema
    for (const argument of Object.keys(tool.texts ?? {})) assert.ok(argument in properties, `${tool.name}: ${argument}`)
  }
})

test('arguments go where the operation wants them', () => {
  const tool = toolNamed('control_project')
  const args = { project: 'shop', action: 'start', workload: 'web' }
  const { act } = actOf(tool, args)
  assert.deepEqual(requestOf(tool, act, args), {
    operation: 'startProject',
    params: { id: 'shop' },
    query: { wait: '30' },
    body: { workload: 'web' },
    headers: {},
  })
  const logs = toolNamed('read_logs')
  const asked = { project: 'shop', limit: 5, regex: true, q: 'a' }
  assert.deepEqual(requestOf(logs, actOf(logs, asked).act, asked).query, { limit: '5', regex: 'true', q: 'a' })
  const files = toolNamed('change_files')
  const written = { project: 'shop', action: 'replace', path: 'a', content: 'x', etag: 'abc' }
  const { body, headers } = requestOf(files, actOf(files, written).act, written)
  assert.deepEqual({ body, headers }, { body: 'x', headers: { 'if-match': '"abc"' } })
})

test('arguments that are no arguments are told, with those that are', () => {
  const refused = (name: string, args: object) => {
    const tool = toolNamed(name)
    try {
      requestOf(tool, actOf(tool, args as never).act, args as never)
    } catch (error) {
      assert.ok(error instanceof ArgumentError, String(error))
      return error.message
    }
    throw new Error('it was not refused')
  }
  assert.match(refused('read_logs', { project: 'shop', lines: 5 }), /no argument "lines".*limit/)
  assert.match(refused('control_project', { project: 'shop', action: 'explode' }), /must be one of: start, stop/)
  assert.match(refused('control_project', { action: 'start' }), /needs "project" for action start/)
  assert.match(
    refused('control_project', { project: 'shop', action: 'stop', run: 'run_1' }),
    /"run" is no argument for action stop/,
  )
  assert.match(refused('read_files', { project: 'shop', what: 'constructor', path: '' }), /must be one of/)
  assert.match(refused('change_files', { project: 'shop', action: 'replace', path: 'a', content: 'x' }), /needs "etag"/)
  assert.match(refused('change_files', { project: 'shop', action: 'create', path: 'a', content: 5 }), /as a text/)
  assert.match(refused('change_project', { project: 'shop', changes: [] }), /must be an object/)
  assert.match(refused('read_logs', { project: { $ne: null } }), /must be a text/)
})
