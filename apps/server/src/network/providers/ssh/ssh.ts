import { programOnPath } from '../program-on-path.ts'
import type { ShareProvider } from '../provider.ts'

/** A port of a server of one's own, forwarded here by its SSH service. */
export const ssh: ShareProvider = {
  name: 'ssh',
  label: 'SSH to a server of yours',
  summary: 'A port of your own server, forwarded over SSH. The way from there to the visitor is not encrypted.',
  probe: async ({ path, ssh: server }) => {
    if (server === null) {
      return {
        available: false,
        reason: 'No server is set.',
        install: 'Set STACKQUAY_SHARE_SSH to user@host, and let that server accept the key of the workloads’ user.',
      }
    }
    const program = await programOnPath('ssh', path)
    if (program !== null) return { available: true, program }
    return { available: false, reason: 'The program "ssh" is not installed.', install: 'Install the OpenSSH client.' }
  },
  tunnel: {
    // TCP has no header, and what a visitor writes into one is not believed.
    clientHeader: null,
    args: (port, { ssh: server }) => [
      '-N',
      '-T',
      // Nobody is there to answer a question.
      ...['BatchMode=yes', 'ExitOnForwardFailure=yes', 'ControlPath=none'].flatMap(option),
      ...['ConnectTimeout=20', 'ServerAliveInterval=15', 'ServerAliveCountMax=3'].flatMap(option),
      ...(server === null ? [] : ['-p', `${server.port}`]),
      // The server chooses the port, and says which.
      '-R',
      `*:0:127.0.0.1:${port}`,
      ...(server === null ? [] : ['--', `${server.user}@${server.host}`]),
    ],
    addressIn: (line, { ssh: server }) => {
      const found = /^Allocated port (\d{1,5}) for remote forward to /.exec(line)
      return found === null || server === null ? null : `http://${urlHost(server.host)}:${found[1]}`
    },
  },
}

function option(text: string): readonly string[] {
  return ['-o', text]
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
