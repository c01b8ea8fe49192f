import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { plainText } from '../../output/plain-text.ts'

interface AddFlags {
  readonly chain?: string
}

export const defineAdd: Define = (command, context) =>
  command
    .argument('<certificate>', 'file in PEM; its chain may follow in it')
    .argument('<key>', 'file with its private key in PEM, without a password')
    .option('--chain <file>', 'intermediate certificates, when they are in a file of their own')
    .summary('use a certificate of your own, or its successor')
    .description(
      'Use a certificate of your own. It takes the place of the one with the same names; nothing is interrupted.',
    )
    .addHelpText('after', '\n  stq tls add fullchain.pem privkey.pem')
    .action((certificate: string, key: string, flags: AddFlags) => run(context(), { certificate, key, ...flags }))

async function run(context: Context, files: AddFlags & { certificate: string; key: string }): Promise<void> {
  const read = (file: string) =>
    readFile(resolve(context.world.cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw usageError(`${file} cannot be read: ${error.code ?? error.message}.`)
    })
  const [certificate, key] = [await read(files.certificate), await read(files.key)]
  const chain = files.chain === undefined ? {} : { chain: await read(files.chain) }
  const client = await context.client()
  const body = { certificate, key, ...chain }
  const made = await client.call('putTlsCertificate', { body }, { signal: context.signal })
  noteDone(context, `${plainText(made.names.join(', '))}: in use until ${made.notAfter.slice(0, 10)}`)
  for (const text of made.warnings) context.note(plainText(text))
  context.result(made, () => (context.quiet ? made.id : ''))
}
