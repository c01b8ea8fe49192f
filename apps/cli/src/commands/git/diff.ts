import type { GitDiff } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { plainLines } from '../../output/plain-text.ts'

interface DiffFlags {
  readonly staged?: boolean
  readonly commit?: string
}

export const defineDiff: Define = (command, context) =>
  command
    .summary('show what differs, as a patch')
    .description('Show what differs from what is staged, as a patch.')
    .argument('<project>', 'id or slug')
    .argument('[path]', 'of a file or folder; needed for a file that git does not follow yet')
    .option('--staged', 'what is staged, against the last commit')
    .option('--commit <id>', 'what this commit changed: its whole id')
    .action((project: string, path: string | undefined, flags: DiffFlags) => run(context(), project, path, flags))

async function run(context: Context, id: string, path: string | undefined, flags: DiffFlags): Promise<void> {
  if (flags.staged === true && flags.commit !== undefined) throw usageError('--staged and --commit exclude each other.')
  const client = await context.client()
  const query = {
    ...(path === undefined ? {} : { path }),
    ...(flags.staged === true ? { staged: 'true' as const } : {}),
    ...(flags.commit === undefined ? {} : { commit: flags.commit }),
  }
  const diff = await client.call('getGitDiff', { params: { id }, query }, { signal: context.signal })
  context.result(diff, () => diffText(diff, context))
}

function diffText({ patch, truncated }: GitDiff, { style: { colors } }: Context): string {
  const lines = plainLines(patch.replace(/\n$/, ''))
    .split('\n')
    .map((line) => {
      if (/^(\+\+\+|---|diff |index )/.test(line)) return colors.bold(line)
      if (line.startsWith('@@')) return colors.cyan(line)
      if (line.startsWith('+')) return colors.green(line)
      return line.startsWith('-') ? colors.red(line) : line
    })
  if (truncated) lines.push('… and more, which is not shown.')
  return patch === '' ? 'Nothing differs.' : lines.join('\n')
}
