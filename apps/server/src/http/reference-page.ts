import { type Access, operationList, problemKinds } from '@stackquay/contract'
import { type OpenapiDocument, problemCodesOf, resolved } from '@stackquay/contract/openapi'
import { referenceStyle } from './reference-style.ts'

/** The OpenAPI document as one page: no script, nothing loaded, so it needs no exception from the page's policy. */
export function referencePage(document: OpenapiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      ...expanded(document, operation as OperationView),
    })),
  )
  const groups = document.tags.map(({ name }) => ({
    name,
    operations: operations.filter(({ tags }) => tags.includes(name)),
  }))
  const schemas = Object.entries(document.components.schemas)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Stackquay API ${escapeHtml(document.info.version)}</title>
<style>${referenceStyle}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the reference</a>
<nav aria-label="Operations">
<p class="brand">Stackquay <span>API ${escapeHtml(document.info.version)}</span></p>
${groups.map(({ name, operations }) => `<h2>${escapeHtml(name)}</h2>\n<ul>${operations.map(navigationItem).join('')}</ul>`).join('\n')}
<h2><a href="#problems">Problems</a></h2>
<h2><a href="#schemas">Schemas</a></h2>
</nav>
<main id="content">
<h1>API reference</h1>
<p>${escapeHtml(String(document.info.description))} For programs the same stands in <a href="/api/v1/openapi.json">openapi.json</a>.</p>
<p>Scripts send an API token: <code>Authorization: Bearer stq_…</code>. A browser session sends its cookie together with the header <code>X-CSRF-Token</code>; where no header can be sent, a ticket.</p>
${groups.map(({ name, operations }) => `<h2 class="group">${escapeHtml(name)}</h2>\n${operations.map(operationSection).join('\n')}`).join('\n')}
<h2 class="group" id="problems">Problems</h2>
<p>Errors are <code>application/problem+json</code> with <code>code</code>, <code>detail</code>, <code>hint</code>, <code>requestId</code> and <code>retryable</code>; for fields all together in <code>errors</code>.</p>
${problemTable()}
<h2 class="group" id="schemas">Schemas</h2>
${schemas.map(schemaSection).join('\n')}
</main>
</body>
</html>
`
}

/** The same with what it refers to put in its place. */
function expanded(document: OpenapiDocument, operation: OperationView): OperationView {
  return {
    ...operation,
    parameters: (operation.parameters ?? []).map((parameter) => resolved(document, parameter)),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, response]) => [status, resolved(document, response)]),
    ),
  }
}

interface OperationView {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly 'x-stackquay-access': Access
  readonly 'x-stackquay-audit'?: string
  readonly 'x-stackquay-stream'?: string
  readonly 'x-stackquay-ticket'?: string
  readonly 'x-stackquay-problems'?: readonly string[]
  readonly parameters?: readonly { name: string; in: string; required?: true; description?: string; schema: Schema }[]
  readonly requestBody?: { required?: true; content: Content }
  readonly responses: Readonly<
    Record<string, { description: string; content?: Content; 'x-stackquay-problems'?: readonly string[] }>
  >
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>
type Placed = OperationView & { readonly path: string; readonly method: string }

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly description?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

function navigationItem({ operationId, method, path }: Placed): string {
  return `<li><a href="#${operationId}"><b class="${method}">${method}</b><span>${escapeHtml(short(path))}</span></a></li>`
}

function operationSection(operation: Placed): string {
  const { operationId, method, path, summary, description, parameters = [], requestBody, responses } = operation
  const answers = Object.entries(responses).filter(([, { 'x-stackquay-problems': problems }]) => problems === undefined)
  const problems = problemCodesOf(operationList.find(({ id }) => id === operationId)!)
  return `<section class="operation" id="${operationId}" aria-labelledby="${operationId}-title">
<h3 id="${operationId}-title">${escapeHtml(summary)}</h3>
<p class="line"><b class="${method}">${method}</b> <code>${escapeHtml(path)}</code></p>
${description === undefined ? '' : `<p>${escapeHtml(description)}</p>\n`}<p class="access">${escapeHtml(accessText(operation))}</p>
${parameters.length === 0 ? '' : `<h4>Parameters</h4>\n${table(parameters.map((parameter) => [code(parameter.name), escapeHtml(parameter.in), typeText(parameter.schema), notes(parameter.schema, parameter.description, parameter.required)]))}\n`}${requestBody === undefined ? '' : `<h4>Body${requestBody.required ? '' : ', optional'}</h4>\n${contentView(requestBody.content)}\n`}<h4>Answers</h4>
${answers.map(([status, answer]) => `<div class="answer"><p><b>${status}</b> ${escapeHtml(answer.description)}</p>${answer.content === undefined ? '' : contentView(answer.content)}</div>`).join('\n')}
${problems.length === 0 ? '' : `<p class="problems">Problems: ${problems.map((name) => `<a href="#problem-${name}">${name}</a>`).join(' ')}</p>\n`}</section>`
}

function accessText({
  'x-stackquay-access': access,
  'x-stackquay-audit': audit,
  'x-stackquay-stream': stream,
  'x-stackquay-ticket': ticket,
}: Placed): string {
  return [
    whoMay(access),
    ...(audit === undefined ? [] : [`Audited as ${audit}.`]),
    ...(stream === 'websocket' ? ['A WebSocket.'] : stream === 'sse' ? ['Server-sent events.'] : []),
    ...(ticket === undefined ? [] : ['A browser session opens it with a ticket.']),
  ].join(' ')
}

function whoMay(access: Access): string {
  return [whoMayAtAll(access), ...raisesOf(access)].join(' ')
}

function raisesOf(access: Access): readonly string[] {
  if (access.kind === 'public') return []
  return (access.raised ?? []).map(({ to, because }) => `Needs scope ${to} when ${because}.`)
}

function whoMayAtAll(access: Access): string {
  switch (access.kind) {
    case 'public':
      return 'Open to everybody.'
    case 'authenticated':
      return access.session ? 'Needs a browser session.' : 'Needs any valid credentials.'
    case 'scope':
      return [
        `Needs scope ${access.scope}.`,
        ...(access.session ? ['Needs a browser session.'] : []),
        ...(access.instance ? ['Closed to tokens restricted to projects.'] : []),
        ...(access.unrestricted ? ['Not possible with a token restricted to projects.'] : []),
      ].join(' ')
    default:
      return access satisfies never
  }
}

function contentView(content: Content): string {
  const [[type, media] = ['', { schema: {} }]] = Object.entries(content)
  const others = Object.keys(content).slice(1)
  const label =
    type === 'application/json' && others.length === 0
      ? ''
      : `<p class="media">${[type, ...others].map(code).join(' or ')}</p>`
  return `${label}${schemaView(media.schema)}`
}

/** An object as a table of its fields; anything else as one line. */
function schemaView(schema: Schema): string {
  const { properties, required } = fieldsOf(schema)
  if (properties === undefined) return `<p>${typeText(schema)} ${notes(schema, schema.description)}</p>`
  const rows = Object.entries(properties).map(([name, field]) => [
    code(name),
    typeText(field),
    notes(field, field.description, required?.includes(name)),
  ])
  const base = schema.allOf?.[0]
  const inherited = base === undefined ? '' : `<p>All fields of ${typeText(base)}, and:</p>`
  return inherited + (rows.length === 0 ? '<p>An object.</p>' : table(rows))
}

/** Its own fields: of an object that extends another, those that it adds. */
function fieldsOf(schema: Schema): Pick<Schema, 'properties' | 'required'> {
  return schema.allOf === undefined ? schema : (schema.allOf.find(({ properties }) => properties !== undefined) ?? {})
}

function schemaSection([name, schema]: readonly [string, unknown]): string {
  return `<details id="schema-${escapeHtml(name)}"><summary>${escapeHtml(name)}</summary>${schemaView(schema as Schema)}</details>`
}

function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice('#/components/schemas/'.length)
    return `<a href="#schema-${escapeHtml(name)}">${escapeHtml(name)}</a>`
  }
  const branches = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (branches !== undefined) return branches.map(typeText).join(' or ')
  if (schema.enum !== undefined) return schema.enum.map((value) => code(JSON.stringify(value))).join(' ')
  if (schema.const !== undefined) return code(JSON.stringify(schema.const))
  if (schema.items !== undefined) return `list of ${typeText(schema.items)}`
  if (typeof schema.additionalProperties === 'object' && schema.properties === undefined)
    return `map of ${typeText(schema.additionalProperties)}`
  if (schema.properties !== undefined)
    return `<details class="inline"><summary>object</summary>${schemaView(schema)}</details>`
  return (
    escapeHtml([schema.type ?? 'any'].flat().join(' or ')) +
    (schema.format === undefined ? '' : ` (${escapeHtml(schema.format)})`)
  )
}

function notes(schema: Schema, description: string | undefined, required?: boolean): string {
  const { minimum, maximum, minLength, maxLength, pattern, default: fallback } = schema
  return [
    ...(required ? ['<b class="required">required</b>'] : []),
    ...(description === undefined ? [] : [escapeHtml(description)]),
    ...bounds(minimum, maximum, ''),
    ...bounds(minLength, maxLength, ' characters'),
    ...(pattern === undefined ? [] : [code(pattern)]),
    ...(fallback === undefined ? [] : [`default ${code(JSON.stringify(fallback))}`]),
  ].join(' ')
}

function bounds(low: number | undefined, high: number | undefined, unit: string): string[] {
  if (low === undefined && high === undefined) return []
  if (high === undefined) return [`at least ${low}${unit}`]
  return [low === undefined ? `at most ${high}${unit}` : `${low} to ${high}${unit}`]
}

function problemTable(): string {
  const rows = Object.entries(problemKinds).map(([name, { status, title, hint, retryable }]) => [
    `<code id="problem-${name}">${name}</code>`,
    String(status),
    escapeHtml(`${title}. ${hint}`),
    retryable ? 'waiting may help' : '',
  ])
  return table(rows)
}

function table(rows: readonly (readonly string[])[]): string {
  return `<div class="scroll"><table>${rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('')}</table></div>`
}

function short(path: string): string {
  return path.replace('/api/v1', '')
}

function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
