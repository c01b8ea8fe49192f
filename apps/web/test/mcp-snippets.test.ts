import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mcpClients, mcpSnippet } from '../src/lib/mcp-snippets.ts'
import { en } from '../src/texts/en.ts'

const service = { origin: 'https://quay.example.org', token: 'stq_abc' }

test('each client gets the address and the token, in the form that it reads', () => {
  for (const client of mcpClients) {
    const { file, code } = mcpSnippet(client, service)
    assert.ok(code.includes(service.origin), client)
    assert.ok(code.includes(service.token), client)
    if (file?.endsWith('.json')) assert.equal(typeof JSON.parse(code), 'object', client)
    assert.ok(en.tokens.mcp.clients[client].length > 0)
  }
})

test('clients that speak HTTP are sent to /mcp, others start stq with the service in its environment', () => {
  const { servers } = JSON.parse(mcpSnippet('vsCode', service).code)
  assert.deepEqual(servers.stackquay, {
    type: 'http',
    url: 'https://quay.example.org/mcp',
    headers: { Authorization: 'Bearer stq_abc' },
  })
  const { mcpServers } = JSON.parse(mcpSnippet('desktop', service).code)
  assert.deepEqual(mcpServers.stackquay, {
    command: 'stq',
    args: ['mcp'],
    env: { STACKQUAY_URL: 'https://quay.example.org', STACKQUAY_TOKEN: 'stq_abc' },
  })
  assert.match(
    mcpSnippet('claudeCode', service).code,
    /^claude mcp add --transport http stackquay https:\S+\/mcp --header "/,
  )
})
