import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stq } from './run-stq.ts'
import { answerProblem, emptyPlan, problem, project, standIn } from './stand-in.ts'

const main = { type: 'postgresql', version: '15', exposePort: false, primary: true, hostPort: 20_010 }
const path = '/projects/shop/databases/main'
const asks = problem(422, 'validation_failed', {
  errors: [{ pointer: '/databases/main/removeData', code: 'confirm', detail: 'What was written since is lost.' }],
})

test('against a stand-in: an upgrade shows its plan, then is carried out', async () => {
  await using service = await standIn({
    [`PATCH ${path}`]: ({ query }) => (query.has('dryRun') ? { plan: emptyPlan } : project()),
    [`GET /projects/${project().id}`]: () => project({ databases: { main: { ...main, version: '18' } } }),
  })
  const options = { url: service.url }
  const { code, stderr } = await stq(['db', 'upgrade', 'shop', 'main', '--to', '18'], options)
  assert.equal(code, 0, stderr)
  assert.deepEqual(
    service.calls.filter(({ method }) => method === 'PATCH').map(({ query, body }) => [query.has('dryRun'), body]),
    [
      [true, { version: '18' }],
      [false, { version: '18' }],
    ],
  )
  assert.match(stderr, /main is version 18/)
  const dry = await stq(['db', 'upgrade', 'shop', 'main', '--to', '18', '--dry-run', '--json'], options)
  assert.deepEqual([dry.code, JSON.parse(dry.stdout)], [0, { plan: emptyPlan }])
  assert.equal(service.calls.filter(({ method }) => method === 'PATCH').length, 3)
})

test('against a stand-in: back to an earlier version needs the name, and only then says that data goes', async () => {
  const loses = { ...emptyPlan, deletesData: ['postgresql-main'] }
  await using service = await standIn({
    [`PATCH ${path}`]: ({ query, body }, response) => {
      if ((body as { removeData?: boolean }).removeData !== true) return answerProblem(response, asks)
      return query.has('dryRun') ? { plan: loses } : project()
    },
    [`GET /projects/${project().id}`]: () => project({ databases: { main } }),
  })
  const options = { url: service.url }
  const back = ['db', 'upgrade', 'shop', 'main', '--to', '15']
  const unsaid = await stq(back, options)
  assert.equal(unsaid.code, 2)
  assert.match(unsaid.stderr, /deletes data: postgresql-main[\s\S]*--confirm main/)
  const wrong = await stq([...back, '--confirm', 'other'], options)
  assert.deepEqual([wrong.code, service.calls.some(({ query }) => !query.has('dryRun'))], [2, false])
  const { code, stderr } = await stq([...back, '--confirm', 'main'], options)
  assert.equal(code, 0, stderr)
  const sent = service.calls.findLast(({ method }) => method === 'PATCH')
  assert.deepEqual(sent?.body, { version: '15', removeData: true })
  assert.match(stderr, /main is version 15/)
})

test('against a stand-in: what is refused otherwise is told', async () => {
  await using service = await standIn({
    [`PATCH ${path}`]: (_call, response) =>
      answerProblem(response, problem(422, 'engine_cannot', { hint: 'apt-get install' })),
  })
  const { code, stderr } = await stq(['db', 'upgrade', 'shop', 'main', '--to', '18'], { url: service.url })
  assert.notEqual(code, 0)
  assert.match(stderr, /apt-get install/)
})
