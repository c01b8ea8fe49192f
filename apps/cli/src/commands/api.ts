import { randomUUID } from 'node:crypto'
import type { Method } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { usageError } from '../errors.ts'
import { jsonText } from '../output/json.ts'
import { readAllInput } from '../prompt.ts'

interface ApiFlags {
  readonly data?: string
}

const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

export const define: Define = (command, context) =>
  command
    .argument('<method>', methods.join(', '))
    .argument('<path>', 'below /api/v1, with its query: /projects?limit=5')
    .option('-d, --data <json>', 'the body; "-" reads it from standard input')
    .addHelpText(
      'after',
      `
The answer is printed as JSON. The reference of the API is at /api/docs of the service.

  stq api GET /projects/shop
  stq api PATCH /projects/shop --data '{"node": {"version": "24"}}'`,
    )
    .action((method: string, path: string, flags: ApiFlags) => run(context(), method, path, flags))

async function run(context: Context, methodText: string, pathText: string, flags: ApiFlags): Promise<void> {
  const method = methods.find((each) => each === methodText.toUpperCase())
  if (method === undefined) throw usageError(`"${methodText}" is not a method.`, `One of: ${methods.join(', ')}`)
  const path = `/${pathText.replace(/^\/?(api\/v1\/)?/, '')}`
  const body = await bodyOf(context, method, flags)
  const client = await context.client()
  const key = method === 'POST' ? { idempotencyKey: randomUUID() } : {}
  const { data } = await client.request({ method, path, body }, { signal: context.signal, ...key })
  if (data !== undefined) context.world.stdout.write(`${jsonText(data, 2)}\n`)
}

async function bodyOf(context: Context, method: Method, { data }: ApiFlags): Promise<unknown> {
  if (data === undefined) return undefined
  if (method === 'GET') throw usageError('GET has no body.')
  const text = data === '-' ? await readAllInput(context.world) : data
  try {
    return JSON.parse(text)
  } catch (error) {
    throw usageError(`The body is not JSON: ${error instanceof Error ? error.message : error}`)
  }
}
