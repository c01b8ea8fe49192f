import { ProblemError } from '@stackquay/contract'
import type { ProjectRow, Store } from '@stackquay/store'
import type { Handlers, StreamHandlers } from '../http/handler.ts'
import type { Awake } from '../sleep/fall-asleep-and-wake.ts'
import { type ProjectUses, whileUsed } from '../sleep/uses.ts'
import { createExec, type ExecDeps } from './exec.ts'
import { sizeWithin } from './size.ts'
import type { Terminals } from './terminals.ts'

type TerminalHandlers = Pick<
  Handlers,
  'listTerminals' | 'createTerminal' | 'getTerminal' | 'endTerminal' | 'execCommand'
>
type TerminalStreams = Pick<StreamHandlers, 'watchTerminal' | 'openTerminal' | 'watchExec'>

export interface TerminalHandlerDeps extends ExecDeps {
  readonly terminals: Terminals
  readonly awake: Awake
  readonly uses: Pick<ProjectUses, 'begin'>
}

export function terminalHandlers(deps: TerminalHandlerDeps): TerminalHandlers {
  const { store, terminals, awake, uses } = deps
  const exec = createExec(deps)
  return {
    listTerminals: async ({ params }) => {
      const items = await terminals.of(await find(store, params.id))
      return { status: 200, body: { items } }
    },
    createTerminal: async ({ params, body }, context) => {
      const { workload, cols = 80, rows = 24, command } = body ?? {}
      const project = await awake(await find(store, params.id), context)
      return { status: 201, body: await terminals.open(project, { workload, cols, rows, command }, context) }
    },
    getTerminal: async ({ params }) => {
      const project = await find(store, params.id)
      return { status: 200, body: await terminals.find(project, params.term) }
    },
    endTerminal: async ({ params }, context) => {
      await terminals.end(await find(store, params.id), params.term, context)
      return { status: 204 }
    },
    execCommand: async ({ params, body }, context) => {
      const { stdin, ...wanted } = body
      const project = await awake(await find(store, params.id), context)
      const answer = await exec.answer(project, wanted, stdin, context)
      const { stream } = answer
      return stream === undefined ? answer : { ...answer, stream: whileUsed(project.id, stream, uses) }
    },
  }
}

export function terminalStreams(deps: TerminalHandlerDeps): TerminalStreams {
  const { store, terminals, awake, uses } = deps
  const exec = createExec(deps)
  return {
    watchTerminal: async ({ params, query }, context, socket) => {
      const project = await find(store, params.id)
      const { after, ...size } = query
      await terminals.show(project, params.term, { after, size: sizeWithin(size) }, socket, context)
    },
    openTerminal: async ({ params, query }, context, socket) => {
      const project = await awake(await find(store, params.id), context)
      const { cols = 80, rows = 24 } = sizeWithin(query)
      const wanted = { workload: query.workload, cols, rows, command: undefined }
      const { id } = await terminals.open(project, wanted, context)
      await terminals.show(project, id, { after: undefined, size: {} }, socket, context)
    },
    watchExec: async ({ params }, context, socket) => {
      const project = await awake(await find(store, params.id), context)
      const end = uses.begin(project.id)
      await exec.talk(project, socket, context).finally(end)
    },
  }
}

async function find(store: Store, idOrSlug: string): Promise<ProjectRow> {
  const row = await store.projects.find(idOrSlug)
  if (row === null) throw new ProblemError('not_found', `There is no project "${idOrSlug}".`)
  return row
}
