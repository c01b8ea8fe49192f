import { z } from 'zod'

export const sshCommandNames = ['ssh', 'command', 'sftp', 'scp', 'rsync', 'sshfs', 'forward', 'vscode'] as const

export const ProjectSsh = z
  .object({
    listening: z.boolean(),
    reason: z.string().nullable().describe('Why nobody can connect; null while people can.'),
    host: z.string(),
    port: z.int(),
    user: z.string(),
    workloads: z
      .array(z.object({ workload: z.string(), user: z.string() }).meta({ id: 'SshUser' }))
      .describe('Runtimes, databases and services, each with the user name for its environment.'),
    hostKey: z
      .object({
        type: z.string(),
        fingerprint: z.string(),
        knownHosts: z.string().describe('The line for `known_hosts`.'),
      })
      .meta({ id: 'SshHostKey' })
      .nullable(),
    commands: z
      .array(z.object({ name: z.enum(sshCommandNames), command: z.string() }).meta({ id: 'SshCommand' }))
      .describe('Ready to be run on the machine of a person.'),
    config: z.string().describe('For `~/.ssh/config`, which editors read.'),
  })
  .meta({ id: 'ProjectSsh' })
export type ProjectSsh = z.infer<typeof ProjectSsh>
