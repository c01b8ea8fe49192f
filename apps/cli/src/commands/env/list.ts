import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'
import { revealVariable } from './reveal.ts'

interface ListFlags {
  readonly reveal?: boolean
}

export const defineList: Define = (command, context) =>
  command
    .summary('list variables; values of secrets are hidden')
    .description('List the environment variables of a project. Values of secrets are hidden.')
    .argument('[project]', projectArgument)
    .option('--reveal', 'show the values of secrets too; each is read by itself, and recorded')
    .action((project: string | undefined, flags: ListFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, flags: ListFlags): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const { env, injected } = await client.call('getProjectEnv', { params: { id } }, { signal: context.signal })
  const shown: typeof env = {}
  for (const [name, variable] of Object.entries(env)) {
    const reveals = variable.secret && flags.reveal === true
    shown[name] = reveals ? { ...variable, value: await revealVariable(context, id, name) } : variable
  }
  context.result({ env: shown, injected }, () => {
    if (context.quiet) return Object.keys(shown).join('\n')
    const { dim } = context.style.colors
    const rows = Object.entries(shown).map(([name, { value, secret, runtimes }]) => {
      const receivers = runtimes === null ? '' : `for ${runtimes.map(plainText).join(', ')}`
      const traits = [secret ? 'secret' : '', receivers].filter((text) => text !== '').join(', ')
      return [name, value === null ? { text: '••••••', paint: dim } : oneLine(value), traits]
    })
    rows.push(...injected.map((name) => [name, { text: '(set by Stackquay)', paint: dim }, '']))
    return rows.length === 0 ? 'No variables.' : table(['NAME', 'VALUE', ''], rows, context.style)
  })
}

function oneLine(value: string): string {
  return /[\n\r\t]/.test(value) ? JSON.stringify(value) : plainText(value)
}
