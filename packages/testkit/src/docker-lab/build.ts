import { existsSync } from 'node:fs'
import { chmod, copyFile, cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { socketOf } from './daemon.ts'
import { type BuiltImage, baseName, folderOf, type ImageName, images } from './images.ts'
import { mustRun } from './program.ts'

/** Debian 12 without anything that is not essential, with the settings that make the official image small and apt quick. */
export async function buildBase(daemonFolder: string): Promise<void> {
  await using work = await workFolder()
  const tree = join(work.path, 'tree')
  await mustRun('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', tree])
  await writeFile(join(tree, 'etc/dpkg/dpkg.cfg.d/docker-apt-speedup'), 'force-unsafe-io\n')
  await writeFile(
    join(tree, 'etc/dpkg/dpkg.cfg.d/docker'),
    ['/usr/share/man/*', '/usr/share/doc/*', '/usr/share/locale/*'].map((path) => `path-exclude ${path}\n`).join(''),
  )
  await writeFile(join(tree, 'etc/apt/apt.conf.d/docker-no-languages'), 'Acquire::Languages "none";\n')
  await writeFile(join(tree, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n')
  await chmod(join(tree, 'usr/sbin/policy-rc.d'), 0o755)
  await trustAsHere(tree)
  for (const path of ['var/cache/apt/archives', 'usr/share/doc', 'usr/share/man', 'usr/share/locale']) {
    await rm(join(tree, path), { recursive: true, force: true })
    await mkdir(join(tree, path))
  }
  await mkdir(join(tree, 'var/cache/apt/archives/partial'))
  const archive = join(work.path, 'tree.tar')
  await mustRun('tar', ['-C', tree, '-cf', archive, '.'])
  await docker(daemonFolder, ['import', '--change', 'CMD ["bash"]', archive, images[baseName]])
}

/** Where this machine trusts certificate authorities of its own, builds and containers do too, or they would reach no registry. */
async function trustAsHere(tree: string): Promise<void> {
  const bundle = '/etc/ssl/certs/ca-certificates.crt'
  if (existsSync(bundle)) await copyFile(bundle, join(tree, bundle))
  await mkdir(join(tree, 'usr/local/etc'), { recursive: true })
  await writeFile(join(tree, 'usr/local/etc/npmrc'), `cafile=${bundle}\n`)
  await writeFile(join(tree, 'etc/pip.conf'), `[global]\ncert = ${bundle}\n`)
}

export async function buildImage(daemonFolder: string, name: ImageName): Promise<void> {
  await using work = await workFolder()
  await cp(folderOf(name), work.path, { recursive: true })
  await addContext[name]?.(work.path)
  await docker(daemonFolder, ['build', '--force-rm', '--tag', images[name], work.path])
}

export async function buildOn(daemonFolder: string, { tag, base, folder }: BuiltImage): Promise<void> {
  await docker(daemonFolder, ['build', '--force-rm', '--build-arg', `BASE=${images[base]}`, '--tag', tag, folder])
}

/** What a build needs beside its folder. */
const addContext: { readonly [name in ImageName]?: (folder: string) => Promise<void> } = {
  async node(folder) {
    await copyFile(process.execPath, join(folder, 'node'))
    const packed = await mustRun('npm', ['pack', '--silent', '--pack-destination', folder, 'npm@11'])
    await rename(join(folder, packed.trim()), join(folder, 'npm.tgz'))
  },
}

function docker(daemonFolder: string, args: readonly string[]): Promise<string> {
  // The classic builder: a plain Docker installation has no other.
  const program = ['DOCKER_BUILDKIT=0', 'docker', '--host', `unix://${socketOf(daemonFolder)}`]
  return mustRun('env', [...program, ...args])
}

async function workFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'stackquay-lab-build-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) }
}
