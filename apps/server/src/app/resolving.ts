import { createUserFiles, networkEnvironment, type UserFiles } from '@stackquay/engines'
import { type AddonsKeeper, openAddons } from '../addons/keeper.ts'
import { type Catalogue, createCatalogue } from '../catalogue/catalogue.ts'
import { createContainerFacts } from '../catalogue/container-facts.ts'
import { createOurPrograms } from '../catalogue/our-programs.ts'
import { engineKind } from '../engine-kinds.ts'
import { createRepositories, type Repositories } from '../git/repository.ts'
import { compiledFolder } from '../home.ts'
import { createFilesOf, type FilesOf } from '../projects/files-of.ts'
import { createImageRecords, type ImageRecords } from '../projects/images.ts'
import { createResolver, type Resolver } from '../projects/resolver.ts'
import { createSources, type Sources } from '../projects/sources.ts'
import { createGitHomes, type NetworkHalf } from '../source/git-home.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'

/** What a project resolves by: its source, what can be chosen on this machine, and its images. */
export interface Resolving {
  readonly resolver: Resolver
  readonly catalogue: Catalogue
  readonly addons: AddonsKeeper
  readonly images: ImageRecords
  readonly sources: Sources
  readonly repositories: Repositories
  readonly gitHalf: NetworkHalf
  readonly filesOf: FilesOf
  /** Ends the programs that read and write as the users of projects when it is closed. */
  readonly files: UserFiles
}

export async function openResolving(
  {
    store,
    engine,
    engines,
    isolation: { accounts },
    certificates,
  }: Pick<Instance, 'store' | 'engine' | 'engines' | 'isolation' | 'certificates'>,
  { config, signal, onError }: Pick<AppContext, 'config' | 'signal' | 'onError'>,
): Promise<Resolving> {
  const files = createUserFiles({ compiled: await compiledFolder(config.home) })
  const filesOf = createFilesOf(accounts, files)
  const addons = await openAddons(store)
  const catalogue = createCatalogue({
    engine,
    usual: engines.usual,
    signal,
    fallbackNode: process.execPath,
    addons: addons.now,
  })
  const images = createImageRecords({ store, onError })
  const containerFacts = createContainerFacts({
    home: config.home,
    accounts,
    imageOf: (reference) => config.imageOf(reference),
    node: catalogue.ourNode,
  })
  const resolver = createResolver({
    config,
    store,
    catalogue,
    programs: createOurPrograms(config.home),
    filesOf,
    isSecure: certificates.isSecure,
    containers: async ({ id, engine: name }) =>
      engineKind(name).capabilities.images ? containerFacts(id, await images.pinned(id)) : null,
  })
  const gitHalf = { gitHome: createGitHomes(config.home), network: networkEnvironment(process.env) }
  const sources = createSources({ config, accounts, files, gitHalf })
  const repositories = createRepositories({ accounts, files })
  return { resolver, catalogue, addons, images, sources, repositories, gitHalf, filesOf, files }
}
