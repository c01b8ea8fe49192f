import { client } from './client/client.gen.ts'
import { createProject, getMe, getProject, listProjects } from './client/sdk.gen.ts'

// The client of @hey-api/openapi-ts. Arguments: the address of the service and a token.
const [, , baseUrl = '', token = ''] = process.argv
client.setConfig({ baseUrl, auth: (scheme) => (scheme.type === 'http' ? token : undefined) })

const list = await listProjects({ query: { limit: 10 } })
const made = await createProject({ body: { name: 'Made by hey-api', start: false }, query: { wait: 30 } })
// With `dryRun` it would be the plan.
if (made.data === undefined || !('slug' in made.data)) throw new Error(JSON.stringify(made.error))
const read = await getProject({ path: { id: made.data.id } })
const missing = await getProject({ path: { id: 'nowhere' } })
const me = await getMe()

const before: readonly string[] | undefined = list.data?.items.map(({ slug }) => slug)
// The tag of the answer says which shape it has.
const scope = me.data?.kind === 'token' ? me.data.scope : undefined
const { name, status } = read.data ?? {}
console.log(JSON.stringify({ before, name, state: status?.state, problem: missing.error?.code, scope }))
