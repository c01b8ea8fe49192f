import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'

interface KeyFlags {
  readonly rotate?: boolean
}

export const defineKey: Define = (command, context) =>
  command
    .summary('show the deploy key for SSH, and make it when there is none')
    .description('Show the public half of the deploy key, which is made when there is none. Give it to the forge.')
    .argument('[project]', projectArgument)
    .option('--rotate', 'make another; the one of before is forgotten')
    .action((project: string | undefined, flags: KeyFlags) => run(context(), project, flags))

async function run(context: Context, named: string | undefined, { rotate }: KeyFlags): Promise<void> {
  const id = await projectRef(context, named)
  const client = await context.client()
  const { signal } = context
  const there = rotate === true ? null : (await client.call('getGit', { params: { id } }, { signal })).deployKey
  const key = there ?? (await client.call('createGitDeployKey', { params: { id } }, { signal }))
  if (there === null) context.note(`A new key: add it to the repository’s deploy keys. ${key.fingerprint}`)
  context.result(key, () => plainText(key.publicKey))
}
