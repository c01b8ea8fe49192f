import createClient from 'openapi-fetch'
import type { paths } from './schema.d.ts'

// Types of openapi-typescript, called with openapi-fetch. Arguments: the address of the service and a token.
const [, , baseUrl = '', token = ''] = process.argv
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } })

const list = await client.GET('/api/v1/projects', { params: { query: { limit: 10 } } })
const body = { name: 'Made by openapi-typescript', start: false }
const made = await client.POST('/api/v1/projects', { body, params: { query: { wait: 30 } } })
// With `dryRun` it would be the plan.
if (made.data === undefined || !('slug' in made.data)) throw new Error(JSON.stringify(made.error))
const read = await client.GET('/api/v1/projects/{id}', { params: { path: { id: made.data.id } } })
const missing = await client.GET('/api/v1/projects/{id}', { params: { path: { id: 'nowhere' } } })
const me = await client.GET('/api/v1/auth/me')

const before: readonly string[] | undefined = list.data?.items.map(({ slug }) => slug)
const state: 'stopped' | 'running' | string | undefined = read.data?.status.state
// The tag of the answer says which shape it has.
const scope = me.data?.kind === 'token' ? me.data.scope : undefined
console.log(JSON.stringify({ before, name: read.data?.name, state, problem: missing.error?.code, scope }))
