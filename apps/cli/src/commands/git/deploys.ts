import type { Deploy } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { table } from '../../output/table.ts'
import { ago } from '../../output/time.ts'

export const defineDeploys: Define = (command, context) =>
  command
    .summary('list deploys, newest first')
    .description('List deploys, newest first: commit, how it ended, who asked.')
    .argument('[project]', projectArgument)
    .option('--show <deploy>', 'what one of them was well with: files that decide what is installed, images, versions')
    .action((project: string | undefined, flags: { readonly show?: string }) => run(context(), project, flags.show))

async function run(context: Context, named: string | undefined, shown: string | undefined): Promise<void> {
  const id = await projectRef(context, named)
  const client = await context.client()
  if (shown !== undefined) {
    const deploy = await findDeploy(context, id, shown)
    return context.result(deploy, () => (context.quiet ? deploy.id : deployText(deploy, context)))
  }
  const page = await client.call('listDeploys', { params: { id }, query: { limit: 20 } }, { signal: context.signal })
  context.result(page, () => {
    if (context.quiet) return page.items.map((item) => item.id).join('\n')
    if (page.items.length === 0) return 'Nothing was deployed yet.'
    const rows = page.items.map((item) => [
      item.id,
      item.commit?.slice(0, 10) ?? '',
      item.rolledBack ? `${item.state}, went back` : item.state,
      ago(item.createdAt, context.world.now()),
      plainText(item.actor),
      plainText(item.reason ?? ''),
    ])
    return table(['ID', 'COMMIT', 'STATE', 'WHEN', 'BY', 'WHY'], rows, context.style)
  })
}

async function findDeploy(context: Context, project: string, id: string): Promise<Deploy> {
  const client = await context.client()
  for (let cursor: string | undefined; ; ) {
    const query = { limit: 200, ...(cursor === undefined ? {} : { cursor }) }
    const page = await client.call('listDeploys', { params: { id: project }, query }, { signal: context.signal })
    const found = page.items.find((one) => one.id === id)
    if (found !== undefined) return found
    if (page.nextCursor === null)
      throw new CliError(`The project has no deploy "${plainText(id)}".`, {
        exitCode: exitCodes.notFound,
        hint: 'See "stq git deploys".',
      })
    cursor = page.nextCursor
  }
}

function deployText(deploy: Deploy, context: Context): string {
  const { release } = deploy
  const lines = [
    ['commit', deploy.commit ?? 'none'],
    ['state', deploy.rolledBack ? `${deploy.state}, went back` : deploy.state],
    ...(deploy.reason === null ? [] : [['why', deploy.reason]]),
    ...(release === null
      ? [['release', 'It was not written down what it ran with.']]
      : [
          ['generation', String(release.generation)],
          ...Object.entries(release.runtimes),
          ...Object.entries(release.images),
          ...Object.entries(release.installedFrom),
        ]),
  ]
  return table(
    ['WHAT', 'VALUE'],
    lines.map((line) => line.map(plainText)),
    context.style,
  )
}
