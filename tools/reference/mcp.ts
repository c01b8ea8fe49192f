import { operations } from '@stackquay/contract'
import { type AgentTool, agentTools } from '@stackquay/contract/agent-tools'
import { prompts } from '@stackquay/mcp/prompts'
import { resourceTemplates } from '@stackquay/mcp/resources'
import { listedTools } from '@stackquay/mcp/tools'
import { page, table } from './page.ts'

/** Every tool that is offered over MCP, with the operations that it is made of. */
export function mcpReference(): string {
  const listed = listedTools()
  return page(
    'MCP tools',
    '`packages/contract/src/agent-tools.ts`',
    'Each tool is one or more operations of the [API](api.md), with the rights of the token. *Plan* marks what takes two calls ([how](mcp.md#plans)).',
    ...listed.map(({ name, title, description, annotations }) => {
      const tool = agentTools.find((one) => one.name === name)
      const hints = [
        annotations.readOnlyHint ? 'only reads' : '',
        annotations.destructiveHint ? 'can destroy' : '',
        annotations.openWorldHint ? 'reaches beyond the service' : '',
      ].filter((hint) => hint !== '')
      const said = hints.length === 0 ? '' : ` _(${hints.join('; ')})_`
      return [`## ${name}`, `${title}. ${description}${said}`, ...(tool === undefined ? [] : [actsTable(tool)])].join(
        '\n\n',
      )
    }),
    `## Resources\n\n${table(
      ['Address', 'What'],
      resourceTemplates.map(({ uriTemplate, title }) => [`\`${uriTemplate}\``, title]),
    )}`,
    `## Prompts\n\n${table(
      ['Prompt', 'What'],
      prompts.map(({ name, description }) => [`\`${name}\``, description]),
    )}`,
  )
}

function actsTable({ acts, selector }: AgentTool): string {
  const rows = Object.entries(acts).map(([name, { operation, confirm }]) => {
    const { access } = operations[operation]
    const plan =
      confirm === undefined
        ? ''
        : { always: 'always', removals: 'when it removes', destructive: 'when it destroys' }[confirm]
    return [
      selector === undefined ? '' : `\`${name}\``,
      `\`${operation}\``,
      access.kind === 'scope' ? access.scope : '',
      plan,
    ]
  })
  return table([selector === undefined ? '' : `\`${selector}\``, 'Operation', 'Scope', 'Plan'], rows)
}
