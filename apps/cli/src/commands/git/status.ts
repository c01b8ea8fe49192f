import type { GitState } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'

export const defineStatus: Define = (command, context) =>
  command
    .summary('show branch, ahead and behind, and changed files')
    .description('Show the repository of a project: its branch, how far it is from the remote, and changed files.')
    .argument('[project]', projectArgument)
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const id = await projectRef(context, named)
  const client = await context.client()
  const state = await client.call('getGit', { params: { id } }, { signal: context.signal })
  context.result(state, () => (context.quiet ? (state.commit ?? '') : stateText(state, context)))
}

function stateText(state: GitState, { style: { colors } }: Context): string {
  if (!state.repository) return plainText(state.reason ?? '')
  const commit = state.commit === null ? 'no commit yet' : state.commit.slice(0, 10)
  const head = state.branch === null ? 'detached head' : colors.bold(plainText(state.branch))
  const lines = [`${head} at ${commit}${distance(state)}`]
  if (state.url !== null) lines.push(`from ${plainText(state.url)}`)
  if (state.doing !== null) lines.push(colors.yellow(`a ${state.doing} is under way`))
  if (state.stashed > 0) lines.push(`${state.stashed} stashed`)
  if (state.shallow) lines.push('shallow: older history is not here')
  if (state.submodules.length > 0) lines.push(`submodules: ${state.submodules.map(plainText).join(', ')}`)
  if (state.lfsFiles > 0) lines.push(`${state.lfsFiles} files of Git LFS, which nothing here fetches`)
  for (const change of state.changed) {
    const from = change.from === null ? '' : `${plainText(change.from)} → `
    const staged = change.staged === null ? '' : colors.green(`${change.staged}, staged `)
    const what = change.conflict
      ? colors.red('conflict ')
      : `${staged}${change.unstaged === null ? '' : colors.red(`${change.unstaged} `)}`
    lines.push(`  ${what}${from}${plainText(change.path)}`)
  }
  if (state.changedTotal > state.changed.length) lines.push(`  and ${state.changedTotal - state.changed.length} more`)
  return lines.join('\n')
}

function distance({ upstream, ahead, behind }: GitState): string {
  if (upstream === null || ahead === null || behind === null) return ''
  const name = plainText(upstream)
  if (ahead === 0 && behind === 0) return `, as ${name} at the last fetch`
  const parts = [...(ahead > 0 ? [`${ahead} ahead`] : []), ...(behind > 0 ? [`${behind} behind`] : [])]
  return `, ${parts.join(' and ')} of ${name}`
}
