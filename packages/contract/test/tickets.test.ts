import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationList } from '../src/index.ts'
import { openapiDocument, resolved } from '../src/openapi.ts'

test('tickets begin exactly these', () => {
  const taking = (kind: string) =>
    operationList
      .filter(({ ticket }) => ticket === kind)
      .map(({ id }) => id)
      .sort()
  assert.deepEqual(taking('stream'), [
    'openTerminal',
    'streamEvents',
    'watchAction',
    'watchEvents',
    'watchExec',
    'watchProjectLogs',
    'watchProjectStats',
    'watchRun',
    'watchTerminal',
    'watchTests',
  ])
  assert.deepEqual(taking('view'), ['getMailHtml'])
  assert.deepEqual(taking('download'), [
    'archiveFolder',
    'downloadAnyBackup',
    'downloadBackup',
    'downloadInstanceBackup',
    'downloadLogs',
    'exportAudit',
    'exportDatabase',
    'exportTable',
    'getMailAttachment',
    'getMailSource',
    'getMetrics',
    'getRunOutput',
    'readFile',
  ])
})

test('a ticket begins reads alone, and whatever a browser cannot ask for with a header takes one', () => {
  for (const { id, method, access, stream, ticket, resultType } of operationList) {
    if (ticket !== undefined) {
      assert.equal(method, 'GET', id)
      assert.notEqual(access.kind, 'public', id)
    }
    const opened = method === 'GET' && access.kind !== 'public' && (stream !== undefined || resultType !== undefined)
    assert.equal(ticket !== undefined, opened, id)
  }
})

test('the OpenAPI document shows what takes a ticket', () => {
  const document = openapiDocument('0.0.0')
  const { paths } = document
  const { get } = paths['/api/v1/projects/{id}/logs/download'] as {
    get: { 'x-stackquay-ticket': string; parameters: readonly { name: string; in: string }[] }
  }
  assert.equal(get['x-stackquay-ticket'], 'download')
  assert.ok(
    get.parameters
      .map((parameter) => resolved(document, parameter))
      .some(({ name, in: place }) => name === 'ticket' && place === 'query'),
  )
  const { get: me } = paths['/api/v1/auth/me'] as { get: object }
  assert.ok(!('x-stackquay-ticket' in me))
})
