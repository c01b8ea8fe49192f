import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { plainText } from '../../output/plain-text.ts'
import { inOwnSession } from '../../own-session.ts'
import { ownKeys } from './own-keys.ts'

/** As `ssh` tries them. */
const usual = ['id_ed25519.pub', 'id_ecdsa.pub', 'id_rsa.pub']

export const defineAdd: Define = (command, context) =>
  command
    .argument('[file]', `the public half of a key; without it the first of ${usual.join(', ')} in ~/.ssh`)
    .summary('add a public key')
    .description('Add a public key: whoever has its private half logs in by SSH with your rights.')
    .option('--name <name>', 'what it is called; without it the comment in the file')
    .action((file: string | undefined, flags: { name?: string }) => run(context(), file, flags))

async function run(context: Context, file: string | undefined, { name }: { name?: string }): Promise<void> {
  const publicKey = await publicKeyIn(file, context.world.env.HOME ?? homedir())
  const body = { publicKey, ...(name === undefined ? {} : { name }) }
  const added = await inOwnSession(context, ownKeys('Adding'), (client) =>
    client.call('addSshKey', { body }, { signal: context.signal }),
  )
  noteDone(context, `${plainText(added.name)} logs in with your rights`)
  context.result(added, () => plainText(context.quiet ? added.id : `${added.id} ${added.fingerprint}`))
}

/** Before the password is asked for: a private half is read by nobody else. */
async function publicKeyIn(file: string | undefined, home: string): Promise<string> {
  const paths = file === undefined ? usual.map((name) => join(home, '.ssh', name)) : [file]
  for (const path of paths) {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw usageError(`${path} cannot be read: ${error.code ?? error.message}.`)
    })
    if (text === null) continue
    if (text.includes('PRIVATE KEY'))
      throw usageError(`${path} is the private half, which stays where it is.`, `Name the public one: ${path}.pub`)
    return text.trim()
  }
  if (file !== undefined) throw usageError(`There is no file ${file}.`)
  throw usageError('There is no public key in ~/.ssh.', 'Make one: ssh-keygen -t ed25519')
}
