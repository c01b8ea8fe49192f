import type { ProjectView } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { memoryText } from '../../output/memory-text.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'

export const defineShow: Define = (command, context) =>
  command
    .summary('show what the workloads of a project may use')
    .description('Show the limits of the workloads of a project.')
    .argument('[project]', projectArgument)
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const project = (await client.call('getProject', { params: { id } }, { signal: context.signal })) as ProjectView
  const { limits, limitsUnavailable } = project
  context.result({ project: project.slug, limits }, () => {
    if (limits === null)
      return `Its workloads have no limits.${limitsUnavailable === null ? '' : ` None can be set here. ${plainText(limitsUnavailable)}`}`
    const rows = [row('each', limits), ...Object.entries(limits.workloads).map(([workload, own]) => row(workload, own))]
    return table(['WORKLOAD', 'CPUS', 'MEMORY', 'PROCESSES'], rows, context.style)
  })
}

interface Limits {
  readonly cpus?: number | null | undefined
  readonly memoryBytes?: number | null | undefined
  readonly pids?: number | null | undefined
}

function row(workload: string, { cpus, memoryBytes, pids }: Limits): string[] {
  return [
    plainText(workload),
    cpus == null ? '-' : String(cpus),
    memoryBytes == null ? '-' : memoryText(memoryBytes),
    pids == null ? '-' : String(pids),
  ]
}
