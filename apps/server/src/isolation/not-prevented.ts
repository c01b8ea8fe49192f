import type { ChosenIsolation } from './level.ts'

/** A way from the code of one project to another that is open. SECURITY.md says each of these sentences. */
interface Gap {
  readonly text: string
  isOpen(how: ChosenIsolation, isRoot: boolean): boolean
}

const has = ({ features }: ChosenIsolation, feature: ChosenIsolation['features'][number]) => features.includes(feature)
const isShared = ({ level }: ChosenIsolation) => level === 'shared'

export const gaps: readonly Gap[] = [
  {
    text: 'A program of one project can read and change the files of another, and read the environment and memory of its programs.',
    isOpen: isShared,
  },
  {
    text: 'A program of one project can stop the programs of another, take their ports and write into their logs.',
    isOpen: isShared,
  },
  {
    text: 'The service runs as the user of its projects, so their programs can read its database, its secret key and the passwords of repositories.',
    isOpen: (how, isRoot) => isShared(how) && !isRoot,
  },
  {
    text: 'A program that leaves its session and clears its environment can go on after its project is stopped or deleted.',
    isOpen: (how) => isShared(how) && !has(how, 'cgroup'),
  },
  {
    text: 'A token for one project reaches all: whoever may run programs in that project can read the others with them.',
    isOpen: isShared,
  },
  {
    text: 'Programs run as the user of the service and can read what that user can read outside of the folders of Stackquay: its SSH keys, for example, and existing folders of other projects.',
    isOpen: (how) => has(how, 'sandbox') && !has(how, 'user'),
  },
  {
    text: 'A program of one project sees the command lines of all processes of the machine.',
    isOpen: (how) => has(how, 'user') && !has(how, 'sandbox'),
  },
  {
    text: 'What a program opens to everybody, in /tmp, in /dev/shm or as shared memory, the programs of other projects can use.',
    isOpen: (how) => !has(how, 'sandbox'),
  },
  {
    text: 'Projects share the network of the machine: an abstract socket of one project can be opened by the programs of another.',
    isOpen: () => true,
  },
  {
    text: 'A program of one project can connect to the loopback ports of another; only the password of a service stops it.',
    isOpen: (how) => !has(how, 'ports'),
  },
  {
    text: 'Memory, CPU and the number of processes have no limits on the native engine, so one project can slow down all.',
    isOpen: (how) => !has(how, 'cgroup'),
  },
]

/** For people, wherever the level is shown: what the code of one project can do to another on the native engine. */
export function notPrevented(how: ChosenIsolation, isRoot: boolean): readonly string[] {
  return gaps.filter((gap) => gap.isOpen(how, isRoot)).map(({ text }) => text)
}
