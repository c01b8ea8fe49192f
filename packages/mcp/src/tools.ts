import { type AgentAct, type AgentTool, agentTools } from '@stackquay/contract/agent-tools'
import { inputSchemaOf, operationOf } from './arguments.ts'

export interface ListedTool {
  readonly [key: string]: unknown
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: ReturnType<typeof inputSchemaOf>
  readonly annotations: ToolAnnotations
}

/** What a client goes by when it decides whether to ask its person. */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

/** The second call of whatever takes two. */
export const confirmTool: ListedTool = {
  name: 'confirm',
  title: 'Carry out a plan',
  description:
    'Carries out a plan that another tool answered: once, within five minutes, while the project is as it was. Tell the person what it deletes before.',
  inputSchema: { type: 'object', properties: { plan: { type: 'string' } }, required: ['plan'] },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
}

/** Made once: it says the same to everybody, and what a caller may not do is refused when it is tried. */
export function listedTools(): readonly ListedTool[] {
  return [...agentTools.map(listed), confirmTool]
}

function listed(tool: AgentTool): ListedTool {
  const { name, title, description } = tool
  return { name, title, description, inputSchema: inputSchemaOf(tool), annotations: annotationsOf(tool) }
}

export function annotationsOf({ acts, openWorld }: AgentTool): ToolAnnotations {
  const all = Object.values(acts)
  return {
    readOnlyHint: all.every(isRead),
    destructiveHint: all.some(mayDestroy),
    idempotentHint: all.every((act) => isRead(act) || operationOf(act.operation).method !== 'POST'),
    openWorldHint: openWorld === true,
  }
}

function isRead(act: AgentAct): boolean {
  return operationOf(act.operation).method === 'GET' || act.harmless !== undefined
}

/** What takes two calls, what replaces, and a program, which may do whatever it likes. */
function mayDestroy(act: AgentAct): boolean {
  return act.confirm !== undefined || act.ifMatch !== undefined || act.operation === 'execCommand'
}
