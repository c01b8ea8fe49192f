import { runtimeTypes, type Settings, suiteTypes } from '@stackquay/catalog'
import { envFiles, type ProjectSpec, packageFolder } from '@stackquay/domain'

/** Files of a source that its workloads are resolved by. */
export function workloadFiles(spec: ProjectSpec): readonly string[] {
  return enabledRuntimes(spec).flatMap(({ kind, settings }) => kind.sourceFiles(settings))
}

/** The same, and those that actions and suites are found in. */
export function commandFiles(spec: ProjectSpec): readonly string[] {
  const runtimes = enabledRuntimes(spec)
  const folders = ['.', ...runtimes.map(({ settings }) => packageFolder(settings))]
  return [
    ...workloadFiles(spec),
    ...folders.flatMap((folder) => envFiles.map((file) => (folder === '.' ? file : `${folder}/${file}`))),
    ...runtimes.flatMap(({ kind, settings }) => kind.commandFiles(settings)),
    ...suiteTypes.flatMap((suite) => {
      if (suite.runtime === null) return suite.sourceFiles('.')
      const settings = runtimes.find(({ kind }) => kind.name === suite.runtime)?.settings
      return settings === undefined ? [] : suite.sourceFiles(packageFolder(settings))
    }),
  ]
}

function enabledRuntimes(spec: ProjectSpec) {
  return runtimeTypes.flatMap((kind) => {
    const settings = spec.runtimes[kind.name]
    return settings?.enabled === true ? [{ kind, settings }] : []
  })
}

/** What the runtimes want to see of a source that says nothing of itself. */
export function detectionFiles(): readonly string[] {
  const wanted = runtimeTypes.flatMap((type) =>
    type.sourceFiles({ ...type.settings.defaults(), version: '', port: 1 } as Settings),
  )
  return [...new Set(wanted)]
}
