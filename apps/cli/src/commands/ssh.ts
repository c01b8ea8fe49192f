import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { CliError, usageError } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { projectRef } from '../find-project.ts'
import { operandsAround } from '../options.ts'
import { ProgramEnded, runningProgram } from '../program-end.ts'

interface SshFlags {
  readonly workload?: string
  readonly show?: boolean
}

export const define: Define = (command, context) =>
  command
    .usage('[options] [project] [-- <command> [arguments...]]')
    .argument('[words...]')
    .option(
      '-w, --workload <name>',
      'in whose environment: a runtime, a database (postgresql-main) or a service; without it the first runtime',
    )
    .option('--show', 'print host, user name, host key and the commands, and connect to nothing')
    .addHelpText(
      'after',
      `
Runs the program ssh of this machine with the address of the project, and with the host key that the service says it has, so that
nobody is asked whether it is right. It logs in with your SSH keys (stq ssh-key add), or asks for an API token as the password. The exit code is that of the command.

  stq ssh shop
  stq ssh shop -- npm test
  stq ssh shop --show`,
    )
    .action((_words: string[], flags: SshFlags) => {
      const act = () => run(context(), command, flags)
      return flags.show === true ? act() : runningProgram(act)
    })

async function run(context: Context, command: Command, flags: SshFlags): Promise<void> {
  const [[named, ...more], program] = operandsAround(command)
  if (more.length > 0)
    throw usageError(`"${more[0]}" is not expected.`, 'Write the command after two dashes: stq ssh shop -- npm test')
  const client = await context.client()
  const id = await projectRef(context, named)
  const ssh = await client.call('getProjectSsh', { params: { id } }, { signal: context.signal })
  if (flags.show === true)
    return context.result(ssh, () =>
      [
        `${ssh.user}@${ssh.host}, port ${ssh.port}`,
        ...(ssh.hostKey === null ? [] : [`Host key ${ssh.hostKey.fingerprint}`]),
        ...(ssh.reason === null ? [] : [ssh.reason]),
        '',
        ...ssh.commands.map((one) => one.command),
      ].join('\n'),
    )
  if (!ssh.listening || ssh.hostKey === null)
    throw new CliError('The service does not answer with SSH.', { exitCode: exitCodes.failed, hint: ssh.reason ?? '' })
  const user = flags.workload === undefined ? ssh.user : `${ssh.user}+${flags.workload}`
  const folder = await mkdtemp(join(tmpdir(), 'stq-ssh-'))
  try {
    const known = join(folder, 'known_hosts')
    await writeFile(known, `${ssh.hostKey.knownHosts}\n`, { mode: 0o600 })
    const options = ['-o', `UserKnownHostsFile=${known}`, '-o', 'StrictHostKeyChecking=yes', '-p', String(ssh.port)]
    const words = program ?? []
    const child = spawn('ssh', [...options, `${user}@${ssh.host}`, ...words], { stdio: 'inherit' })
    const [code] = (await once(child, 'exit').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      throw new CliError('There is no program ssh on this machine.', {
        exitCode: exitCodes.failed,
        hint: 'Install OpenSSH, or use: stq shell',
      })
    })) as [number | null]
    throw new ProgramEnded(code ?? 255)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
