import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { giveUpRights } from '@stackquay/engines/native/as-user/give-up-rights'
import ssh2 from 'ssh2'
import { createClients } from './clients.ts'
import { createLink } from './link.ts'
import type { ToProtocol, WithHandle } from './messages.ts'

/*
 * The process that speaks SSH with clients: it has the keys of their connections and does the encryption, and it decides nothing. What a
 * client may is asked of the service. Arguments: uid and gid, or `-` for those of the service. As root it is started, loads its files and
 * becomes that user for good, so the kernel lets no process of that user look into it. It ends with the service.
 */

const link = 3
const [uid = '-', gid = '-'] = process.argv.slice(2)
if (uid !== '-') giveUpRights(Number(uid), Number(gid))
process.once('disconnect', () => process.exit(0))
serve(new Socket({ fd: link, readable: true, writable: true }))

function serve(stream: Duplex): void {
  const { send, open, forget } = createLink(stream, {
    onMessage: (message) => {
      const told = message as ToProtocol
      if (told.is === 'begin') clients.begin(ssh2, told)
      else clients.told(told)
    },
    onEnd: () => process.exit(0),
  })
  const clients = createClients({ send, open, forget })
  process.on('message', (message: WithHandle, handle) => clients.given(message, handle as Socket | undefined))
}
