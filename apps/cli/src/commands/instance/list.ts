import type { InstanceBackup } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { plainText } from '../../output/plain-text.ts'
import { size } from '../../output/size.ts'
import { table } from '../../output/table.ts'
import { ago } from '../../output/time.ts'

export const defineList: Define = (command, context) =>
  command
    .summary('list backups of the instance, newest first')
    .description('List backups of the service’s own state, newest first, with the secret key that each needs.')
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.client()
  const { items } = await client.call('listInstanceBackups', {}, { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet) return items.map(({ id }) => id).join('\n')
    if (items.length === 0) return 'No backups of the instance. Make one with: stq instance backup create'
    const rows = items.map((item) => rowOf(item, context.world.now()))
    return table(['BACKUP', 'MADE', 'SIZE', 'PROJECTS', 'USERS', 'KEY', 'NOTE'], rows, context.style)
  })
}

function rowOf(item: InstanceBackup, now: number): readonly string[] {
  const { id, createdAt, sizeBytes, projects, users, keyId, opensHere, note, source } = item
  const key = `${plainText(keyId)}${opensHere ? '' : ' (not here)'}`
  const why = plainText(note ?? (source === 'manual' ? '' : source))
  return [id, ago(createdAt, now), size(sizeBytes), String(projects), String(users), key, why]
}
