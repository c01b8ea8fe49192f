import { type Access, apiPrefix, type Operation, operationList } from '@stackquay/contract'
import { page, table } from './page.ts'

/** Every operation: how it is called, who may, what it answers, which problems are its own. */
export function apiReference(): string {
  const tags = [...new Set(operationList.map((operation) => operation.tag))]
  return page(
    'API reference',
    '`packages/contract`',
    `All paths are below \`${apiPrefix}\`. The same description for programs is [openapi.json](../openapi.json), which the service answers at ` +
      `\`${apiPrefix}/openapi.json\`; a running service shows it as a page at \`/api/docs\`. Errors are [problems](problems.md). ` +
      'Besides those named here, every operation may answer the problems of authentication, of a malformed request and of the service itself.',
    ...tags.flatMap((tag) => [`## ${tag}`, ...operationList.filter((operation) => operation.tag === tag).map(section)]),
  )
}

function section(operation: Operation): string {
  const facts = [
    `Access: ${accessText(operation.access)}.`,
    ...(operation.stream === undefined
      ? []
      : [operation.stream === 'sse' ? 'Answers server-sent events.' : 'Answers WebSocket frames.']),
    ...(operation.ticket === undefined
      ? []
      : [
          operation.ticket === 'download'
            ? 'A browser session opens it with a ticket and may go on by range.'
            : 'A browser session opens it with a ticket.',
        ]),
    ...(operation.dryRun === true ? ['Takes `?dryRun=true` and then answers the plan, having written nothing.'] : []),
    ...(operation.audit === undefined ? [] : [`Recorded as \`${operation.audit}\`.`]),
    `Answers ${Object.keys(operation.results).join(', ')}.`,
    ...(operation.problems.length === 0
      ? []
      : [`Problems: ${operation.problems.map((code) => `[\`${code}\`](problems.md#${code})`).join(', ')}.`]),
  ]
  const parts = [
    `### ${operation.id}`,
    `\`${operation.method} ${operation.path}\``,
    `${operation.summary}.${operation.description === undefined ? '' : ` ${operation.description}`}`,
    facts.join(' '),
  ]
  const query = Object.entries(operation.query?.shape ?? {}) as [string, { description?: string | undefined }][]
  if (query.length > 0)
    parts.push(
      table(
        ['Query', 'Meaning'],
        query.map(([name, schema]) => [`\`${name}\``, schema.description ?? '']),
      ),
    )
  return parts.join('\n\n')
}

function accessText(access: Access): string {
  if (access.kind === 'public') return 'public'
  const session = access.session === true ? ', a browser session only' : ''
  const raised = (access.raised ?? []).map(({ to, because }) => `scope \`${to}\` when ${because}`)
  if (access.kind === 'authenticated') return [`whoever is logged in${session}`, ...raised].join('; ')
  const limits = [
    ...(access.instance === true ? ['closed to tokens that are restricted to projects'] : []),
    ...(access.unrestricted === true ? ['a token must not be restricted to projects'] : []),
  ]
  return [`scope \`${access.scope}\`${session}`, ...raised, ...limits].join('; ')
}
