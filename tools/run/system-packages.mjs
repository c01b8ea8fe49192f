import { spawnSync } from 'node:child_process'
import { accessSync, chmodSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { dockerTests } from './docker-lab.mjs'
import { withLock } from './lock.mjs'
import { Refusal } from './refusal.mjs'

/** As root these set rules of a firewall, in a network of their own. */
const portWallTests = 'packages/engines/test/port-walls'

/**
 * Programs of the machine that the tests run for real. `programs`: one of these must be in PATH. `probe`: argv that must
 * end with 0 besides. `usedBy`: beginnings of the paths of the tests that need it.
 */
export const systemPackages = [
  { debian: 'git', programs: ['git'], usedBy: ['apps/server/', 'e2e/', 'tools/fuzz/'] },
  { debian: 'openssh-server', programs: ['ssh'], probe: ['test', '-x', '/usr/sbin/sshd'], usedBy: ['e2e/git-ssh'] },
  {
    debian: 'python3',
    programs: ['python3'],
    usedBy: [
      'packages/catalog/test/real-suites',
      'apps/server/test/ports',
      portWallTests,
      'e2e/',
      'tools/fuzz/',
      'tools/test/generated-clients',
    ],
  },
  {
    debian: 'python3-venv',
    programs: ['python3'],
    // The one that every user can run: another in front of it in PATH may be private to root.
    probe: [python(), '-c', 'import venv, ensurepip'],
    usedBy: ['packages/catalog/test/real-suites', 'e2e/', 'tools/fuzz/', 'tools/test/generated-clients'],
  },
  { debian: 'postgresql', programs: ['pg_ctlcluster'], usedBy: ['packages/catalog/', 'e2e/'] },
  { debian: 'redis-server', programs: ['redis-server'], usedBy: ['packages/catalog/', 'e2e/'] },
  { debian: 'memcached', programs: ['memcached'], usedBy: ['packages/catalog/', 'e2e/'] },
  { debian: 'rabbitmq-server', programs: ['rabbitmqctl'], usedBy: ['packages/catalog/', 'e2e/'] },
  { debian: 'mariadb-server', programs: ['mariadbd'], usedBy: ['packages/catalog/', 'e2e/'] },
  // Users, sandboxes and access lists of projects. Their tests exist for root on Linux.
  { debian: 'passwd', programs: ['useradd'], usedBy: ['apps/server/', 'e2e/'] },
  {
    debian: 'bubblewrap',
    programs: ['bwrap'],
    usedBy: ['packages/engines/', 'packages/testkit/', 'apps/server/', 'e2e/'],
  },
  { debian: 'acl', programs: ['setfacl'], usedBy: ['apps/server/', 'e2e/'] },
  { debian: 'util-linux', programs: ['setpriv'], usedBy: ['packages/engines/', 'apps/server/', 'e2e/'] },
  // A backup is opened by public programs, as its document says. Without zstd one is made more slowly.
  { debian: 'zstd', programs: ['zstd'], usedBy: ['packages/archive/', 'packages/targets/'] },
  { debian: 'age', programs: ['age'], usedBy: ['packages/archive/', 'packages/targets/'] },
  // SSH is spoken to with the programs that people have.
  { debian: 'openssh-client', programs: ['ssh'], usedBy: ['e2e/ssh'] },
  { debian: 'rsync', programs: ['rsync'], usedBy: ['e2e/ssh'] },
  { debian: 'lftp', programs: ['lftp'], usedBy: ['e2e/ssh-clients'] },
  { debian: 'sshfs', programs: ['sshfs'], usedBy: ['e2e/ssh-clients'] },
  { debian: 'curl', programs: ['curl'], usedBy: ['e2e/ssh-clients'] },
  { debian: 'openssh-client', programs: ['ssh'], usedBy: ['e2e/docker-work'] },
  // Copies of backups go to a real server.
  { debian: 'openssh-server', programs: ['sshd'], usedBy: ['packages/targets/', 'e2e/'] },
  { debian: 'openssh-client', programs: ['ssh-keygen'], usedBy: ['packages/targets/', 'e2e/'] },
  { debian: 'openssl', programs: ['openssl'], usedBy: ['apps/proxy/', 'apps/server/', 'packages/acme/', 'e2e/acme'] },
  // An authority that gives certificates, and a DNS server that takes records, as they are outside.
  { debian: 'pebble', programs: ['pebble'], usedBy: ['packages/acme/', 'e2e/acme'] },
  {
    debian: 'bind9',
    programs: ['sh'],
    probe: ['test', '-x', '/usr/sbin/named'],
    usedBy: ['packages/acme/', 'e2e/acme'],
  },
  // OpenSearch is assembled from its published parts.
  {
    debian: 'default-jdk-headless',
    programs: ['javac'],
    usedBy: ['packages/catalog/test/opensearch', 'e2e/round-trip'],
  },
  { debian: 'maven', programs: ['mvn'], usedBy: ['packages/catalog/test/opensearch', 'e2e/round-trip'] },
  { debian: 'golang-go', programs: ['go'], usedBy: ['packages/catalog/test/real-suites', 'e2e/'] },
  // Test runners whose results are read.
  { debian: 'ruby-rspec', programs: ['rspec'], usedBy: ['packages/catalog/test/real-suites'] },
  {
    debian: 'ruby-minitest',
    programs: ['ruby'],
    probe: ['/usr/bin/ruby', '-e', 'require "minitest"'],
    usedBy: ['packages/catalog/test/real-suites'],
  },
  // Where there is Ruby, its template is offered, which installs gems.
  { debian: 'ruby-bundler', programs: ['bundle'], usedBy: ['packages/catalog/test/real-suites', 'e2e/'] },
  { debian: 'rake', programs: ['rake'], usedBy: ['packages/catalog/test/real-suites'] },
  { debian: 'phpunit', programs: ['phpunit'], usedBy: ['packages/catalog/test/real-suites'] },
  { debian: 'cargo', programs: ['cargo'], usedBy: ['packages/catalog/test/real-suites'] },
  // Images of the Docker tests are built on a Debian that is made here: there is nothing to download them from.
  { debian: 'docker.io', programs: ['dockerd'], probe: ['docker', '--version'], usedBy: dockerTests },
  { debian: 'iptables', programs: ['iptables'], usedBy: [...dockerTests, portWallTests] },
  { debian: 'nftables', programs: ['nft'], usedBy: [portWallTests] },
  { debian: 'iproute2', programs: ['ip'], usedBy: [...dockerTests, portWallTests] },
  { debian: 'debootstrap', programs: ['debootstrap'], usedBy: dockerTests },
  {
    debian: 'chromium',
    programs: ['chromium', 'chromium-browser', 'google-chrome'],
    usedBy: ['apps/web/', 'packages/testkit/', 'e2e/'],
  },
]

/** The machine's own Python. */
export function python() {
  return existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3'
}

/** Installs what the given test files need and the machine lacks; on a machine we may not change it says the command. */
export async function ensureSystemPackages(testFiles) {
  const missing = () =>
    systemPackages.filter(
      (entry) => testFiles.some((file) => entry.usedBy.some((start) => file.startsWith(start))) && !present(entry),
    )
  if (missing().length === 0) return
  if (!mayInstall()) throw refusal(missing().map((entry) => entry.debian))
  await withLock('system-packages', () => {
    const names = missing().map((entry) => entry.debian)
    if (names.length === 0) return
    console.error(`Installing system packages for the tests: ${names.join(', ')} …`)
    withoutServiceStarts(() => {
      aptGet(['update'])
      aptGet(['install', '-y', '--no-install-recommends', ...names])
    })
    const still = missing().map((entry) => entry.debian)
    if (still.length > 0) throw new Refusal(`Installed, but still not usable: ${still.join(', ')}. Check PATH.`)
  })
}

function refusal(names) {
  return new Refusal(
    `The tests run real programs, and some are missing here: ${names.join(', ')}.\n` +
      `On Debian or Ubuntu:  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${names.join(' ')}\n` +
      'Elsewhere install the programs of the same names. Or name the tests to run: npm test -- domain',
  )
}

function present({ programs, probe }) {
  if (!programs.some(inPath)) return false
  return probe === undefined || spawnSync(probe[0], probe.slice(1), { stdio: 'ignore', timeout: 30_000 }).status === 0
}

function inPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

function mayInstall() {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version') && inPath('apt-get')
}

function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  // A fresh machine often updates itself at that moment, and holds the lock.
  const { status, stdout, stderr } = spawnSync('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=600', ...args], {
    env,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    timeout: 15 * 60_000,
  })
  if (status === 0) return
  const tail = `${stdout}${stderr}`.trimEnd().split('\n').slice(-20).join('\n')
  throw new Refusal(`"apt-get ${args.join(' ')}" failed:\n${tail}`)
}

/** Debian starts services as it installs them, unless this file forbids it. What was there before is put back. */
function withoutServiceStarts(act) {
  const file = '/usr/sbin/policy-rc.d'
  const before = existsSync(file) ? readFileSync(file) : undefined
  writeFileSync(file, '#!/bin/sh\nexit 101\n')
  chmodSync(file, 0o755)
  try {
    act()
  } finally {
    if (before === undefined) rmSync(file, { force: true })
    else writeFileSync(file, before)
  }
}
