/**
 * Settings of every git that the service runs. They win over those of a repository, whose owner nobody trusts: no setting
 * names a program, a hook or another repository.
 */
const everywhere = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.sshCommand=false',
  'core.gitProxy=',
  'core.askPass=/bin/false',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'core.protectHFS=true',
  'core.protectNTFS=true',
  // Larger files are passed on in pieces, and never compared: a pack of some of 200 MB took 2 GB of memory.
  'core.bigFileThreshold=16m',
  'credential.helper=',
  'init.templateDir=',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'protocol.allow=never',
]

/** For git in a folder of a project, as the project’s own user: it reaches no other machine. */
export const localSettings = [...everywhere, 'safe.directory=*']

/**
 * For git that acts on what a project has made of its repository, alone in its process. What a configuration could have it
 * run, the kernel refuses; these make it not try, and need no thread.
 */
export const aloneSettings = [
  ...localSettings,
  'core.pager=cat',
  'core.editor=false',
  'core.alternateRefsCommand=false',
  'core.preloadIndex=false',
  'core.quotePath=false',
  'core.logAllRefUpdates=true',
  'index.threads=1',
  'pack.threads=1',
  'grep.threads=1',
  'checkout.workers=1',
  'commit.gpgSign=false',
  'commit.cleanup=whitespace',
  'i18n.commitEncoding=UTF-8',
  'i18n.logOutputEncoding=UTF-8',
  'log.showSignature=false',
  'log.mailmap=false',
  'diff.ignoreSubmodules=dirty',
  'diff.submodule=short',
  'merge.verifySignatures=false',
  'merge.autoStash=false',
  'rebase.autoStash=false',
  'status.submoduleSummary=false',
  'color.ui=false',
  'advice.detachedHead=false',
  'submodule.alternateErrorStrategy=info',
]

/** The one step that copies from the mirror: `file` is a pipe there, see `copy-to-project.ts`. */
export const copySettings = [
  ...localSettings,
  'protocol.file.allow=always',
  'protocol.version=2',
  'advice.detachedHead=false',
]

/** For git that talks to other machines. What it receives is checked, so that no later step reads a damaged object. */
export const networkSettings = [
  ...everywhere.filter((one) => !one.startsWith('core.sshCommand=')),
  ...['http', 'https', 'ssh', 'git'].map((protocol) => `protocol.${protocol}.allow=always`),
  'protocol.version=2',
  'http.followRedirects=initial',
  'transfer.bundleURI=false',
  'transfer.fsckObjects=true',
  // Old histories have these faults in the lines of author and committer. They harm nobody, and cannot be corrected.
  ...[
    'badDate',
    'badEmail',
    'badName',
    'badTimezone',
    'missingEmail',
    'missingNameBeforeEmail',
    'missingSpaceBeforeDate',
    'missingSpaceBeforeEmail',
    'multipleAuthors',
    'zeroPaddedDate',
    'zeroPaddedFilemode',
  ].map((fault) => `fetch.fsck.${fault}=ignore`),
]

export function asOptions(settings: readonly string[]): readonly string[] {
  return settings.flatMap((setting) => ['-c', setting])
}

/** The whole environment of a git: nothing of the service’s own is in it. */
export function gitEnvironment(): Readonly<Record<string, string>> {
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '/bin/false',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    LC_ALL: 'C.UTF-8',
  }
}
