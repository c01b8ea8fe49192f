import { ApiError } from '@stackquay/client'
import type { BackupTargetCreate } from '@stackquay/contract'
import { type AddFlags, newTarget } from '../../../backups/new-target.ts'
import { noteDone } from '../../../change-project.ts'
import type { Context } from '../../../context.ts'
import type { Define } from '../../../define.ts'
import { usageError } from '../../../errors.ts'
import { plainText } from '../../../output/plain-text.ts'
import { agree, isInteractive } from '../../../prompt.ts'

export const defineAdd: Define = (command, context) =>
  command
    .summary('add a backup target')
    .description(
      'Add a folder, a bucket or another machine that backups can be copied to. It is tried before anything is kept. ' +
        'Prints a generated passphrase once, on standard output: it opens everything on the target, on any instance.',
    )
    .argument('<name>', 'what it is called')
    .option('--folder <path>', 'a folder of the machine of the service, such as a mounted disk')
    .option('--s3 <bucket>', 'a bucket of a storage that speaks S3')
    .option('--endpoint <url>', 'address of that storage; without it Amazon S3')
    .option('--region <region>', 'region of the bucket')
    .option('--prefix <prefix>', 'before the names of all objects')
    .option('--access-key <id>', 'access key of the storage')
    .option('--secret-key-file <file>', 'file with the secret of the access key; else it is asked for')
    .option('--sftp <url>', 'a folder of another machine: sftp://user@host:22/path')
    .option('--host-key <key>', 'the key that the machine must show; else it is shown and asked')
    .option('--private-key-file <file>', 'private key to log in with')
    .option('--password-file <file>', 'file with the password to log in with; else it is asked for')
    .option('--passphrase', 'ask for a passphrase: your own, or that of a target with backups on it')
    .option('--passphrase-file <file>', 'file with that passphrase')
    .addHelpText(
      'after',
      `
  stq backup target add disk --folder /mnt/backups
  stq backup target add offsite --s3 backups --endpoint https://s3.example.com --access-key KEY
  stq backup target add nas --sftp sftp://backup@nas.lan/srv/backups --private-key-file ~/.ssh/id_ed25519`,
    )
    .action((name: string, flags: AddFlags) => run(context(), name, flags))

async function run(context: Context, name: string, flags: AddFlags): Promise<void> {
  const body = await newTarget(context, name, flags)
  const made = await create(context, body)
  noteDone(context, `${plainText(made.name)} is added (${made.id}): ${plainText(made.place)}`)
  if (!made.isNew) context.note(`There are backups on it already. See: stq backup target backups ${made.id}`)
  if (made.recoveryPassphrase !== null)
    context.note('This is its passphrase. It is not shown again: keep it away from this machine.')
  context.result(made, () => made.recoveryPassphrase ?? made.id)
}

/** A machine whose key is not known yet gets the login only after a person, or an option, has said that it is the right one. */
async function create(context: Context, body: BackupTargetCreate) {
  const client = await context.client()
  const call = { signal: context.signal }
  try {
    return await client.call('createBackupTarget', { body }, call)
  } catch (error) {
    const shown = error instanceof ApiError ? error.problem?.hostKey : undefined
    if (typeof shown !== 'string' || body.sftp === undefined) throw error
    const what = `${body.sftp.host} shows the key ${plainText(shown)}.`
    if (!isInteractive(context.world))
      throw usageError(what, `When it is the right one, add: --host-key "${plainText(shown)}"`)
    await agree(context.world, `${what} Compare it with what "ssh-keygen -l" prints there.`, false)
    return client.call('createBackupTarget', { body: { ...body, sftp: { ...body.sftp, hostKey: shown } } }, call)
  }
}
