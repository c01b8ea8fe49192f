import type { Context } from '../../context.ts'
import { onlyDatabase } from '../../databases/only-database.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { size } from '../../output/size.ts'
import { fields } from '../../output/table.ts'

export const definePointInTime: Define = (command, context) =>
  command
    .summary('show which moments can be restored')
    .description(
      'Show which moments a database can be restored to. Switch it on with: stq db update --point-in-time 7d',
    )
    .argument('[project]', projectArgument)
    .argument('[name]', 'of the database; not needed when there is one')
    .action((project: string | undefined, name: string | undefined) => run(context(), project, name))

const states = {
  off: 'off',
  starting: 'starting: its first base is not there yet',
  ready: 'ready',
  late: 'late: its changes do not get into the archive',
} as const

async function run(context: Context, named: string | undefined, name: string | undefined): Promise<void> {
  const id = await projectRef(context, named)
  const db = name ?? (await onlyDatabase(context, id))
  const client = await context.client()
  const found = await client.call('getPointInTime', { params: { id, db } }, { signal: context.signal })
  const { state, keep, ranges, bases, bytes, waiting, waitingSince } = found
  context.result(found, () =>
    fields(
      [
        ['State', states[state]],
        ['Keeps', keep ?? '-'],
        ...ranges.map(({ from, to }) => ['Range', `${from} to ${to}`] as const),
        ['Bases', String(bases)],
        ['Size', size(bytes)],
        ...(waiting === 0
          ? []
          : [['Waiting', `${waiting} pieces${waitingSince === null ? '' : ` since ${waitingSince}`}`] as const]),
      ],
      context.style,
    ),
  )
}
