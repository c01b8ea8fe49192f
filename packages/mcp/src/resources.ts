import { problemKinds } from '@stackquay/contract'
import type { Caller } from './caller.ts'
import { lineTexts } from './composites.ts'
import { cut } from './output.ts'

/** What a client shows beside the conversation: read only, by the same rights. */
export const resourceTemplates = [
  {
    uriTemplate: 'stackquay://projects/{project}/logs',
    name: 'logs',
    title: 'Newest log lines of a project',
    mimeType: 'text/plain',
  },
  {
    uriTemplate: 'stackquay://projects/{project}/stackquay.yml',
    name: 'project-file',
    title: 'Project file; secrets by name only',
    mimeType: 'application/yaml',
  },
  {
    uriTemplate: 'stackquay://problems/{code}',
    name: 'problem',
    title: 'What a problem code means, and what to do',
    mimeType: 'text/markdown',
  },
]

export interface ListedResource {
  readonly [key: string]: unknown
  readonly uri: string
  readonly name: string
  readonly title: string
  readonly mimeType: string
}

/** Of the first projects; those of others are made from the templates. */
export async function listedResources(caller: Caller): Promise<readonly ListedResource[]> {
  const { json } = await caller.call({ operation: 'listProjects', params: {}, query: { limit: '50' } })
  const { items = [] } = (json ?? {}) as { items?: readonly { slug: string; name: string }[] }
  return items.flatMap(({ slug, name }) => [
    {
      uri: `stackquay://projects/${slug}/logs`,
      name: `${slug} logs`,
      title: `Logs of ${name}`,
      mimeType: 'text/plain',
    },
    {
      uri: `stackquay://projects/${slug}/stackquay.yml`,
      name: `${slug} stackquay.yml`,
      title: `Project file of ${name}`,
      mimeType: 'application/yaml',
    },
  ])
}

/** The text, or null where there is nothing; what may not be read is refused as the API does. */
export async function readResource(uri: string, caller: Caller): Promise<{ text: string; mimeType: string } | null> {
  const [, kind, name = '', part] = /^stackquay:\/\/(projects|problems)\/([^/]{1,60})(?:\/(.+))?$/.exec(uri) ?? []
  if (kind === 'problems') return part === undefined ? problemPage(name) : null
  if (kind !== 'projects') return null
  const params = { id: decodedOr(name) }
  if (part === 'logs') {
    const answer = await caller.call({ operation: 'getProjectLogs', params, query: { limit: '100' } })
    if (answer.status !== 200) throw new ResourceRefused(answer.json)
    const lines = await caller.mask(lineTexts(answer), [params.id])
    return { text: cut(lines.join('\n'), 'Read them with read_logs.'), mimeType: 'text/plain' }
  }
  if (part === 'stackquay.yml') {
    const answer = await caller.call({ operation: 'getManifest', params, query: {} })
    if (answer.status !== 200) throw new ResourceRefused(answer.json)
    const text = await caller.mask(String((answer.json as { manifest: unknown }).manifest), [params.id])
    return { text: cut(text), mimeType: 'application/yaml' }
  }
  return null
}

export class ResourceRefused extends Error {
  override readonly name = 'ResourceRefused'

  constructor(problem: unknown) {
    const { code, detail } = (problem ?? {}) as { code?: string; detail?: string }
    super(`${code ?? 'refused'}: ${detail ?? 'It cannot be read.'}`)
  }
}

function problemPage(code: string): { text: string; mimeType: string } | null {
  if (!Object.hasOwn(problemKinds, code)) return null
  const { status, title, hint, retryable } = problemKinds[code as keyof typeof problemKinds]
  const again = retryable ? 'The same request may succeed later.' : 'The same request would be refused again.'
  return { text: `# ${code}\n\n${title} (HTTP ${status}).\n\n${hint}\n\n${again}\n`, mimeType: 'text/markdown' }
}

function decodedOr(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
