import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Numbers of the call `socket`, as the kernel's tables of calls have them. */
const socketCalls: Readonly<Partial<Record<NodeJS.Architecture, number>>> = { x64: 41, arm64: 198 }
const AF_NETLINK = 16
const EAFNOSUPPORT = 97
const failWith = 0x0005_0000
const allow = 0x7fff_0000

/**
 * A program that runs the given browser without any news of the machine's networks. A browser gives up what it is about to
 * load whenever an address comes or goes, and tests start Docker daemons beside it whose networks come and go all the time.
 * Needs bubblewrap and root. Both files are written into the folder, whose path holds no quotation mark.
 */
export async function undisturbed(browser: string, folder: string): Promise<string> {
  const filter = join(folder, 'no-netlink.bpf')
  await writeFile(filter, withoutNetlink())
  const program = join(folder, 'undisturbed')
  await writeFile(
    program,
    `#!/bin/sh\nexec 9<'${filter}'\nexec bwrap --dev-bind / / --seccomp 9 -- '${browser}' "$@"\n`,
  )
  await chmod(program, 0o700)
  return program
}

/** For seccomp: asks a call for its number and its first argument, and refuses sockets that hear of networks. */
function withoutNetlink(): Buffer {
  const socket = socketCalls[process.arch]
  if (socket === undefined) throw new Error(`The number of the call "socket" is not known for ${process.arch}.`)
  const load = 0x20
  const jumpIfEqual = 0x15
  const answer = 0x06
  return Buffer.concat([
    instruction(load, 0),
    instruction(jumpIfEqual, socket, 0, 3),
    instruction(load, 16),
    instruction(jumpIfEqual, AF_NETLINK, 0, 1),
    instruction(answer, failWith | EAFNOSUPPORT),
    instruction(answer, allow),
  ])
}

/** As in `struct sock_filter`: on yes and on no so many instructions are left out. */
function instruction(code: number, value: number, yes = 0, no = 0): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(yes, 2)
  bytes.writeUInt8(no, 3)
  bytes.writeUInt32LE(value, 4)
  return bytes
}
