/** What a forge sends, as its documentation shows it: its headers without those of the signature, and its body. */
export interface ForgeDelivery {
  readonly name: string
  readonly forge: 'github' | 'gitlab' | 'gitea' | 'forgejo'
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Readonly<Record<string, unknown>>
  /** What it says to a project that deploys `main`. */
  readonly says: Said
}

export type Said =
  | { readonly act: 'deploy'; readonly commit: string }
  | { readonly act: 'open' | 'sync'; readonly branch: string; readonly head: string; readonly fork: boolean }
  | { readonly act: 'close' }
  | { readonly act: 'nothing' }

/** Of every pull request in the deliveries. */
export const pullNumber = 12
export const none = '0'.repeat(40)
export const [before, after, head, next] = ['3f', '7c', 'a1', 'e5'].map((pair) => pair.repeat(20)) as [
  string,
  string,
  string,
  string,
]

export const nothing: Said = { act: 'nothing' }
export const close: Said = { act: 'close' }
export const deploy: Said = { act: 'deploy', commit: after }
export const pull = (act: 'open' | 'sync', commit: string, fork = false, branch = 'cart'): Said => ({
  act,
  branch,
  head: commit,
  fork,
})
