import type { Operation } from '../operation.ts'
import type { Json } from './json.ts'

interface Described {
  readonly operation: Operation
  readonly description: Record<string, unknown>
}

type Named = Record<string, Json>

/**
 * Parameters and responses that more than one operation has go to `components`, under a name; the operations then refer
 * to them. Changes the descriptions that it is given. Some generators make types of all components: no name of a schema is
 * used again.
 */
export function hoist(
  described: readonly Described[],
  schemas: readonly string[],
): { parameters: Named; responses: Named } {
  const parameters = createShelf(
    described.flatMap(({ operation, description }) =>
      parametersIn(description).map((parameter) => ({ item: parameter, tag: operation.tag })),
    ),
    parameterName,
    'parameters',
    { schemas, suffix: 'Query' },
  )
  const responses = createShelf(
    described.flatMap(({ operation, description }) =>
      Object.entries(description.responses as Named).map(([status, item]) => ({ item, tag: operation.tag, status })),
    ),
    responseName,
    'responses',
    { schemas, suffix: 'Answer' },
  )
  for (const { description } of described) {
    if (description.parameters !== undefined) description.parameters = parametersIn(description).map(parameters.refer)
    description.responses = Object.fromEntries(
      Object.entries(description.responses as Named).map(([status, item]) => [status, responses.refer(item)]),
    )
  }
  return { parameters: parameters.sorted(), responses: responses.sorted() }
}

interface Use {
  readonly item: Json
  readonly tag: string
  readonly status?: string
}

/** The most used item of a name has it; another of the same name adds the tag of its first operation. */
function createShelf(
  uses: readonly Use[],
  nameOf: (use: Use) => string,
  kind: string,
  { schemas, suffix }: { schemas: readonly string[]; suffix: string },
) {
  const groups = Map.groupBy(uses, ({ item }) => JSON.stringify(item))
  const shared = [...groups]
    .filter(([, same]) => same.length > 1)
    .sort(([, one], [, other]) => other.length - one.length)
  const names = new Map<string, string>()
  const shelf = new Map<string, Json>()
  for (const [text, [first]] of shared) {
    const short = nameOf(first!)
    const plain = schemas.includes(short) ? `${short}${suffix}` : short
    const name = shelf.has(plain) ? `${pascal(first!.tag)}${plain}` : plain
    if (shelf.has(name)) throw new Error(`Two of the ${kind} want the name ${name}.`)
    shelf.set(name, first!.item)
    names.set(text, name)
  }
  return {
    refer: (item: Json): Json => {
      const name = names.get(JSON.stringify(item))
      return name === undefined ? item : { $ref: `#/components/${kind}/${name}` }
    },
    sorted: (): Named => Object.fromEntries([...shelf].sort(([one], [other]) => (one < other ? -1 : 1))),
  }
}

function parametersIn(description: Record<string, unknown>): readonly Json[] {
  return (description.parameters ?? []) as readonly Json[]
}

/** `{id}` alone says nothing outside its path. */
function parameterName({ item }: Use): string {
  const name = String(item.name)
  if (item.in !== 'path') return pascal(name)
  return pathNames[name] ?? `${pascal(name)}Path`
}

const pathNames: Readonly<Record<string, string>> = {
  id: 'ProjectId',
  db: 'DatabaseName',
  hook: 'WebhookId',
  channel: 'NotificationChannelId',
  term: 'TerminalId',
  op: 'OperationId',
  run: 'RunId',
  uid: 'UserId',
  message: 'MessageId',
  service: 'ServiceName',
  action: 'ActionId',
  suite: 'SuiteId',
  name: 'VariableName',
}

function responseName({ item, status }: Use): string {
  const content = (item.content ?? {}) as Record<string, { schema: { $ref?: string; anyOf?: { $ref: string }[] } }>
  const [[type = '', media] = []] = Object.entries(content)
  const replayed = 'Idempotency-Replayed' in ((item.headers ?? {}) as object) ? 'Kept' : ''
  if (media === undefined || type === 'application/problem+json') return `${statusNames[status!] ?? ''}${replayed}`
  const { $ref, anyOf } = media.schema
  const name = ($ref ?? anyOf?.[0]?.$ref ?? '').slice('#/components/schemas/'.length)
  const suffix = { '201': 'Created', '202': 'Accepted' }[status!] ?? ''
  return `${name}${name.endsWith(suffix) ? '' : suffix}${anyOf === undefined ? '' : 'OrPlan'}${replayed}`
}

const statusNames: Readonly<Record<string, string>> = {
  101: 'WebSocket',
  204: 'NoContent',
  304: 'NotModified',
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Gone',
  412: 'Changed',
  413: 'TooLarge',
  415: 'WrongType',
  422: 'Invalid',
  428: 'IfMatchMissing',
  429: 'Throttled',
  431: 'HeaderLimit',
  500: 'Failed',
  503: 'Unavailable',
  504: 'Timeout',
  507: 'DiskFull',
}

function pascal(name: string): string {
  return name.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
